/** Where volumes get what is in them besides the Pod itself. What a Pod holds of each is given back at once when it has ended. */
import type { Client } from '../../client/client.ts';
import type { PodCertificates } from './pod-certificates.ts';
import type { ReferencedObjects } from './referenced-objects.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';
import type { TrustBundles } from './trust-bundles.ts';

export interface VolumeSources {
  readonly client: Client;
  readonly objects: ReferencedObjects;
  readonly tokens: ServiceAccountTokens;
  readonly trust: TrustBundles;
  readonly certificates: PodCertificates;
}

/** The Pod needs nothing any more. */
export function releaseSources({ objects, tokens, trust, certificates }: VolumeSources, podUid: string): void {
  for (const source of [objects, tokens, trust, certificates]) source.release(podUid);
}

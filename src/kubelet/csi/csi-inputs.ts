/** What a driver is told of the Pod that uses its volume, and the secrets that it gets: by what its CSIDriver object asks for. */
import { type Pod, type SecretReference, secrets } from '../../api/gen/core-v1.ts';
import type { CSIDriver } from '../../api/gen/storage-v1.ts';
import { goJson } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Client } from '../../client/client.ts';
import type { ServiceAccountTokens } from '../volumes/service-account-tokens.ts';
import type { CsiVolume } from './csi-volume.ts';

export interface PublishInputs {
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** When a token of them should be replaced. */
  readonly renewAtMs?: number | undefined;
}

export interface InputSources {
  readonly client: Client;
  readonly tokens: ServiceAccountTokens;
}

export async function publishInputs(
  pod: Pod,
  volume: CsiVolume,
  driver: CSIDriver | undefined,
  { client, tokens }: InputSources,
): Promise<PublishInputs> {
  const { publishSecret } = volume;
  const failure = `fetching NodePublishSecretRef ${publishSecret?.namespace}/${publishSecret?.name} failed`;
  const own = await credentials(client, publishSecret, failure);
  const withPod = driver?.spec.podInfoOnMount
    ? { ...volume.attributes, ...podAttributes(pod, volume) }
    : volume.attributes;
  // Upstream gives disks no tokens.
  if (volume.isBlock) return { volumeContext: withPod, secrets: own };
  const { attributes, renewAtMs } = await tokenAttributes(pod, driver, tokens);
  return driver?.spec.serviceAccountTokenInSecrets
    ? { volumeContext: withPod, secrets: { ...own, ...attributes }, renewAtMs }
    : { volumeContext: { ...withPod, ...attributes }, secrets: own, renewAtMs };
}

/** Empty where there is none to fetch. */
export async function credentials(
  client: Client,
  reference: SecretReference | undefined,
  failure: string,
): Promise<Readonly<Record<string, string>>> {
  if (!reference) return {};
  const { namespace = '', name = '' } = reference;
  const found = await client.get(secrets, { namespace, name }).catch((error) => {
    const why = `failed to find the secret ${name} in the namespace ${namespace} with error: ${messageOf(error)}`;
    throw new Error(`${failure}: kubernetes.io/csi: ${why}`, { cause: error });
  });
  const entries = Object.entries(found.data ?? {});
  return Object.fromEntries(entries.map(([key, base64]) => [key, Buffer.from(base64, 'base64').toString()]));
}

function podAttributes({ metadata, spec }: Pod, { mode }: CsiVolume): Record<string, string> {
  return {
    'csi.storage.k8s.io/pod.name': metadata.name ?? '',
    'csi.storage.k8s.io/pod.namespace': metadata.namespace ?? '',
    'csi.storage.k8s.io/pod.uid': metadata.uid ?? '',
    'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(mode === 'Ephemeral'),
  };
}

async function tokenAttributes(pod: Pod, driver: CSIDriver | undefined, tokens: ServiceAccountTokens) {
  const requests = driver?.spec.tokenRequests ?? [];
  if (requests.length === 0) return { attributes: {}, renewAtMs: undefined };
  const byAudience: Record<string, unknown> = {};
  let renewAtMs = Number.POSITIVE_INFINITY;
  for (const { audience, expirationSeconds = 3600 } of requests.toSorted((a, b) =>
    a.audience < b.audience ? -1 : 1,
  )) {
    const issued = await tokens.token(pod, { audience, expirationSeconds });
    byAudience[audience] = { token: issued.token, expirationTimestamp: formatTime(issued.expiresAtMs) };
    renewAtMs = Math.min(renewAtMs, issued.renewAtMs);
  }
  return { attributes: { 'csi.storage.k8s.io/serviceAccount.tokens': goJson(byAudience) }, renewAtMs };
}

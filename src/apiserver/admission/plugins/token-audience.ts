/**
 * For whom a node may ask a Pod's tokens: audiences that the Pod itself projects, that the CSI driver of one of its volumes needs, or
 * that somebody allowed this node by `request-serviceaccounts-token-audience`.
 */
import { type Pod, persistentVolumeClaims, persistentVolumes, type Volume } from '../../../api/gen/core-v1.ts';
import { csiDrivers } from '../../../api/gen/storage-v1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { resourceAccess } from '../../authorization/access.ts';
import { claimName } from '../../authorization/pod-references.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { PluginContext } from '../plugin-context.ts';

interface Question {
  readonly audiences: readonly string[];
  readonly pod: Pod;
  readonly attributes: AdmissionAttributes;
  readonly context: PluginContext;
}

/** Why the token is refused; undefined when it is not. No audience stands for the API server's own. */
export async function checkTokenAudience({
  audiences,
  pod,
  attributes,
  context,
}: Question): Promise<string | undefined> {
  if (audiences.length > 1) return 'node may only request 0 or 1 audiences';
  const audience = audiences[0] ?? '';
  const errors: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (
      volume.projected?.sources?.some(
        (source) => source.serviceAccountToken && (source.serviceAccountToken.audience ?? '') === audience,
      )
    ) {
      return undefined;
    }
    try {
      const driver = await csiDriverOf(volume, pod, context);
      if (driver && (await driverNeeds(driver, audience, context))) return undefined;
    } catch (error) {
      errors.push((error as Error).message);
    }
  }
  if (errors.length > 0) return `error validating audience ${quote(audience)}: ${errors.join(', ')}`;
  const access = {
    verb: 'request-serviceaccounts-token-audience',
    version: 'v1',
    resource: audience,
    namespace: attributes.namespace,
    name: attributes.name,
  };
  const { decision } = await context.authorizer.authorize(resourceAccess(attributes.user, access));
  if (decision === 'allow') return undefined;
  const who = attributes.user.name;
  return `audience ${quote(audience)} not found in pod spec volume, ${who} is not authorized to request tokens for this audience`;
}

/** Read from the server: this is asked seldom, and an informer's delay would refuse a Pod its volume. */
async function csiDriverOf(volume: Volume, pod: Pod, { client }: PluginContext): Promise<string | undefined> {
  if (volume.csi) return volume.csi.driver;
  const name = claimName(pod, volume);
  if (name === undefined) return undefined;
  const claim = await client.get(persistentVolumeClaims, { namespace: pod.metadata.namespace, name });
  const bound = await client.get(persistentVolumes, { name: claim.spec.volumeName ?? '' });
  return bound.spec.csi?.driver;
}

async function driverNeeds(name: string, audience: string, { client }: PluginContext): Promise<boolean> {
  const driver = await client.get(csiDrivers, { name });
  return (driver.spec.tokenRequests ?? []).some((request) => request.audience === audience);
}

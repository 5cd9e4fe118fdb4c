/**
 * Which ResourceClaims a Pod means: those it names, and those that were made for it from a template, whose names its status tells. What
 * is wrong with one is said in upstream's words.
 */
import { isControlledBy } from '../../apimachinery/meta.ts';
import type { Pod, PodResourceClaim } from '../gen/core-v1.ts';
import type { ResourceClaim } from '../gen/resource-v1.ts';

/** On claims that have devices. */
export const protectionFinalizer = 'resource.kubernetes.io/delete-protection';

export interface ClaimName {
  /** Undefined: nothing was to be made for this entry. */
  readonly name: string | undefined;
  /** It was made for this Pod, and must be its own. */
  readonly isOwn: boolean;
}

/** Throws as long as the claim is not made. */
export function claimNameOf(
  pod: Pod,
  { name, resourceClaimName, resourceClaimTemplateName }: PodResourceClaim,
): ClaimName {
  const { metadata, status } = pod;
  if (resourceClaimName) return { name: resourceClaimName, isOwn: false };
  const who = `pod "${metadata.namespace}/${metadata.name}"`;
  if (!resourceClaimTemplateName)
    throw new Error(`${who}, spec.resourceClaim "${name}": none of the supported fields are set`);
  const made = status?.resourceClaimStatuses?.find((entry) => entry.name === name);
  if (!made) throw new Error(`${who}: ResourceClaim not created yet`);
  return { name: made.resourceClaimName, isOwn: true };
}

/** Throws when the claim was made for somebody else. */
export function checkOwner(pod: Pod, claim: ResourceClaim): void {
  if (isControlledBy(claim, pod)) return;
  const claimName = `${claim.metadata.namespace}/${claim.metadata.name}`;
  const podName = `${pod.metadata.namespace}/${pod.metadata.name}`;
  throw new Error(`ResourceClaim ${claimName} was not created for Pod ${podName} (Pod is not owner)`);
}

export function isReservedFor(claim: ResourceClaim, pod: Pod): boolean {
  return claim.status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid) ?? false;
}

/**
 * Who owns the claims of a StatefulSet's Pods, which decides whether the garbage collector takes them: pure. By default nobody does,
 * and data outlives everything; `persistentVolumeClaimRetentionPolicy` can tie them to the set, or to a Pod that is scaled away.
 */
import { type StatefulSet, statefulSets } from '../../api/gen/apps-v1.ts';
import { type PersistentVolumeClaim, type Pod, pods } from '../../api/gen/core-v1.ts';
import type { OwnerReference } from '../../apimachinery/meta.ts';
import { apiVersionOf } from '../../apimachinery/resource.ts';

/**
 * The owners that the claim should have, or undefined when they are right, or when a set or a Pod of the same name but another uid owned it, which
 * is the garbage collector's to settle. A claim that somebody else controls keeps its owners but for ours. As upstream, ours control.
 */
export function planClaimOwners(
  set: StatefulSet,
  claim: PersistentVolumeClaim,
  pod: Pod | undefined,
  condemned: boolean,
): readonly OwnerReference[] | undefined {
  const owners = claim.metadata.ownerReferences ?? [];
  const ours = [reference(statefulSets, set), ...(pod ? [reference(pods, pod)] : [])];
  const ourReference = (owner: OwnerReference) => ours.find((reference) => namesTheSame(owner, reference));
  if (owners.some((owner) => (ourReference(owner)?.uid ?? owner.uid) !== owner.uid)) return undefined;
  const others = owners.filter((owner) => !ourReference(owner));
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } = set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const wanted: OwnerReference[] = [];
  if (!others.some(({ controller }) => controller)) {
    if (condemned && whenScaled === 'Delete' && pod) wanted.push(reference(pods, pod));
    else if (whenDeleted === 'Delete') wanted.push(reference(statefulSets, set));
  }
  const next = [...others, ...wanted];
  const isThere = (one: OwnerReference) =>
    owners.some(({ uid, controller = false }) => uid === one.uid && controller === (one.controller ?? false));
  return next.length === owners.length && next.every(isThere) ? undefined : next;
}

function namesTheSame(a: OwnerReference, b: OwnerReference): boolean {
  return a.apiVersion === b.apiVersion && a.kind === b.kind && a.name === b.name;
}

function reference<T extends StatefulSet | Pod>(
  type: { readonly group: string; readonly version: string; readonly kind: string },
  { metadata }: T,
): OwnerReference {
  const { name = '', uid = '' } = metadata;
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

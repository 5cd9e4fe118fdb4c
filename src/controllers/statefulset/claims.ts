/**
 * Who owns the claims of a StatefulSet's Pods, which decides whether the garbage collector takes them: pure. By default nobody does,
 * and data outlives everything; `persistentVolumeClaimRetentionPolicy` can tie them to the set, or to a Pod that is scaled away.
 */
import { type StatefulSet, statefulSets } from '../../api/gen/apps-v1.ts';
import { type PersistentVolumeClaim, type Pod, pods } from '../../api/gen/core-v1.ts';
import type { OwnerReference } from '../../apimachinery/meta.ts';
import { apiVersionOf } from '../../apimachinery/resource.ts';

/** The owners that the claim should have, or undefined when they are right or somebody else controls it. */
export function planClaimOwners(
  set: StatefulSet,
  claim: PersistentVolumeClaim,
  pod: Pod | undefined,
  condemned: boolean,
): readonly OwnerReference[] | undefined {
  const owners = claim.metadata.ownerReferences ?? [];
  if (owners.some(({ controller }) => controller)) return undefined;
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } = set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const wanted: OwnerReference[] = [];
  const scaledAway = condemned && whenScaled === 'Delete' && pod;
  if (scaledAway) wanted.push(reference(pods, pod));
  else if (whenDeleted === 'Delete') wanted.push(reference(statefulSets, set));
  // References to the set and to any Pod of the name, a former one too, are this controller's own and made anew.
  const podName = pod?.metadata.name;
  const others = owners.filter(
    ({ uid, kind, name }) => uid !== set.metadata.uid && !(kind === 'Pod' && name === podName),
  );
  const next = [...others, ...wanted];
  const same = next.length === owners.length && next.every(({ uid }) => owners.some((owner) => owner.uid === uid));
  return same ? undefined : next;
}

function reference<T extends StatefulSet | Pod>(
  type: { readonly group: string; readonly version: string; readonly kind: string },
  { metadata }: T,
): OwnerReference {
  return { apiVersion: apiVersionOf(type), kind: type.kind, name: metadata.name ?? '', uid: metadata.uid ?? '' };
}

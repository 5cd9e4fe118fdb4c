/**
 * Fields that a write cannot change because its strategy puts them back: `status` on the object itself, everything else on `status`. Who
 * writes them there does not own them. The generic rule, and upstream's exceptions to it.
 */
import { type FieldSet, fieldSetOf, union } from '../../apimachinery/managed-fields/field-set.ts';
import type { StoredKind } from '../served-resource.ts';

const status = fieldSetOf('f:status');
const spec = fieldSetOf('f:spec');
const metadataAndSpec = union(fieldSetOf('f:metadata'), spec)!;

/** Groups in which a write of the status leaves all metadata as it was. */
const statusOnlyGroups: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'internal.apiserver.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storagemigration.k8s.io',
  'apiextensions.k8s.io',
]);
const statusOnlyKinds: ReadonlySet<string> = new Set([
  'servicecidrs.networking.k8s.io',
  'volumeattachments.storage.k8s.io',
]);

/** By `resource.group/subresource`. */
const exceptions: ReadonlyMap<string, FieldSet | undefined> = new Map([
  ['deployments.apps/status', union(spec, fieldSetOf('f:metadata', 'f:labels'))],
  [
    'pods/status',
    union(spec, union(fieldSetOf('f:metadata', 'f:deletionTimestamp'), fieldSetOf('f:metadata', 'f:ownerReferences'))),
  ],
  ['certificatesigningrequests.certificates.k8s.io/', union(spec, status)],
  ['certificatesigningrequests.certificates.k8s.io/status', union(spec, fieldSetOf('f:status', 'f:conditions'))],
  ['certificatesigningrequests.certificates.k8s.io/approval', union(spec, fieldSetOf('f:status', 'f:certificate'))],
  ['networkpolicies.networking.k8s.io/', undefined],
]);

/** Undefined when the write may change everything. */
export function resetFields(kind: StoredKind, subresource: string): FieldSet | undefined {
  const key = `${kind.name}/${subresource}`;
  if (exceptions.has(key)) return exceptions.get(key);
  if (subresource !== 'status') return kind.keepsStatus ? status : undefined;
  return kind.custom || statusOnlyGroups.has(kind.hub.group) || statusOnlyKinds.has(kind.name) ? metadataAndSpec : spec;
}

/** The objects that configure admission itself: no webhook and no policy sees them, or a broken one could lock everybody out. */
import type { GroupVersionResource } from '../../apimachinery/resource.ts';

const names: ReadonlySet<string> = new Set([
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
]);

export function isConfiguration({ group, resource }: GroupVersionResource): boolean {
  return group === 'admissionregistration.k8s.io' && names.has(resource);
}

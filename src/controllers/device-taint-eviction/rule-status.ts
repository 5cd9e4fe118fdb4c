/** What a DeviceTaintRule's condition tells of the Pods that it drives away, or would: pure. */
import type { DeviceTaintRule } from '../../api/gen/resource-v1beta2.ts';
import type { Condition } from '../../apimachinery/gen/meta-v1.ts';

export const evictionInProgress = 'EvictionInProgress';

export interface RuleCounts {
  readonly pendingPods: number;
  readonly pendingNamespaces: number;
  readonly publishedDevices: number;
  readonly allocatedDevices: number;
  /** Since the controller was started. */
  readonly evictedPods: number;
}

export function ruleCondition(
  { metadata, spec: { taint } }: DeviceTaintRule,
  counts: RuleCounts,
): Omit<Condition, 'lastTransitionTime'> {
  const { evictedPods } = counts;
  const told = toldOf(taint.effect, counts);
  const done = `${evictedPods === 1 ? '1 pod' : `${evictedPods} pods`} evicted since starting the controller.`;
  const message = [told.message, ...(evictedPods > 0 ? [done] : [])].filter(Boolean).join(' ');
  return { type: evictionInProgress, observedGeneration: metadata.generation ?? 0, ...told, message };
}

function toldOf(effect: string, counts: RuleCounts): Pick<Condition, 'status' | 'reason' | 'message'> {
  const { pendingPods, pendingNamespaces, publishedDevices, allocatedDevices, evictedPods } = counts;
  const namespaces = pendingNamespaces === 1 ? '1 namespace' : `${pendingNamespaces} different namespaces`;
  if (effect === 'NoExecute') {
    if (pendingPods > 0) {
      const need = pendingPods === 1 ? '1 pod needs' : `${pendingPods} pods need`;
      return { status: 'True', reason: 'PodsPendingEviction', message: `${need} to be evicted in ${namespaces}.` };
    }
    return { status: 'False', reason: evictedPods > 0 ? 'Completed' : 'NotStarted', message: '' };
  }
  if (effect !== 'None')
    return { status: 'False', reason: 'OtherEffect', message: 'Eviction only happens for the NoExecute effect.' };
  const published = publishedDevices === 1 ? '1 published device' : `${publishedDevices} published devices`;
  const allocated = allocatedDevices === 1 ? '1 allocated device' : `${allocatedDevices} allocated devices`;
  const pods = pendingPods === 1 ? '1 pod' : `${pendingPods} pods`;
  const message = `${published} selected. ${allocated} selected. ${pods} would be evicted in ${namespaces} if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.`;
  return { status: 'False', reason: 'NoEffect', message };
}

/** A container runtime whose calls are counted and timed, under upstream's names for them; what it does is left as it is. */
import type { Clock } from '../../base/clock.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import type { KubeletMetrics } from './kubelet-metrics.ts';

/** Calls that end with their answer. Those that go on (`exec`, `attach`, events) take as long as somebody likes. */
const operations: Readonly<Partial<Record<keyof ContainerRuntime, string>>> = {
  version: 'version',
  status: 'status',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandboxes: 'list_podsandbox',
  createContainer: 'create_container',
  startContainer: 'start_container',
  stopContainer: 'stop_container',
  removeContainer: 'remove_container',
  listContainers: 'list_containers',
  containerStatus: 'container_status',
  updateContainerResources: 'update_container',
  checkpointContainer: 'checkpoint_container',
  reopenContainerLog: 'reopen_container_log',
  execSync: 'exec_sync',
  containerStats: 'container_stats',
  listContainerStats: 'list_container_stats',
  podSandboxStats: 'podsandbox_stats',
  imageStatus: 'image_status',
  listImages: 'list_images',
  pullImage: 'pull_image',
  removeImage: 'remove_image',
  imageFsInfo: 'image_fs_info',
};

type Call = (...args: readonly unknown[]) => unknown;

export function measuredRuntime(
  runtime: ContainerRuntime,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: KubeletMetrics },
): ContainerRuntime {
  const measured = (call: Call, operation: string): Call =>
    async function measure(...args) {
      const labels = { operation_type: operation };
      metrics.count('runtime_operations_total', labels);
      try {
        return await metrics.timed('runtime_operations_duration_seconds', clock, async () => call(...args), labels);
      } catch (error) {
        metrics.count('runtime_operations_errors_total', labels);
        throw error;
      }
    };
  const calls = new Map<string | symbol, unknown>();
  return new Proxy(runtime, {
    get(target, name) {
      const known = calls.get(name);
      if (known) return known;
      const member = target[name as keyof ContainerRuntime] as unknown;
      if (typeof member !== 'function') return member;
      // Looked up with each call: a runtime of the tests may be told to behave in another way from now on.
      const call: Call = (...args) =>
        (target[name as keyof ContainerRuntime] as unknown as Call).apply(target, [...args]);
      const operation = operations[name as keyof ContainerRuntime];
      const made = operation === undefined ? call : measured(call, operation);
      calls.set(name, made);
      return made;
    },
  });
}

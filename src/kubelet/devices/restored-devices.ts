/** Devices of the node at the start of a kubelet, loaded only where there can be any. */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { NodeHost } from '../host/host.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { NodeDevices } from './node-devices.ts';

/** As the kubelet before this one left them. Undefined where no plugin has devices. */
export async function restoredDevices(
  shared: { readonly clock: Clock; readonly log: Log; readonly metrics?: KubeletMetrics | undefined },
  { devicePlugins: folder, topology }: NodeHost,
): Promise<NodeDevices | undefined> {
  if (!folder) return undefined;
  const { NodeDevices } = await import('./node-devices.ts');
  const memoryNodes = (await topology?.())?.nodes.map(({ id }) => id) ?? [];
  const devices = new NodeDevices({ ...shared, state: folder.state, memoryNodes });
  await devices.restore();
  return devices;
}

/** What a kubelet starts for device plugins, loaded only where there can be any. */
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { NodeHost } from '../host/host.ts';
import type { DevicePlugins, DevicePluginsOptions } from './device-plugins.ts';
import type { NodeDevices } from './node-devices.ts';

/** As the kubelet before this one left them. Undefined where no plugin has devices. */
export async function restoredDevices(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  { devicePlugins: folder, topology }: NodeHost,
): Promise<NodeDevices | undefined> {
  if (!folder) return undefined;
  const { NodeDevices } = await import('./node-devices.ts');
  const memoryNodes = (await topology?.())?.nodes.map(({ id }) => id) ?? [];
  const devices = new NodeDevices({ clock, log, state: folder.state, memoryNodes });
  await devices.restore();
  return devices;
}

/** Plugins can register from then on; where the socket cannot be made the node does without. */
export async function devicePlugins(options: DevicePluginsOptions): Promise<DevicePlugins> {
  const { DevicePlugins } = await import('./device-plugins.ts');
  const plugins = new DevicePlugins(options);
  await plugins.listen().catch((error) => {
    options.log.error('device plugins cannot register', { path: options.folder.path, error: messageOf(error) });
  });
  return plugins;
}

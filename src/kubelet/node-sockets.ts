/**
 * The sockets on which other programs of the node meet the kubelet: plugins that show themselves, plugins that have devices, and those who ask
 * what containers hold. A socket that cannot be made is done without: the node runs Pods all the same.
 */
import { messageOf } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { DevicePlugins } from './devices/device-plugins.ts';
import type { NodeDevices } from './devices/node-devices.ts';
import type { DynamicResources } from './dynamic-resources/dynamic-resources.ts';
import type { NodeHost } from './host/host.ts';
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import { PluginRegistration, type PluginRegistrationOptions } from './plugins/plugin-registration.ts';
import type { PodWorkers } from './pods/pod-workers.ts';
import type { NodeResources } from './resource-managers/node-resources.ts';

export interface NodeSocketsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly host: NodeHost;
  readonly devices: NodeDevices | undefined;
  readonly dynamicResources: DynamicResources | undefined;
  readonly resources: NodeResources | undefined;
  readonly workers: PodWorkers;
  readonly metrics?: KubeletMetrics | undefined;
  /** Plugins of devices cannot register. */
  onDeviceProblem?(problem: string): void;
  /** Of plugins that have no devices. */
  readonly handlers: PluginRegistrationOptions['handlers'];
}

const registrationFailed =
  'device registration error: device plugin registration gRPC server failed and no device plugins can register';

/** Until the signal is aborted. */
export async function openNodeSockets(options: NodeSocketsOptions): Promise<void> {
  const { handlers, host, log, onDeviceProblem } = options;
  const orWithout = <T>(socket: Promise<T>): Promise<T | undefined> =>
    socket.catch((error) => {
      log.error('a socket for other programs of the node cannot be made', { error: messageOf(error) });
      return undefined;
    });
  const [devicePlugins] = await Promise.all([
    orWithout(
      listenForDevices(options).catch((error) => {
        onDeviceProblem?.(`${registrationFailed}: ${messageOf(error)}`);
        throw error;
      }),
    ),
    orWithout(tellPodResources(options)),
  ]);
  if (!host.pluginSockets) return;
  const all = devicePlugins ? { ...handlers, DevicePlugin: devicePlugins } : handlers;
  await new PluginRegistration({ ...options, sockets: host.pluginSockets, handlers: all }).run();
}

async function listenForDevices({
  devices,
  host: { devicePlugins: folder },
  ...shared
}: NodeSocketsOptions): Promise<DevicePlugins | undefined> {
  if (!folder || !devices) return undefined;
  const { DevicePlugins } = await import('./devices/device-plugins.ts');
  const plugins = new DevicePlugins({ ...shared, folder, devices });
  await plugins.listen();
  return plugins;
}

async function tellPodResources({ host, workers, ...shared }: NodeSocketsOptions): Promise<void> {
  const { podResources: folder } = host;
  if (!folder) return;
  const { servePodResources } = await import('./pod-resources/pod-resources.ts');
  await servePodResources({
    ...shared,
    folder,
    activePods: () => workers.holding(),
    pod: (namespace, name) => workers.byName(namespace, name)?.pod,
  });
}

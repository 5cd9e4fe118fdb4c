/**
 * Where plugins of devices register: at `kubelet.sock` in their folder, or through the plugins' registry. A plugin is called back on its own
 * socket; while its list of devices is read it is there, and when that ends it is gone. A plugin that registers anew takes the place of
 * the one before it. Sockets that a kubelet before this one left are removed at the start: plugins watch for that and register again.
 */
import { join } from 'node:path';
import { isExtendedResource } from '../../api/core/v1/resource-validation.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { grpcServer } from '../../base/grpc/index.ts';
import type { Log } from '../../base/log.ts';
import { handleTable } from '../grpc/table-handlers.ts';
import type { SocketFolder } from '../host/host.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { PluginHandler, RegisteredPlugin } from '../plugins/plugin-handler.ts';
import { connectDevicePlugin, type DevicePlugin } from './device-plugin.ts';
import { type RegisterRequest, registrationService } from './gen/device-plugin-v1beta1.ts';
import type { NodeDevices } from './node-devices.ts';

export interface DevicePluginsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly folder: SocketFolder;
  readonly devices: NodeDevices;
  readonly metrics?: KubeletMetrics | undefined;
}

const version = 'v1beta1';
const socketName = 'kubelet.sock';

export class DevicePlugins implements PluginHandler {
  readonly #options: DevicePluginsOptions;
  /** By resource. */
  readonly #plugins = new Map<string, DevicePlugin>();

  constructor(options: DevicePluginsOptions) {
    this.#options = options;
  }

  /** Resolves when plugins can register; until the signal is aborted. */
  async listen(): Promise<void> {
    const { folder, signal } = this.#options;
    await folder.clear();
    // Its presence tells plugins that they can also register through the plugins' registry.
    await folder.state.write('DEPRECATION', '');
    const server = await grpcServer();
    handleTable(server, registrationService, { Register: (request) => this.#accept(request) });
    await server.listen(`unix://${join(folder.path, socketName)}`);
    const end = () => {
      server.close();
      for (const plugin of this.#plugins.values()) plugin.close();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  }

  validate({ name, supportedVersions }: RegisteredPlugin): void {
    if (!supportedVersions.includes(version))
      throw new Error(
        `manager version, ${version}, is not among plugin supported versions [${supportedVersions.join(' ')}]`,
      );
    if (!isExtendedResource(name))
      throw new Error(`invalid name of device plugin socket: the ResourceName ${quote(name)} is invalid`);
  }

  register({ name, endpoint }: RegisteredPlugin): Promise<void> {
    return this.#connect(name, endpoint);
  }

  async deregister({ name }: RegisteredPlugin): Promise<void> {
    this.#plugins.get(name)?.close();
  }

  async #accept({ endpoint, resourceName, version: given }: RegisterRequest): Promise<Record<never, never>> {
    const { folder, log, metrics } = this.#options;
    metrics?.count('device_plugin_registration_total', { resource_name: resourceName });
    try {
      if (given !== version)
        throw new Error(
          `requested API version ${quote(given)} is not supported by kubelet. Supported version is [${quote(version)}]`,
        );
      if (!isExtendedResource(resourceName)) throw new Error(`the ResourceName ${quote(resourceName)} is invalid`);
      await this.#connect(resourceName, join(folder.path, endpoint));
      return {};
    } catch (error) {
      log.error('a device plugin cannot register', { resource: resourceName, error: messageOf(error) });
      throw error;
    }
  }

  async #connect(resource: string, path: string): Promise<void> {
    const { clock, devices, log, signal } = this.#options;
    const plugin = await connectDevicePlugin({ clock, path, signal });
    const former = this.#plugins.get(resource);
    this.#plugins.set(resource, plugin);
    devices.connected(resource, plugin);
    former?.close();
    log.info('a device plugin has registered', { resource });
    void this.#follow(resource, plugin);
  }

  async #follow(resource: string, plugin: DevicePlugin): Promise<void> {
    const { devices, log, signal } = this.#options;
    try {
      for await (const list of plugin.devices())
        if (this.#plugins.get(resource) === plugin) devices.listed(resource, list);
      log.info('a device plugin has ended its list', { resource });
    } catch (error) {
      if (!signal.aborted) log.info('a device plugin has gone', { resource, error: messageOf(error) });
    }
    plugin.close();
    if (this.#plugins.get(resource) === plugin) this.#plugins.delete(resource);
    if (!signal.aborted) devices.disconnected(resource, plugin);
  }
}

/** What a part of the kubelet that works with plugins of one type gives to the registration, and what it is told of a plugin. */

export type PluginType = 'CSIPlugin' | 'DevicePlugin' | 'DRAPlugin';

export interface RegisteredPlugin {
  readonly name: string;
  /** The path of the socket on which it serves. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export interface PluginHandler {
  /** Throws when such a plugin cannot be taken; the plugin is told why. */
  validate(plugin: RegisteredPlugin): void;
  /** From now on the plugin is there. When it rejects, the plugin is told why, is not there, and is asked again later. */
  register(plugin: RegisteredPlugin, signal: AbortSignal): Promise<void>;
  /** The plugin's socket is gone, or is another one: a newer one registers after this. */
  deregister(plugin: RegisteredPlugin): Promise<void>;
}

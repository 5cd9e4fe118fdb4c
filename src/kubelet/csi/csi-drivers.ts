/**
 * The CSI drivers that are registered on this node: takes them as plugins, and has the cluster know of them. A driver is only there
 * once it has said which node this is to it, and the CSINode tells so.
 */
import { quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { PluginHandler, RegisteredPlugin } from '../plugins/plugin-handler.ts';
import { CsiDriver } from './csi-driver.ts';
import type { CsiCallObserver } from './csi-metrics.ts';
import type { CsiNodeInfo } from './csi-node-info.ts';

export interface CsiDriversOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeInfo: CsiNodeInfo;
  readonly observe: CsiCallObserver;
  /** A driver is there now: what waited for it can go on. */
  onRegistered(driver: string): void;
  onGone(driver: string): void;
}

export class CsiDrivers implements PluginHandler {
  readonly #options: CsiDriversOptions;
  readonly #drivers = new Map<string, { readonly driver: CsiDriver; readonly version: Version }>();

  constructor(options: CsiDriversOptions) {
    this.#options = options;
  }

  /** Throws in upstream's words when it is not registered; `purpose` stands before them. */
  get(name: string, purpose: string): CsiDriver {
    const found = this.#drivers.get(name);
    if (found) return found.driver;
    const why = `driver name ${name} not found in the list of registered CSI drivers`;
    throw new Error(`kubernetes.io/csi: ${purpose}: ${why}`);
  }

  validate({ name, endpoint, supportedVersions }: RegisteredPlugin): void {
    try {
      this.#version('ValidatePlugin', name, supportedVersions);
    } catch (error) {
      throw new Error(`validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${messageOf(error)}`);
    }
  }

  async register({ name, endpoint, supportedVersions }: RegisteredPlugin): Promise<void> {
    const { clock, nodeInfo, observe } = this.#options;
    const version = this.#version('RegisterPlugin', name, supportedVersions);
    this.#drivers.get(name)?.driver.close();
    const driver = new CsiDriver({ name, endpoint, clock, observe });
    this.#drivers.set(name, { driver, version });
    try {
      const { nodeId, maxVolumesPerNode, accessibleTopology } = await driver.call('NodeGetInfo', {});
      const topology = accessibleTopology?.segments ?? {};
      await nodeInfo.install(name, { nodeId, maxVolumes: Number(maxVolumesPerNode), topology });
    } catch (error) {
      await this.#remove(name);
      throw error;
    }
    this.#options.onRegistered(name);
  }

  /** Asks again how many volumes the node can have, and tells. */
  async updateCount(name: string): Promise<void> {
    const { maxVolumesPerNode } = await this.get(name, 'NodeGetInfo').call('NodeGetInfo', {});
    await this.#options.nodeInfo.setCount(name, Number(maxVolumesPerNode));
  }

  deregister({ name }: RegisteredPlugin): Promise<void> {
    return this.#remove(name);
  }

  /** Ends the connections; the drivers stay known to the cluster. */
  close(): void {
    for (const { driver } of this.#drivers.values()) driver.close();
  }

  async #remove(name: string): Promise<void> {
    this.#options.onGone(name);
    this.#drivers.get(name)?.driver.close();
    this.#drivers.delete(name);
    await this.#options.nodeInfo.uninstall(name).catch((error) => {
      const what = `kubernetes.io/csi: Error uninstalling CSI driver: ${messageOf(error)}`;
      this.#options.log.error(`kubernetes.io/csi: registrationHandler.DeRegisterPlugin failed: ${what}`, {
        driver: name,
      });
    });
  }

  /** The highest that both know. */
  #version(caller: string, name: string, versions: readonly string[]): Version {
    const failed = `kubernetes.io/csi: ${caller} for CSI driver ${quote(name)} failed.`;
    if (versions.length === 0) throw new Error(`${failed} Plugin returned an empty list for supported versions`);
    const parsed = versions.map(parseVersion);
    const usable = parsed.filter((version) => version !== undefined).filter(([major]) => major <= 1);
    const [highest] = usable.sort(compareVersions);
    if (highest?.[0] !== 1) {
      const why = highest
        ? `highest supported version reported is ${highest.join('.')}, must be v1.x`
        : `could not find a highest supported version from versions ([${versions.join(' ')}]) reported: <nil>`;
      throw new Error(
        `${failed} None of the versions specified [${versions.map(quote).join(' ')}] are supported. err=${why}`,
      );
    }
    const existing = this.#drivers.get(name);
    if (existing && compareVersions(existing.version, highest) <= 0) {
      const why = 'Another driver with the same name is already registered with a higher supported version';
      throw new Error(`${failed} ${why}: ${quote(existing.version.join('.'))}`);
    }
    return highest;
  }
}

type Version = readonly [major: number, minor: number, patch: number];

function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch = '0'] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text.trim()) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

/** The higher first. */
function compareVersions(a: Version, b: Version): number {
  for (const part of [0, 1, 2] as const) {
    const difference = b[part] - a[part];
    if (difference !== 0) return difference;
  }
  return 0;
}

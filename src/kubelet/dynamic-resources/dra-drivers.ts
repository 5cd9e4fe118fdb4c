/**
 * The drivers of claimed devices that are registered on this node. One may be there at several endpoints, while a newer takes over from an
 * older: the last that came is asked. What a driver has published of this node is taken away when it has been gone for 30 s, and once
 * when the kubelet starts, for a driver publishes anew when it comes.
 */
import { resourceSlices } from '../../api/gen/resource-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { GrpcError, grpcCodes } from '../../base/grpc/index.ts';
import type { Log } from '../../base/log.ts';
import { jitter, type Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { PluginHandler, RegisteredPlugin } from '../plugins/plugin-handler.ts';
import { DraDriver, draVersions } from './dra-driver.ts';
import type { DraMetrics } from './dra-metrics.ts';
import type { DeviceHealth } from './gen/dra-health-v1alpha1.ts';

export interface DraDriversOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly metrics: DraMetrics;
  readonly nodeName: string;
  /** Whether the cluster has the Node. */
  isRegistered(): boolean;
  /** Absent where nobody wants to know. `undefined`: nothing is known of its devices any more. */
  readonly onHealth: ((driver: string, devices: readonly DeviceHealth[] | undefined) => void) | undefined;
  onRegistered(): void;
}

interface Endpoint {
  readonly driver: DraDriver;
  readonly ending: AbortController;
}

const graceMs = 30_000;
const firstRetryMs = 1000;
const longestRetryMs = 5 * 60_000;
const healthRetryMs = 5000;

export class DraDrivers implements PluginHandler {
  readonly #options: DraDriversOptions;
  /** By name, the latest last. */
  readonly #endpoints = new Map<string, Endpoint[]>();
  /** By name, of drivers that are gone: from the waiting to the last try, so that one that comes back loses nothing of what it publishes. */
  readonly #wipes = new Map<string, AbortController>();

  constructor(options: DraDriversOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => this.#close(), { once: true });
  }

  /** Throws in upstream's words when it is not registered. */
  get(name: string): DraDriver {
    const latest = this.#endpoints.get(name)?.at(-1);
    if (!latest) throw new Error(`DRA driver ${name} is not registered`);
    return latest.driver;
  }

  validate(plugin: RegisteredPlugin): void {
    this.#serviceOf(plugin);
  }

  async register(plugin: RegisteredPlugin): Promise<void> {
    const { endpoint, name } = plugin;
    const { clock, metrics, onRegistered } = this.#options;
    const endpoints = this.#endpoints.get(name) ?? [];
    if (endpoints.some(({ driver }) => driver.endpoint === endpoint))
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${name}`);
    const driver = new DraDriver({ name, endpoint, service: this.#serviceOf(plugin), clock, metrics });
    const ending = new AbortController();
    this.#endpoints.set(name, [...endpoints, { driver, ending }]);
    this.#wipes.get(name)?.abort(new Error('the driver is back'));
    this.#wipes.delete(name);
    void this.#followHealth(driver, ending.signal);
    onRegistered();
  }

  async deregister({ endpoint, name }: RegisteredPlugin): Promise<void> {
    const endpoints = this.#endpoints.get(name) ?? [];
    const gone = endpoints.find(({ driver }) => driver.endpoint === endpoint);
    if (!gone) return;
    end(gone);
    const others = endpoints.filter((one) => one !== gone);
    if (others.length > 0) this.#endpoints.set(name, others);
    else {
      this.#endpoints.delete(name);
      this.#options.onHealth?.(name, undefined);
      void this.#wipeLater(name);
    }
  }

  /** Takes away what the driver, or all, have published of this node; until it succeeds. */
  async wipe(driver?: string, signal = this.#options.signal): Promise<void> {
    const { client, clock, isRegistered, log, nodeName, random } = this.#options;
    const fieldSelector = `spec.nodeName=${nodeName}${driver === undefined ? '' : `,spec.driver=${driver}`}`;
    for (let delayMs = firstRetryMs; !signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      try {
        if (isRegistered()) return await client.deleteCollection(resourceSlices, { fieldSelector, signal });
      } catch (error) {
        if (!signal.aborted) log.info('Deleting ResourceSlice failed, retrying', { error: messageOf(error) });
      }
      await sleep(clock, jitter(random, delayMs, 0.2), signal).catch(() => undefined);
    }
  }

  /** Unless it comes back. */
  async #wipeLater(driver: string): Promise<void> {
    const { clock, signal } = this.#options;
    const wipe = new AbortController();
    this.#wipes.set(driver, wipe);
    const ending = AbortSignal.any([signal, wipe.signal]);
    await sleep(clock, graceMs, ending).catch(() => undefined);
    await this.wipe(driver, ending);
    if (this.#wipes.get(driver) === wipe) this.#wipes.delete(driver);
  }

  /** The first that it names and that is known here. */
  #serviceOf({ endpoint, name, supportedVersions }: RegisteredPlugin): string {
    const invalid = `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}`;
    if (supportedVersions.length === 0)
      throw new Error(`${invalid}: empty list of supported gRPC services (aka supported versions)`);
    const [service] = supportedVersions.flatMap((version) => draVersions.get(version) ?? []);
    if (service !== undefined) return service;
    const list = (versions: Iterable<string>) => `[${[...versions].map(quote).join(' ')}]`;
    throw new Error(
      `${invalid}: none of services supported by the plugin (${list(supportedVersions)}) are supported by the kubelet (${list(draVersions.keys())})`,
    );
  }

  /** A driver that has nothing to say of it is not asked again. */
  async #followHealth(driver: DraDriver, signal: AbortSignal): Promise<void> {
    const { clock, log, onHealth } = this.#options;
    while (onHealth && !signal.aborted) {
      try {
        for await (const devices of driver.health(signal)) {
          if (signal.aborted) return;
          onHealth(driver.name, devices);
        }
      } catch (error) {
        if (signal.aborted || (error instanceof GrpcError && error.code === grpcCodes.unimplemented)) return;
        log.info('the health of devices is not told', { driver: driver.name, error: messageOf(error) });
      }
      // What is known may be another endpoint's by now, or is kept for the next kubelet.
      if (signal.aborted) return;
      onHealth(driver.name, undefined);
      await sleep(clock, healthRetryMs, signal).catch(() => undefined);
    }
  }

  #close(): void {
    for (const endpoints of this.#endpoints.values()) endpoints.forEach(end);
  }
}

function end({ driver, ending }: Endpoint): void {
  ending.abort(new Error('the driver is gone'));
  driver.close();
}

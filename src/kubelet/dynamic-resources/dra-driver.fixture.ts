/** A driver of claimed devices as its test wants it: it shows itself on a socket, makes ready what it is told to, and keeps what it was asked. */
import type { GrpcServer } from '../../base/grpc/index.ts';
import type { GrpcService, Outgoing } from '../grpc/codec.ts';
import { handleTable } from '../grpc/table-handlers.ts';
import { type PresentedPlugin, presentPlugin } from '../plugins/plugin.fixture.ts';
import { draVersions } from './dra-driver.ts';
import { type DeviceHealth, dRAResourceHealthService } from './gen/dra-health-v1alpha1.ts';
import { type Claim, type Device, type DRAPluginMethods, dRAPluginService } from './gen/dra-v1.ts';

export interface ScriptedDraOptions {
  readonly name: string;
  /** As it calls it when it registers. */
  readonly version?: 'v1.DRAPlugin' | 'v1beta1.DRAPlugin';
  /** Throws what is wrong with the claim. */
  readonly devices?: (claim: Claim) => readonly Partial<Device>[];
}

export class ScriptedDraDriver {
  /** Asked for, in order: `prepare default/gpu`. */
  readonly calls: string[] = [];
  readonly #options: ScriptedDraOptions;
  #health: readonly Outgoing<DeviceHealth>[] = [];
  #changed = Promise.withResolvers<void>();

  constructor(options: ScriptedDraOptions) {
    this.#options = options;
  }

  /** At the path of its socket. */
  present(path: string): Promise<PresentedPlugin> {
    const { name, version = 'v1.DRAPlugin' } = this.#options;
    return presentPlugin(path, { type: 'DRAPlugin', name, supportedVersions: [version] }, (server) =>
      this.#serve(server, version),
    );
  }

  /** What it tells of all that it watches. */
  tell(health: readonly Outgoing<DeviceHealth>[]): void {
    this.#health = health;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #serve(server: GrpcServer, version: string): void {
    const service: GrpcService<DRAPluginMethods> = { ...dRAPluginService, name: draVersions.get(version)! };
    handleTable(server, service, {
      NodePrepareResources: async ({ claims }) => ({ claims: claims.map((claim) => this.#prepare(claim)) }),
      NodeUnprepareResources: async ({ claims }) => ({
        claims: claims.map(({ name, namespace, uid }) => {
          this.calls.push(`unprepare ${namespace}/${name}`);
          return { key: uid, value: {} };
        }),
      }),
    });
    handleTable(server, dRAResourceHealthService, { NodeWatchResources: (_, signal) => this.#watch(signal) });
  }

  #prepare(claim: Claim) {
    const { name, namespace, uid } = claim;
    this.calls.push(`prepare ${namespace}/${name}`);
    try {
      return { key: uid, value: { devices: this.#options.devices?.(claim) ?? [] } };
    } catch (error) {
      return { key: uid, value: { error: (error as Error).message } };
    }
  }

  async *#watch(signal: AbortSignal) {
    const gone = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      const { promise } = this.#changed;
      yield { devices: this.#health };
      await Promise.race([promise, gone]);
    }
  }
}

/**
 * One endpoint of a driver that makes claimed devices ready: its calls, each of at most 45 s, in the version that was chosen when it
 * registered. Both versions have the same messages.
 */
import type { Clock } from '../../base/clock.ts';
import { type GrpcConnection, GrpcError, grpcCodeName, grpcCodes } from '../../base/grpc/index.ts';
import { grpcMethod, type Outgoing, type RequestOf, type ResponseOf } from '../grpc/codec.ts';
import { connectSocket } from '../grpc/socket-connection.ts';
import type { DraMetrics } from './dra-metrics.ts';
import { type DeviceHealth, dRAResourceHealthService } from './gen/dra-health-v1alpha1.ts';
import { type DRAPluginMethods, dRAPluginService } from './gen/dra-v1.ts';

/** As drivers call them when they register, the newest first, with the names of their services. */
export const draVersions: ReadonlyMap<string, string> = new Map([
  ['v1.DRAPlugin', 'k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin'],
  ['v1beta1.DRAPlugin', 'k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin'],
]);

export interface DraDriverOptions {
  readonly name: string;
  readonly endpoint: string;
  /** Name of the service that it is called by. */
  readonly service: string;
  readonly clock: Clock;
  readonly metrics: DraMetrics;
}

const callTimeoutMs = 45_000;
const watchHealth = grpcMethod(dRAResourceHealthService, 'NodeWatchResources');

export class DraDriver {
  readonly name: string;
  readonly endpoint: string;
  readonly #options: DraDriverOptions;
  #connection: Promise<GrpcConnection> | undefined;
  #isClosed = false;

  constructor(options: DraDriverOptions) {
    this.name = options.name;
    this.endpoint = options.endpoint;
    this.#options = options;
  }

  async call<M extends keyof DRAPluginMethods & string>(
    method: M,
    request: Outgoing<RequestOf<DRAPluginMethods, M>>,
  ): Promise<ResponseOf<DRAPluginMethods, M>> {
    const { clock, metrics, service } = this.#options;
    const called = grpcMethod(dRAPluginService, method, service);
    const startedMs = clock.monotonic();
    const done = (code: number) => {
      const outcome = { method: called.path, code: grpcCodeName(code) };
      metrics.call(this.name, outcome, clock.monotonic() - startedMs);
    };
    try {
      const answer = await (await this.#connect()).unary(called, request);
      done(0);
      return answer;
    } catch (error) {
      done(error instanceof GrpcError ? error.code : grpcCodes.unknown);
      throw error;
    }
  }

  /** All that it watches, each time that something of it changes. Ends, or rejects, when the driver does. */
  async *health(signal: AbortSignal): AsyncGenerator<readonly DeviceHealth[]> {
    const connection = await this.#connect();
    for await (const { devices } of connection.serverStream(watchHealth, {}, signal)) yield devices;
  }

  /** Nothing is asked of it from now on. */
  close(): void {
    this.#isClosed = true;
    void this.#connection?.then((connection) => connection.close());
    this.#connection = undefined;
  }

  async #connect(): Promise<GrpcConnection> {
    const { clock, endpoint } = this.#options;
    if (this.#isClosed) throw new Error(`endpoint ${endpoint} of DRA driver ${this.name} is gone`);
    this.#connection ??= connectSocket({ clock, path: endpoint, requestTimeoutMs: callTimeoutMs });
    return this.#connection;
  }
}

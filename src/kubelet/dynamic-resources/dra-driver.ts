/**
 * One endpoint of a driver that makes claimed devices ready: its calls, each of at most 45 s, in the version that was chosen when it
 * registered. Both versions have the same messages.
 */
import type { Clock } from '../../base/clock.ts';
import { grpcCodeName } from '../../base/grpc/index.ts';
import { grpcMethod, type Outgoing, type RequestOf, type ResponseOf } from '../grpc/codec.ts';
import { DriverSocket } from '../grpc/driver-socket.ts';
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
  readonly #service: string;
  readonly #socket: DriverSocket;

  constructor({ name, endpoint, service, clock, metrics }: DraDriverOptions) {
    this.name = name;
    this.endpoint = endpoint;
    this.#service = service;
    this.#socket = new DriverSocket({
      what: `DRA driver ${name}`,
      endpoint,
      clock,
      callTimeoutMs,
      onCall: (method, code, tookMs) => metrics.call(name, { method, code: grpcCodeName(code) }, tookMs),
    });
  }

  call<M extends keyof DRAPluginMethods & string>(
    method: M,
    request: Outgoing<RequestOf<DRAPluginMethods, M>>,
  ): Promise<ResponseOf<DRAPluginMethods, M>> {
    return this.#socket.call(grpcMethod(dRAPluginService, method, this.#service), request);
  }

  /** All that it watches, each time that something of it changes. Ends, or rejects, when the driver does. */
  async *health(signal: AbortSignal): AsyncGenerator<readonly DeviceHealth[]> {
    const connection = await this.#socket.connect();
    for await (const { devices } of connection.serverStream(watchHealth, {}, signal)) yield devices;
  }

  /** Nothing is asked of it from now on. */
  close(): void {
    this.#socket.close();
  }
}

/** One plugin that has devices of one resource: its calls over its own socket. All reject once it is closed. */
import { type Clock, sleep } from '../../base/clock.ts';
import { type GrpcConnection, GrpcError, grpcCodes } from '../../base/grpc/index.ts';
import { grpcMethod } from '../grpc/codec.ts';
import { connectSocket } from '../grpc/socket-connection.ts';
import {
  type ContainerAllocateResponse,
  type Device,
  type DevicePluginOptions,
  devicePluginService,
} from './gen/device-plugin-v1beta1.ts';

export interface DevicePlugin {
  readonly options: DevicePluginOptions;
  /** Each list replaces the one before it. Ends, or rejects, when the plugin does. */
  devices(): AsyncIterable<readonly Device[]>;
  /** Which devices it would rather give; there may be too few or too many of them. */
  preferred(request: PreferenceRequest): Promise<readonly string[]>;
  allocate(ids: readonly string[]): Promise<ContainerAllocateResponse>;
  preStart(ids: readonly string[]): Promise<void>;
  close(): void;
}

export interface PreferenceRequest {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly count: number;
}

export interface DevicePluginAddress {
  readonly clock: Clock;
  /** Of its socket. */
  readonly path: string;
  readonly signal: AbortSignal;
}

const dialTimeoutMs = 10_000;
const redialMs = 100;
const preStartTimeoutMs = 30_000;

const call = {
  options: grpcMethod(devicePluginService, 'GetDevicePluginOptions'),
  devices: grpcMethod(devicePluginService, 'ListAndWatch'),
  preferred: grpcMethod(devicePluginService, 'GetPreferredAllocation'),
  allocate: grpcMethod(devicePluginService, 'Allocate'),
  preStart: grpcMethod(devicePluginService, 'PreStartContainer'),
};

/** A plugin may register before it listens: it has ten seconds. */
export async function connectDevicePlugin(address: DevicePluginAddress): Promise<DevicePlugin> {
  const { clock, path } = address;
  const closing = new AbortController();
  const signal = AbortSignal.any([address.signal, closing.signal]);
  // Upstream waits for a plugin as long as that takes; an end of the plugin ends the call.
  const connection = await connectSocket({ clock, path, requestTimeoutMs: 0 });
  const close = () => {
    closing.abort(new Error('the plugin was stopped'));
    connection.close();
  };
  try {
    const options = await optionsOf(connection, { ...address, signal });
    return {
      options,
      async *devices() {
        for await (const { devices } of connection.serverStream(call.devices, {}, signal)) yield devices;
      },
      async preferred({ available, mustInclude, count }) {
        const wanted = {
          availableDeviceIDs: available,
          mustIncludeDeviceIDs: mustInclude,
          allocationSize: count,
        };
        const answer = await connection.unary(call.preferred, { containerRequests: [wanted] }, { signal });
        return answer.containerResponses[0]?.deviceIDs ?? [];
      },
      async allocate(ids) {
        const answer = await connection.unary(call.allocate, { containerRequests: [{ devicesIds: ids }] }, { signal });
        const [response] = answer.containerResponses;
        if (!response) throw new Error('no containers return in allocation response &AllocateResponse{}');
        return response;
      },
      async preStart(ids) {
        await connection.unary(call.preStart, { devicesIds: ids }, { signal, timeoutMs: preStartTimeoutMs });
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function optionsOf(
  connection: GrpcConnection,
  { clock, signal }: DevicePluginAddress,
): Promise<DevicePluginOptions> {
  const untilMs = clock.monotonic() + dialTimeoutMs;
  for (;;) {
    try {
      return await connection.unary(call.options, {}, { signal });
    } catch (error) {
      const isAbsent = error instanceof GrpcError && error.code === grpcCodes.unavailable;
      if (!isAbsent)
        throw new Error(`failed to get device plugin options: ${(error as Error).message}`, { cause: error });
      if (clock.monotonic() >= untilMs)
        throw new Error('failed to dial device plugin: context deadline exceeded', { cause: error });
    }
    await sleep(clock, redialMs, signal);
  }
}

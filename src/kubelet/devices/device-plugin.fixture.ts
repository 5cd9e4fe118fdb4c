/**
 * A plugin of devices as its test wants it: it serves on a socket of its own, lists what it is told to, and keeps what it was asked. As
 * real ones do it waits for the kubelet's socket before it makes its own: a kubelet that starts removes all that it finds.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { type GrpcServer, grpcServer } from '../../base/grpc/index.ts';
import { eventually } from '../../testing/eventually.ts';
import { grpcMethod } from '../grpc/codec.ts';
import { connectSocket } from '../grpc/socket-connection.ts';
import { handleTable } from '../grpc/table-handlers.ts';
import {
  type ContainerAllocateResponse,
  type Device,
  type DevicePluginOptions,
  devicePluginService,
  registrationService,
} from './gen/device-plugin-v1beta1.ts';

export interface ScriptedPluginOptions {
  /** Where it puts its socket, and finds the kubelet's. */
  readonly folder: string;
  readonly endpoint?: string;
  readonly options?: DevicePluginOptions;
  readonly preferred?: (ids: readonly string[], count: number) => readonly string[];
  readonly allocate?: (
    ids: readonly string[],
  ) => Partial<ContainerAllocateResponse> | Promise<Partial<ContainerAllocateResponse>>;
  readonly preStart?: (ids: readonly string[]) => void;
}

export interface ScriptedPlugin {
  /** Asked for, in order: `Allocate a,b`. */
  readonly calls: readonly string[];
  /** What it has from now on. */
  list(devices: readonly Device[]): void;
  /** On its own socket, as soon as the kubelet does on its. */
  listen(): Promise<void>;
  /** Listens, and tells the kubelet. */
  register(resourceName: string, request?: { readonly version?: string; readonly endpoint?: string }): Promise<void>;
  close(): void;
}

const noOptions: DevicePluginOptions = { preStartRequired: false, getPreferredAllocationAvailable: false };
const register = grpcMethod(registrationService, 'Register');

/** `nodes`: memory nodes that it is close to. */
export function device(ID: string, { health = 'Healthy', nodes = [] as readonly number[] } = {}): Device {
  return { ID, health, topology: nodes.length > 0 ? { nodes: nodes.map((id) => ({ ID: BigInt(id) })) } : undefined };
}

export async function scriptedPlugin(script: ScriptedPluginOptions): Promise<ScriptedPlugin> {
  const { endpoint = 'plugin.sock', folder, options = noOptions } = script;
  const calls: string[] = [];
  let devices: readonly Device[] = [];
  let changed = Promise.withResolvers<void>();
  const server = await grpcServer();
  serve(server, script, calls, async function* lists(signal: AbortSignal) {
    const gone = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      const { promise } = changed;
      yield { devices };
      await Promise.race([promise, gone]);
    }
  });
  const kubelet = join(folder, 'kubelet.sock');
  let listening: Promise<void> | undefined;
  const start = async () => {
    await eventually(() => existsSync(kubelet));
    await server.listen(`unix://${join(folder, endpoint)}`);
  };
  const listen = () => {
    listening ??= start();
    return listening;
  };
  return {
    calls,
    listen,
    list(next) {
      devices = next;
      changed.resolve();
      changed = Promise.withResolvers();
    },
    async register(resourceName, { version = 'v1beta1', endpoint: other = endpoint } = {}) {
      await listen();
      const connection = await connectSocket({
        clock: systemClock,
        path: kubelet,
        requestTimeoutMs: 0,
      });
      const request = { version, endpoint: other, resourceName, options };
      await connection.unary(register, request).finally(() => connection.close());
    },
    close: () => server.close(),
  };
}

function serve(
  server: GrpcServer,
  { allocate = () => ({}), options = noOptions, preferred = () => [], preStart = () => {} }: ScriptedPluginOptions,
  calls: string[],
  lists: (signal: AbortSignal) => AsyncIterable<{ readonly devices: readonly Device[] }>,
): void {
  handleTable(server, devicePluginService, {
    GetDevicePluginOptions: async () => options,
    ListAndWatch: (_, signal) => lists(signal),
    async GetPreferredAllocation({ containerRequests: [request] }) {
      const { availableDeviceIDs = [], mustIncludeDeviceIDs = [], allocationSize = 0 } = request ?? {};
      calls.push(`GetPreferredAllocation ${allocationSize} of ${availableDeviceIDs} with ${mustIncludeDeviceIDs}`);
      return { containerResponses: [{ deviceIDs: preferred(availableDeviceIDs, allocationSize) }] };
    },
    async Allocate({ containerRequests }) {
      calls.push(`Allocate ${containerRequests.map(({ devicesIds }) => devicesIds)}`);
      return { containerResponses: await Promise.all(containerRequests.map(({ devicesIds }) => allocate(devicesIds))) };
    },
    async PreStartContainer({ devicesIds }) {
      calls.push(`PreStartContainer ${devicesIds}`);
      preStart(devicesIds);
      return {};
    },
  });
}

/** Methods of a service that a table describes, from both ends. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type GrpcConnection, grpcCodes, grpcServer } from '../../base/grpc/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type DevicePluginMethods, devicePluginService } from '../devices/gen/device-plugin-v1beta1.ts';
import { grpcMethod } from './codec.ts';
import { connectSocket } from './socket-connection.ts';
import { type GrpcHandlers, handleTable } from './table-handlers.ts';

const options = grpcMethod(devicePluginService, 'GetDevicePluginOptions');
const list = grpcMethod(devicePluginService, 'ListAndWatch');

async function connected(t: TestContext, handlers: GrpcHandlers<DevicePluginMethods>): Promise<GrpcConnection> {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-grpc-'));
  const path = join(folder, 'a.sock');
  const server = await grpcServer();
  handleTable(server, devicePluginService, handlers);
  await server.listen(`unix://${path}`);
  const connection = await connectSocket({ clock: new FakeClock(), path, requestTimeoutMs: 0 });
  t.after(() => {
    connection.close();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return connection;
}

test('each method answers as its table says: once, or many times', async (t) => {
  const device = { ID: 'a', health: 'Healthy', topology: undefined };
  const connection = await connected(t, {
    GetDevicePluginOptions: async () => ({ preStartRequired: true }),
    async *ListAndWatch() {
      yield { devices: [device] };
      yield {};
    },
  });
  assert.deepEqual(await connection.unary(options, {}), {
    preStartRequired: true,
    getPreferredAllocationAvailable: false,
  });
  assert.deepEqual(await all(connection.serverStream(list, {})), [{ devices: [device] }, { devices: [] }]);
});

test('a method without a handler is unimplemented', async (t) => {
  const connection = await connected(t, { GetDevicePluginOptions: async () => ({}) });
  await assert.rejects(all(connection.serverStream(list, {})), { code: grpcCodes.unimplemented });
});

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const message of messages) list.push(message);
  return list;
}

/** Calls over a socket of this machine, from both ends. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type RegistrationMethods, registrationService } from '../plugins/gen/plugin-registration-v1.ts';
import { grpcMethod } from './codec.ts';
import { GrpcConnection, grpcCodes } from './grpc-connection.ts';
import { GrpcFailure, type GrpcHandlers, grpcServer } from './grpc-server.ts';

const getInfo = grpcMethod(registrationService, 'GetInfo');
const info = { type: 'CSIPlugin', name: 'a', endpoint: '/a.sock', supportedVersions: ['1.0.0', '1.1.0'] };

async function calling(
  handlers: GrpcHandlers<RegistrationMethods>,
  test: (connection: GrpcConnection, clock: FakeClock) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-grpc-'));
  const path = join(folder, 'a.sock');
  const server = await grpcServer();
  server.serve(registrationService, handlers);
  await server.listen(path);
  const clock = new FakeClock();
  const connection = await GrpcConnection.open({ clock, endpoint: `unix://${path}`, requestTimeoutMs: 1000 });
  try {
    await test(connection, clock);
  } finally {
    connection.close();
    server.close();
    rmSync(folder, { recursive: true });
  }
}

test('an answer arrives as it was given', () =>
  calling({ GetInfo: async () => info }, async (connection) => {
    assert.deepEqual(await connection.unary(getInfo, {}), info);
  }));

test('a failure has its code and Go´s words; any other error is of no known kind', async () => {
  const failing = (error: Error) => ({ GetInfo: () => Promise.reject(error) });
  await calling(failing(new GrpcFailure(grpcCodes.notFound, 'no such volume')), async (connection) => {
    await assert.rejects(connection.unary(getInfo, {}), {
      code: grpcCodes.notFound,
      details: 'no such volume',
      message: 'rpc error: code = NotFound desc = no such volume',
    });
  });
  await calling(failing(new Error('oops')), async (connection) => {
    await assert.rejects(connection.unary(getInfo, {}), { code: grpcCodes.unknown, details: 'oops' });
  });
});

test('a method that nobody handles is unimplemented', () =>
  calling({ NotifyRegistrationStatus: async () => ({}) }, async (connection) => {
    await assert.rejects(connection.unary(getInfo, {}), { code: grpcCodes.unimplemented });
  }));

test('a call without an answer ends by its limit, and the server learns that the caller is gone', async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const gone = Promise.withResolvers<void>();
  const GetInfo = (_: unknown, signal: AbortSignal) => {
    signal.addEventListener('abort', () => gone.resolve());
    asked.resolve(signal);
    return new Promise<never>(() => {});
  };
  await calling({ GetInfo }, async (connection, clock) => {
    const call = connection.unary(getInfo, {}, { timeoutMs: 500 });
    const failed = assert.rejects(call, {
      code: grpcCodes.deadlineExceeded,
      message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    });
    await asked.promise;
    await clock.advance(500);
    await failed;
    await gone.promise;
  });
});

/**
 * gRPC, the one way in which this program speaks it: to runtimes, drivers and plugins of a node, to key services and signers, to etcd.
 * The library is loaded by whoever connects or serves first.
 */
import type { GrpcConnection, GrpcConnectionOptions } from './connection.ts';
import type { GrpcServer } from './server.ts';

export { grpcCodeName, grpcCodes } from './codes.ts';
export type { CallSettings, GrpcConnection, GrpcConnectionOptions } from './connection.ts';
export { GrpcError } from './error.ts';
export type { CalledMethod, GrpcMethod, ServedMethod, WireCodec } from './method.ts';
export type { GrpcServer } from './server.ts';

/** Connecting waits for nobody. */
export async function connectGrpc(options: GrpcConnectionOptions): Promise<GrpcConnection> {
  const library = await import('./connection.ts');
  return new library.GrpcConnection(options);
}

export async function grpcServer(): Promise<GrpcServer> {
  const library = await import('./server.ts');
  return new library.GrpcServer();
}

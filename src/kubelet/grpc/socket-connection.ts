/** Connections to programs of this node, which may start anew at any time: they are soon dialled again. */
import type { Clock } from '../../base/clock.ts';
import { connectGrpc, type GrpcConnection } from '../../base/grpc/index.ts';

export const localRedial = { firstMs: 100, longestMs: 3000 };

export interface SocketConnectionOptions {
  readonly clock: Clock;
  readonly path: string;
  /** Limit of a call that names none; 0: no limit. */
  readonly requestTimeoutMs: number;
}

export function connectSocket({ clock, path, requestTimeoutMs }: SocketConnectionOptions): Promise<GrpcConnection> {
  return connectGrpc({ clock, target: `unix://${path}`, requestTimeoutMs, redial: localRedial });
}

/**
 * The socket of a driver that extends the node: connected to when something is first asked of it, every call timed and told, nothing asked any
 * more once it is closed.
 */
import type { Clock } from '../../base/clock.ts';
import { type CalledMethod, type GrpcConnection, GrpcError, grpcCodes } from '../../base/grpc/index.ts';
import { connectSocket } from './socket-connection.ts';

export interface DriverSocketOptions {
  /** As errors name it: `DRA driver gpu.example.com`. */
  readonly what: string;
  readonly endpoint: string;
  readonly clock: Clock;
  /** Limit of a call. */
  readonly callTimeoutMs: number;
  /** Told of each call as it ends; `code` is gRPC's, 0 for success. */
  readonly onCall: (path: string, code: number, tookMs: number) => void;
}

export class DriverSocket {
  readonly #options: DriverSocketOptions;
  #connection: Promise<GrpcConnection> | undefined;
  #isClosed = false;

  constructor(options: DriverSocketOptions) {
    this.#options = options;
  }

  /** Rejects with a `GrpcError` in the driver's words. */
  async call<Q, A>(method: CalledMethod<Q, A>, request: Q): Promise<A> {
    const { clock, onCall } = this.#options;
    const startedMs = clock.monotonic();
    const done = (code: number) => onCall(method.path, code, clock.monotonic() - startedMs);
    try {
      const answer = await (await this.connect()).unary(method, request);
      done(grpcCodes.ok);
      return answer;
    } catch (error) {
      done(error instanceof GrpcError ? error.code : grpcCodes.unknown);
      throw error;
    }
  }

  async connect(): Promise<GrpcConnection> {
    const { callTimeoutMs, clock, endpoint, what } = this.#options;
    if (this.#isClosed) throw new Error(`endpoint ${endpoint} of ${what} is gone`);
    this.#connection ??= connectSocket({ clock, path: endpoint, requestTimeoutMs: callTimeoutMs });
    return this.#connection;
  }

  close(): void {
    this.#isClosed = true;
    void this.#connection?.then((connection) => connection.close());
    this.#connection = undefined;
  }
}

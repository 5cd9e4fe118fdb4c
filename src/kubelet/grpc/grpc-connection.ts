/**
 * One gRPC connection to a socket of this machine: typed calls that end by a limit on the kubelet's clock or by a signal, and fail
 * with a code and the words of Go's library. gRPC re-dials by itself when the other side starts anew.
 */
import type { Client as GrpcClient, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import type { GrpcMethod, Outgoing } from './codec.ts';
import { grpcErrorText } from './grpc-error.ts';

type Grpc = typeof import('@grpc/grpc-js');

export interface GrpcConnectionOptions {
  readonly clock: Clock;
  /** `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Limit of a call that names none. */
  readonly requestTimeoutMs: number;
  /** Of one message; default: gRPC's 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
}

export interface CallSettings {
  readonly signal?: AbortSignal | undefined;
  /** 0: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** Numbers of gRPC's codes that a kubelet tells apart. */
export const grpcCodes = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** Its message is Go's: `rpc error: code = NotFound desc = ...`. */
export class GrpcError extends Error {
  readonly code: number;
  /** What the other side said. */
  readonly details: string;

  constructor(error: Pick<ServiceError, 'code' | 'details' | 'message'>, endpoint: string) {
    super(grpcErrorText(error, endpoint));
    this.name = 'GrpcError';
    this.code = error.code;
    this.details = error.details;
  }
}

export class GrpcConnection {
  readonly #grpc: Grpc;
  readonly #client: GrpcClient;
  readonly #options: GrpcConnectionOptions;

  private constructor(grpc: Grpc, options: GrpcConnectionOptions) {
    const { endpoint, maxMessageBytes } = options;
    this.#grpc = grpc;
    this.#options = options;
    // The socket's path makes no valid authority header, and servers in Go refuse one that does not parse.
    this.#client = new grpc.Client(endpoint, grpc.credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
      ...(maxMessageBytes
        ? { 'grpc.max_receive_message_length': maxMessageBytes, 'grpc.max_send_message_length': maxMessageBytes }
        : {}),
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 3000,
    });
  }

  static async open(options: GrpcConnectionOptions): Promise<GrpcConnection> {
    return new GrpcConnection(await import('@grpc/grpc-js'), options);
  }

  /** Rejects with a `GrpcError`, or with the signal's reason. */
  unary<Q, A>(method: GrpcMethod<Q, A>, request: Outgoing<Q>, settings: CallSettings = {}): Promise<A> {
    const { clock, endpoint, requestTimeoutMs } = this.#options;
    const { signal, timeoutMs = requestTimeoutMs } = settings;
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      let timedOut = false;
      const call = this.#client.makeUnaryRequest(
        method.path,
        (message: Outgoing<Q>) => method.encodeRequest(message),
        (bytes: Buffer) => method.decodeResponse(bytes),
        request,
        new this.#grpc.Metadata(),
        {},
        (error, response) => {
          timer?.cancel();
          signal?.removeEventListener('abort', onAbort);
          if (!error) return resolve(response!);
          if (signal?.aborted) return reject(signal.reason);
          reject(new GrpcError(timedOut ? deadlineExceeded : error, endpoint));
        },
      );
      const onAbort = () => call.cancel();
      signal?.addEventListener('abort', onAbort, { once: true });
      const onTimeout = () => {
        timedOut = true;
        call.cancel();
      };
      const timer = timeoutMs > 0 ? clock.after(timeoutMs, onTimeout) : undefined;
    });
  }

  serverStream<Q, A>(method: GrpcMethod<Q, A>, request: Outgoing<Q>, signal?: AbortSignal): AsyncIterable<A> {
    return this.rawStream(method.path, method.encodeRequest(request), (bytes) => method.decodeResponse(bytes), signal);
  }

  /** A stream of a service that has no table. */
  async *rawStream<T>(
    path: string,
    request: Buffer,
    decode: (bytes: Buffer) => T,
    signal?: AbortSignal,
  ): AsyncIterable<T> {
    signal?.throwIfAborted();
    const call = this.#client.makeServerStreamRequest(path, (bytes: Buffer) => bytes, decode, request);
    const onAbort = () => call.cancel();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      for await (const message of call) yield message as T;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw new GrpcError(error as ServiceError, this.#options.endpoint);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }
}

const deadlineExceeded = {
  code: grpcCodes.deadlineExceeded,
  details: 'context deadline exceeded',
  message: 'context deadline exceeded',
};

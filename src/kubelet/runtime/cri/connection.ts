/**
 * One gRPC connection to a runtime's socket, bound to one version of the interface. Which version is settled once, by
 * `negotiate`: v1, else v1alpha2 (the same messages under another package name), else an error. gRPC re-dials by itself when the
 * runtime restarts and then keeps using that version: a runtime that no longer has it answers `unimplemented`.
 */
import type { CallOptions as GrpcCallOptions, Client as GrpcClient, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../../base/clock.ts';
import { grpcErrorText } from '../../grpc-error.ts';
import { RuntimeError, type RuntimeErrorCode } from '../runtime.ts';
import { decodeMessage, encodeMessage, type Outgoing } from './codec.ts';
import { type ImageServiceMethods, imageService, type RuntimeServiceMethods, runtimeService } from './gen/cri-v1.ts';

type Grpc = typeof import('@grpc/grpc-js');
type Services = { RuntimeService: RuntimeServiceMethods; ImageService: ImageServiceMethods };

export type CriVersion = 'v1' | 'v1alpha2';

export interface ConnectionOptions {
  readonly clock: Clock;
  /** `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Limit of a call that names none. */
  readonly requestTimeoutMs: number;
}

export interface CallSettings {
  readonly signal?: AbortSignal | undefined;
  /** 0: no limit. */
  readonly timeoutMs?: number | undefined;
}

const tables = { RuntimeService: runtimeService, ImageService: imageService } as const;
/** A list of some thousand containers is larger than gRPC's 4 MiB. */
const maxMessageBytes = 16 * 1024 * 1024;

export class CriConnection {
  readonly #grpc: Grpc;
  readonly #client: GrpcClient;
  readonly #options: ConnectionOptions;
  #version: CriVersion = 'v1';

  private constructor(grpc: Grpc, options: ConnectionOptions) {
    this.#grpc = grpc;
    this.#options = options;
    // The socket's path makes no valid authority header, and containerd refuses one that does not parse.
    this.#client = new grpc.Client(options.endpoint, grpc.credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 3000,
    });
  }

  static async open(options: ConnectionOptions): Promise<CriConnection> {
    return new CriConnection(await import('@grpc/grpc-js'), options);
  }

  get version(): CriVersion {
    return this.#version;
  }

  use(version: CriVersion): void {
    this.#version = version;
  }

  unary<S extends keyof Services, M extends keyof Services[S] & string>(
    service: S,
    method: M,
    request: Outgoing<RequestOf<S, M>>,
    settings: CallSettings = {},
  ): Promise<ResponseOf<S, M>> {
    const { path, encode, decode } = this.#codecs(service, method);
    settings.signal?.throwIfAborted();
    const timeoutMs = settings.timeoutMs ?? this.#options.requestTimeoutMs;
    return new Promise((resolve, reject) => {
      let timedOut = false;
      const call = this.#client.makeUnaryRequest(
        path,
        encode,
        decode,
        request,
        new this.#grpc.Metadata(),
        {} satisfies GrpcCallOptions,
        (error, response) => {
          timer?.cancel();
          settings.signal?.removeEventListener('abort', onAbort);
          if (!error) return resolve(response as ResponseOf<S, M>);
          if (settings.signal?.aborted) return reject(settings.signal.reason);
          reject(
            timedOut
              ? new RuntimeError('deadlineExceeded', 'context deadline exceeded')
              : runtimeError(error, this.#options.endpoint),
          );
        },
      );
      const onAbort = () => call.cancel();
      settings.signal?.addEventListener('abort', onAbort, { once: true });
      const timer =
        timeoutMs > 0
          ? this.#options.clock.after(timeoutMs, () => {
              timedOut = true;
              call.cancel();
            })
          : undefined;
    });
  }

  async *serverStream<S extends keyof Services, M extends keyof Services[S] & string>(
    service: S,
    method: M,
    request: Outgoing<RequestOf<S, M>>,
    signal?: AbortSignal,
  ): AsyncIterable<ResponseOf<S, M>> {
    const { path, encode, decode } = this.#codecs(service, method);
    yield* this.rawStream(path, encode(request), decode, signal) as AsyncIterable<ResponseOf<S, M>>;
  }

  /** A stream of another service behind the same socket. */
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
      throw runtimeError(error as ServiceError, this.#options.endpoint);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }

  #codecs(service: keyof Services, method: string) {
    const names = (tables[service] as Record<string, { request: string; response: string }>)[method]!;
    return {
      path: `/runtime.${this.#version}.${service}/${method}`,
      encode: (message: unknown) => encodeMessage(names.request as never, message as never),
      decode: (bytes: Buffer) => decodeMessage(names.response as never, bytes) as unknown,
    };
  }
}

type Call<S extends keyof Services, M extends keyof Services[S]> = Services[S][M] extends {
  request: infer Q;
  response: infer A;
}
  ? [Q, A]
  : never;
type RequestOf<S extends keyof Services, M extends keyof Services[S]> = Call<S, M>[0];
type ResponseOf<S extends keyof Services, M extends keyof Services[S]> = Call<S, M>[1];

const codes: ReadonlyMap<number, RuntimeErrorCode> = new Map([
  [1, 'cancelled'],
  [3, 'invalidArgument'],
  [4, 'deadlineExceeded'],
  [5, 'notFound'],
  [6, 'alreadyExists'],
  [12, 'unimplemented'],
  [14, 'unavailable'],
]);

function runtimeError(error: ServiceError, endpoint: string): RuntimeError {
  // containerd listens a moment before its plugins are there.
  const isStarting = error.details?.includes('server is not initialized yet') ?? false;
  return new RuntimeError(
    isStarting ? 'unavailable' : (codes.get(error.code) ?? 'unknown'),
    grpcErrorText(error, endpoint),
  );
}

/**
 * The connection to a runtime's socket, bound to one version of the interface. Which version is settled once, by `negotiate`: v1,
 * else v1alpha2 (the same messages under another package name), else an error. A runtime that starts anew and no longer has that
 * version answers `unimplemented`.
 */
import type { Clock } from '../../../base/clock.ts';
import {
  type CalledMethod,
  type CallSettings,
  connectGrpc,
  type GrpcConnection,
  GrpcError,
  grpcCodes,
} from '../../../base/grpc/index.ts';
import { type GrpcService, grpcMethod, type Outgoing, type RequestOf, type ResponseOf } from '../../grpc/codec.ts';
import { localRedial } from '../../grpc/socket-connection.ts';
import { RuntimeError, type RuntimeErrorCode } from '../runtime.ts';
import { type ImageServiceMethods, imageService, type RuntimeServiceMethods, runtimeService } from './gen/cri-v1.ts';

export type CriVersion = 'v1' | 'v1alpha2';

export type { CallSettings };

export interface CriConnectionOptions {
  readonly clock: Clock;
  /** `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Limit of a call that names none. */
  readonly requestTimeoutMs: number;
}

type Services = { RuntimeService: RuntimeServiceMethods; ImageService: ImageServiceMethods };

const tables = { RuntimeService: runtimeService, ImageService: imageService } as const;
/** A list of some thousand containers is larger than gRPC's 4 MiB. */
const maxMessageBytes = 16 * 1024 * 1024;

export class CriConnection {
  readonly #connection: GrpcConnection;
  /** Limit of a call that names none. */
  readonly requestTimeoutMs: number;
  #version: CriVersion = 'v1';

  private constructor(connection: GrpcConnection, requestTimeoutMs: number) {
    this.#connection = connection;
    this.requestTimeoutMs = requestTimeoutMs;
  }

  static async open({ clock, endpoint, requestTimeoutMs }: CriConnectionOptions): Promise<CriConnection> {
    const connection = await connectGrpc({
      clock,
      target: endpoint,
      requestTimeoutMs,
      maxMessageBytes,
      redial: localRedial,
    });
    return new CriConnection(connection, requestTimeoutMs);
  }

  get version(): CriVersion {
    return this.#version;
  }

  use(version: CriVersion): void {
    this.#version = version;
  }

  async unary<S extends keyof Services, M extends keyof Services[S] & string>(
    service: S,
    method: M,
    request: Outgoing<RequestOf<Services[S], M>>,
    settings: CallSettings = {},
  ): Promise<ResponseOf<Services[S], M>> {
    try {
      return await this.#connection.unary(this.#method(service, method), request, settings);
    } catch (error) {
      throw runtimeError(error);
    }
  }

  async *serverStream<S extends keyof Services, M extends keyof Services[S] & string>(
    service: S,
    method: M,
    request: Outgoing<RequestOf<Services[S], M>>,
    signal?: AbortSignal,
  ): AsyncIterable<ResponseOf<Services[S], M>> {
    try {
      yield* this.#connection.serverStream(this.#method(service, method), request, signal);
    } catch (error) {
      throw runtimeError(error);
    }
  }

  /** A stream of another service behind the same socket. */
  async *otherStream<Q, A>(method: CalledMethod<Q, A>, request: Q, signal?: AbortSignal): AsyncIterable<A> {
    try {
      yield* this.#connection.serverStream(method, request, signal);
    } catch (error) {
      throw runtimeError(error);
    }
  }

  close(): void {
    this.#connection.close();
  }

  #method<S extends keyof Services, M extends keyof Services[S] & string>(service: S, method: M) {
    const table = tables[service] as unknown as GrpcService<Services[S]>;
    return grpcMethod(table, method, `runtime.${this.#version}.${service}`);
  }
}

const codes: ReadonlyMap<number, RuntimeErrorCode> = new Map([
  [grpcCodes.cancelled, 'cancelled'],
  [grpcCodes.invalidArgument, 'invalidArgument'],
  [grpcCodes.deadlineExceeded, 'deadlineExceeded'],
  [grpcCodes.notFound, 'notFound'],
  [grpcCodes.alreadyExists, 'alreadyExists'],
  [grpcCodes.unimplemented, 'unimplemented'],
  [grpcCodes.unavailable, 'unavailable'],
]);

function runtimeError(error: unknown): unknown {
  if (!(error instanceof GrpcError)) return error;
  // By our own limit, which is told as Go's context tells it.
  if (error.code === grpcCodes.deadlineExceeded) return new RuntimeError('deadlineExceeded', error.details);
  // containerd listens a moment before its plugins are there.
  const isStarting = error.details?.includes('server is not initialized yet') ?? false;
  return new RuntimeError(isStarting ? 'unavailable' : (codes.get(error.code) ?? 'unknown'), error.message);
}

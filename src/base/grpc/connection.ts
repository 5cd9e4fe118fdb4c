/**
 * One gRPC connection, to a socket of this machine or over the network: typed calls that end by a limit on the caller's clock or by a
 * signal, and fail with a `GrpcError`. It connects with the first call and dials again by itself when the other side starts anew; whom
 * else to ask, and whether to ask again, is its user's to decide. Importing this file loads the library: `connectGrpc` does it when asked.
 */
import { type CallOptions, type ChannelOptions, Client, credentials, Metadata } from '@grpc/grpc-js';
import type { Clock } from '../clock.ts';
import { grpcCodes } from './codes.ts';
import { GrpcError, grpcErrorOf, isSocket } from './error.ts';
import type { CalledMethod } from './method.ts';

export interface GrpcConnectionOptions {
  readonly clock: Clock;
  /** `unix:///run/containerd/containerd.sock`, `10.0.0.1:2379`. */
  readonly target: string;
  /** Limit of a call that names none. Default 0: no limit. */
  readonly requestTimeoutMs?: number | undefined;
  /** Of one message, either way; -1: any. Default: 4 MiB to receive, any to send. */
  readonly maxMessageBytes?: number | undefined;
  /** Default: in clear text. */
  readonly tls?: GrpcTls | undefined;
  /** How long it waits after a connection that failed, longer each time. Default: a second, up to two minutes. */
  readonly redial?: { readonly firstMs: number; readonly longestMs: number } | undefined;
  /** After how much silence the other side is asked whether it lives, and how long it may take to say so. Default: never asked. */
  readonly keepalive?: { readonly silenceMs: number; readonly answerMs: number } | undefined;
  /** Whether it has a connection of its own even where another one to the same target is open in this process. Default false. */
  readonly exclusive?: boolean | undefined;
}

export interface GrpcTls {
  /** Default: what this machine trusts. */
  readonly caPem?: string | undefined;
  readonly certificatePem?: string | undefined;
  readonly keyPem?: string | undefined;
}

export interface CallSettings {
  readonly signal?: AbortSignal | undefined;
  /** 0: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Whether it waits, within its time, for a server that is not there yet; otherwise it fails at once. */
  readonly waitForReady?: boolean | undefined;
}

export interface DuplexHandlers<Response> {
  onMessage(message: Response): void;
  /** Once, with the error if it was one. Nothing follows. */
  onEnd(error: GrpcError | undefined): void;
}

/** Both sides send when they like. */
export interface Duplex<Request> {
  send(message: Request): void;
  /** Ends it for both sides; `onEnd` is called with `cancelled`. */
  cancel(): void;
}

export class GrpcConnection {
  readonly #client: Client;
  readonly #options: GrpcConnectionOptions;

  constructor(options: GrpcConnectionOptions) {
    const { target, tls } = options;
    this.#options = options;
    this.#client = new Client(target, tls ? secured(tls) : credentials.createInsecure(), channelOptions(options));
  }

  /** Resolves once there is a connection, which is tried until then; rejects with the signal's reason. */
  ready(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#client.waitForReady(Number.POSITIVE_INFINITY, (error) => {
        signal.removeEventListener('abort', onAbort);
        if (error) reject(grpcErrorOf(error, this.#options.target));
        else resolve();
      });
    });
  }

  /** Rejects with a `GrpcError`, or with the signal's reason. */
  unary<Q, A>(method: CalledMethod<Q, A>, request: Q, settings: CallSettings = {}): Promise<A> {
    const { clock, requestTimeoutMs = 0, target } = this.#options;
    const { signal, timeoutMs = requestTimeoutMs, waitForReady = false } = settings;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      let timedOut = false;
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.request.encode,
        method.response.decode,
        request,
        new Metadata({ waitForReady }),
        noCallOptions,
        (error, response) => {
          timer?.cancel();
          signal?.removeEventListener('abort', onAbort);
          if (!error) resolve(response!);
          else if (signal?.aborted) reject(signal.reason);
          else if (timedOut) reject(deadlineExceeded(error));
          else reject(grpcErrorOf(error, target));
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

  /** One request, many answers; not limited in time. Ends, when its reader stops, for both sides. */
  async *serverStream<Q, A>(method: CalledMethod<Q, A>, request: Q, signal?: AbortSignal): AsyncIterable<A> {
    signal?.throwIfAborted();
    const { encode } = method.request;
    const call = this.#client.makeServerStreamRequest(method.path, encode, method.response.decode, request);
    const onAbort = () => call.cancel();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      for await (const message of call) yield message as A;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw grpcErrorOf(error, this.#options.target);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      call.cancel();
    }
  }

  /** Not limited in time. `metadata`: sent ahead of all messages. */
  duplex<Q, A>(
    method: CalledMethod<Q, A>,
    { onMessage, onEnd }: DuplexHandlers<A>,
    metadata: Readonly<Record<string, string>> = {},
  ): Duplex<Q> {
    const ahead = new Metadata();
    for (const [name, value] of Object.entries(metadata)) ahead.set(name, value);
    const { encode } = method.request;
    const stream = this.#client.makeBidiStreamRequest(method.path, encode, method.response.decode, ahead);
    let ended = false;
    const end = (error?: GrpcError) => {
      if (ended) return;
      ended = true;
      onEnd(error);
    };
    stream.on('data', (message: A) => {
      if (!ended) onMessage(message);
    });
    stream.on('error', (error) => end(grpcErrorOf(error, this.#options.target)));
    stream.on('end', () => end());
    return { send: (message) => void stream.write(message), cancel: () => stream.cancel() };
  }

  close(): void {
    this.#client.close();
  }
}

const noCallOptions: CallOptions = {};

function channelOptions(options: GrpcConnectionOptions): ChannelOptions {
  const { exclusive, keepalive, maxMessageBytes, redial, target } = options;
  return {
    // A socket's path makes no valid authority header, and servers in Go refuse one that does not parse.
    ...(isSocket(target) && { 'grpc.default_authority': 'localhost' }),
    ...(maxMessageBytes !== undefined && {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
    }),
    ...(redial && {
      'grpc.initial_reconnect_backoff_ms': redial.firstMs,
      'grpc.max_reconnect_backoff_ms': redial.longestMs,
    }),
    ...(keepalive && {
      'grpc.keepalive_time_ms': keepalive.silenceMs,
      'grpc.keepalive_timeout_ms': keepalive.answerMs,
    }),
    ...(exclusive && { 'grpc.use_local_subchannel_pool': 1 }),
  };
}

function secured({ caPem, certificatePem, keyPem }: GrpcTls) {
  const bytes = (pem: string | undefined) => (pem === undefined ? null : Buffer.from(pem));
  return credentials.createSsl(bytes(caPem), bytes(keyPem), bytes(certificatePem));
}

function deadlineExceeded(cause: unknown): GrpcError {
  return new GrpcError(grpcCodes.deadlineExceeded, 'context deadline exceeded', { cause });
}

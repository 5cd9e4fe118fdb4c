/**
 * A gRPC server. A handler that throws a `GrpcError` answers with its code and words; anything else it throws is `Unknown`, as Go's
 * servers say. A method without a handler is `Unimplemented`. Importing this file loads the library: `grpcServer` does it when asked.
 */
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { grpcCodes } from './codes.ts';
import { GrpcError } from './error.ts';
import type { ServedMethod } from './method.ts';

/** `signal` is aborted when the caller goes away. */
export type UnaryHandler<Request, Response> = (request: Request, signal: AbortSignal) => Promise<Response>;
/** Gives its messages one after another until it ends. */
export type StreamHandler<Request, Response> = (request: Request, signal: AbortSignal) => AsyncIterable<Response>;

export class GrpcServer {
  readonly #server = new Server();

  /** Before `listen`, as `stream` and `duplex`. */
  unary<Q, A>(method: ServedMethod<Q, A>, handler: UnaryHandler<Q, A>): void {
    const answer = (call: ServerUnaryCall<Q, A>, done: sendUnaryData<A>) => {
      handler(call.request, goingOf(call)).then(
        (response) => done(null, response),
        (error) => done(statusOf(error)),
      );
    };
    this.#server.register(method.path, answer, method.response.encode, method.request.decode, 'unary');
  }

  stream<Q, A>(method: ServedMethod<Q, A>, handler: StreamHandler<Q, A>): void {
    const answer = (call: ServerWritableStream<Q, A>) => {
      const signal = goingOf(call);
      void writeAll(call, () => handler(call.request, signal), signal);
    };
    this.#server.register(method.path, answer, method.response.encode, method.request.decode, 'serverStream');
  }

  /** Requests come until the caller has sent its last, or goes away. */
  duplex<Q, A>(method: ServedMethod<Q, A>, handler: StreamHandler<AsyncIterable<Q>, A>): void {
    const answer = (call: ServerDuplexStream<Q, A>) => {
      const signal = goingOf(call);
      // A handler that stops reading may still answer.
      const requests: AsyncIterable<Q> = { [Symbol.asyncIterator]: () => call.iterator({ destroyOnReturn: false }) };
      void writeAll(call, () => handler(requests, signal), signal);
    };
    this.#server.register(method.path, answer, method.response.encode, method.request.decode, 'bidi');
  }

  /** `unix:///run/a.sock`, whose file must not exist; `127.0.0.1:0`. Resolves with the port, if it has one. */
  listen(address: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
  }

  /** Ends calls that are under way too. A socket's file is removed. */
  close(): void {
    this.#server.forceShutdown();
  }
}

/** As much of the library's streams as an answer needs. */
interface Answering<A> {
  write(message: A): unknown;
  end(): unknown;
  emit(event: 'error', status: object): unknown;
}

async function writeAll<A>(call: Answering<A>, messages: () => AsyncIterable<A>, signal: AbortSignal): Promise<void> {
  try {
    for await (const message of messages()) {
      if (signal.aborted) return;
      call.write(message);
    }
    call.end();
  } catch (error) {
    call.emit('error', statusOf(error));
  }
}

function goingOf(call: { on(event: 'cancelled', listener: () => void): unknown }): AbortSignal {
  const going = new AbortController();
  call.on('cancelled', () => going.abort(new Error('the caller went away')));
  return going.signal;
}

function statusOf(error: unknown) {
  if (error instanceof GrpcError) return { code: error.code, details: error.details };
  return { code: grpcCodes.unknown, details: error instanceof Error ? error.message : String(error) };
}

/**
 * A gRPC server on a socket of this machine, for services that a table describes. A handler that throws a `GrpcFailure` answers with
 * its code and words; anything else it throws is `Unknown`, as Go's servers say. A method without a handler is `Unimplemented`.
 */
import type { Server, ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js';
import { messageOf } from '../../apimachinery/status.ts';
import {
  type GrpcMethod,
  type GrpcService,
  grpcMethod,
  type Outgoing,
  type RequestOf,
  type ResponseOf,
} from './codec.ts';
import { grpcCodes } from './grpc-connection.ts';

/** What a caller shall be told. */
export class GrpcFailure extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'GrpcFailure';
    this.code = code;
  }
}

/** By method. One that streams gives its messages one after another until it ends or the signal, the caller's going, is aborted. */
export type GrpcHandlers<Methods> = {
  readonly [M in keyof Methods]?: (
    request: RequestOf<Methods, M>,
    signal: AbortSignal,
  ) => Promise<Outgoing<ResponseOf<Methods, M>>> | AsyncIterable<Outgoing<ResponseOf<Methods, M>>>;
};

export interface GrpcServer {
  /** Before `listen`. */
  serve<Methods>(service: GrpcService<Methods>, handlers: GrpcHandlers<Methods>): void;
  /** On the socket at that path, which must not exist. */
  listen(path: string): Promise<void>;
  /** Ends calls that are under way too. The socket is removed. */
  close(): void;
}

type Handler = (request: unknown, signal: AbortSignal) => Promise<unknown> | AsyncIterable<unknown>;

export async function grpcServer(): Promise<GrpcServer> {
  const grpc = await import('@grpc/grpc-js');
  const server: Server = new grpc.Server();
  return {
    serve(service, handlers) {
      const own = Object.entries(handlers) as [keyof typeof service.methods & string, Handler][];
      const definitions = own.map(([name]) => [name, definitionOf(service, name)] as const);
      const implementations = own.map(([name, handler]) => {
        const { streams = false } = service.methods[name];
        return [name, streams ? streamed(handler) : unary(handler)] as const;
      });
      server.addService(Object.fromEntries(definitions), Object.fromEntries(implementations));
    },
    listen: (path) =>
      new Promise((resolve, reject) => {
        const insecure = grpc.ServerCredentials.createInsecure();
        server.bindAsync(`unix://${path}`, insecure, (error) => (error ? reject(error) : resolve()));
      }),
    close: () => server.forceShutdown(),
  };
}

function definitionOf<Methods>(service: GrpcService<Methods>, name: keyof Methods & string) {
  const method = grpcMethod(service, name) as GrpcMethod<unknown, unknown>;
  return {
    path: method.path,
    requestStream: false,
    responseStream: method.streams,
    requestSerialize: (message: unknown) => method.encodeRequest(message as never),
    requestDeserialize: (bytes: Buffer) => method.decodeRequest(bytes),
    responseSerialize: (message: unknown) => method.encodeResponse(message as never),
    responseDeserialize: (bytes: Buffer) => method.decodeResponse(bytes),
  };
}

function unary(handler: Handler) {
  return (call: ServerUnaryCall<unknown, unknown>, done: sendUnaryData<unknown>) => {
    const signal = goingOf(call);
    (handler(call.request, signal) as Promise<unknown>).then(
      (response) => done(null, response),
      (error) => done(asServiceError(error)),
    );
  };
}

function streamed(handler: Handler) {
  return async (call: ServerWritableStream<unknown, unknown>) => {
    const signal = goingOf(call);
    try {
      for await (const message of handler(call.request, signal) as AsyncIterable<unknown>) {
        if (signal.aborted) return;
        call.write(message);
      }
      call.end();
    } catch (error) {
      call.emit('error', asServiceError(error));
    }
  };
}

function goingOf(call: ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>): AbortSignal {
  const going = new AbortController();
  call.on('cancelled', () => going.abort(new Error('the caller went away')));
  return going.signal;
}

function asServiceError(error: unknown) {
  return { code: error instanceof GrpcFailure ? error.code : grpcCodes.unknown, details: messageOf(error) };
}

/** What a program of this node answers to the methods of a service that a table describes. One without a handler is `Unimplemented`. */
import type { GrpcServer } from '../../base/grpc/index.ts';
import {
  type GrpcMethod,
  type GrpcService,
  grpcMethod,
  type Outgoing,
  type RequestOf,
  type ResponseOf,
} from './codec.ts';

/** By method. One that streams gives its messages one after another until it ends or the signal, the caller's going, is aborted. */
export type GrpcHandlers<Methods> = {
  readonly [M in keyof Methods]?: (
    request: RequestOf<Methods, M>,
    signal: AbortSignal,
  ) => Promise<Outgoing<ResponseOf<Methods, M>>> | AsyncIterable<Outgoing<ResponseOf<Methods, M>>>;
};

type Handler<Answer> = (request: unknown, signal: AbortSignal) => Answer;

/** Before the server listens. */
export function handleTable<Methods>(
  server: GrpcServer,
  service: GrpcService<Methods>,
  handlers: GrpcHandlers<Methods>,
): void {
  for (const name of Object.keys(handlers) as (keyof Methods & string)[]) {
    const method = grpcMethod(service, name) as unknown as GrpcMethod<unknown, never>;
    const handler = handlers[name];
    if (service.methods[name].streams) server.stream(method, handler as Handler<AsyncIterable<never>>);
    else server.unary(method, handler as Handler<Promise<never>>);
  }
}

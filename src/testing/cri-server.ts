/**
 * A container runtime behind a real unix socket: gRPC as a node's runtime speaks it, over a simulated runtime that runs nothing. A test
 * scripts single methods: to fail, to hang, to be unknown, or to answer what a newer or stranger runtime would. It serves the versions
 * of the interface that it is told to, and either service alone.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, type ServerUnaryCall, type ServerWritableStream, status } from '@grpc/grpc-js';
import { systemClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { decodeMessage, encodeMessage, type Outgoing } from '../kubelet/grpc/codec.ts';
import type { CriVersion } from '../kubelet/runtime/cri/connection.ts';
import {
  type ImageServiceMethods,
  imageService,
  type RuntimeServiceMethods,
  runtimeService,
} from '../kubelet/runtime/cri/gen/cri-v1.ts';
import { RuntimeError, type RuntimeErrorCode } from '../kubelet/runtime/runtime.ts';
import { SimulatedRuntime } from '../kubelet/runtime/simulated/simulated-runtime.ts';
import { containerEvent, simulatedAnswers } from './simulated-cri.ts';

export type CriMethods = RuntimeServiceMethods & ImageServiceMethods;
export type CriMethod = keyof CriMethods & string;
type Request<M extends CriMethod> = CriMethods[M]['request'];
type Response<M extends CriMethod> = Outgoing<CriMethods[M]['response']>;

export type CriAnswer<M extends CriMethod> = (request: Request<M>) => Promise<Response<M>> | Response<M>;
export type CriAnswers = { readonly [M in CriMethod]?: CriAnswer<M> };

export interface CriServerOptions {
  /** Default: v1 alone. */
  readonly versions?: readonly CriVersion[] | undefined;
  /** Default: both. */
  readonly services?: readonly (keyof typeof tables)[] | undefined;
}

export interface CriServer {
  /** `unix:///...`. */
  readonly endpoint: string;
  /** What it was asked so far, oldest first. */
  readonly calls: readonly { readonly method: CriMethod; readonly request: unknown }[];
  /** From now on; without an answer: as the simulated runtime does. */
  script<M extends CriMethod>(method: M, answer?: CriAnswer<M>): void;
  /** Ends its connections; what ran is still there after `restart`. */
  crash(): void;
  /** On the same socket, after `crash`. */
  restart(options?: CriServerOptions): Promise<void>;
  stop(): Promise<void>;
}

/** For `script`: refuses with that code. */
export const failing = (code: RuntimeErrorCode, message: string) => () =>
  Promise.reject(new RuntimeError(code, message));
/** For `script`: never answers. */
export const hanging = () => new Promise<never>(() => {});

const tables = { RuntimeService: runtimeService, ImageService: imageService } as const;

const codes: Readonly<Record<RuntimeErrorCode, status>> = {
  cancelled: status.CANCELLED,
  deadlineExceeded: status.DEADLINE_EXCEEDED,
  invalidArgument: status.INVALID_ARGUMENT,
  notFound: status.NOT_FOUND,
  alreadyExists: status.ALREADY_EXISTS,
  unavailable: status.UNAVAILABLE,
  unimplemented: status.UNIMPLEMENTED,
  unknown: status.UNKNOWN,
};

export async function startCriServer(options: CriServerOptions = {}): Promise<CriServer> {
  const directory = await mkdtemp(join(tmpdir(), 'coracle-cri-'));
  const endpoint = `unix://${join(directory, 'cri.sock')}`;
  const calls: { method: CriMethod; request: unknown }[] = [];
  const scripts = new Map<CriMethod, UntypedAnswer>();
  const runtime = new SimulatedRuntime({ clock: systemClock, random: seededRandom(1), podCidr: () => '10.1.0.0/24' });
  const answers = simulatedAnswers(runtime) as Readonly<Record<string, UntypedAnswer | undefined>>;

  const answer = async (method: CriMethod, request: unknown): Promise<unknown> => {
    calls.push({ method, request });
    const chosen = scripts.get(method) ?? answers[method];
    if (!chosen) throw new RuntimeError('unimplemented', `unknown method ${method}`);
    return chosen(request);
  };
  let server: Server | undefined;
  const listen = async ({ versions = ['v1'], services = ['RuntimeService', 'ImageService'] }: CriServerOptions) => {
    server = new Server();
    for (const version of versions)
      for (const service of services)
        server.addService(...served(`runtime.${version}.${service}`, service, { answer, runtime }));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
    await promise;
  };
  await listen(options);
  return {
    endpoint,
    calls,
    script: (method, chosen) => void (chosen ? scripts.set(method, chosen as UntypedAnswer) : scripts.delete(method)),
    crash: () => server?.forceShutdown(),
    restart: (changed) => listen({ ...options, ...changed }),
    async stop() {
      server?.forceShutdown();
      runtime.close();
      await rm(directory, { recursive: true });
    },
  };
}

type UntypedAnswer = (request: unknown) => unknown;

interface Behind {
  answer(method: CriMethod, request: unknown): Promise<unknown>;
  readonly runtime: SimulatedRuntime;
}

const identity = (bytes: Buffer) => bytes;

/** The service as gRPC wants it described, and what serves it. */
function served(
  prefix: string,
  service: keyof typeof tables,
  { answer, runtime }: Behind,
): Parameters<Server['addService']> {
  const definitions: Record<string, object> = {};
  const handlers: Record<string, unknown> = {};
  const { methods, wire } = tables[service];
  for (const [method, { request, response, streams = false }] of Object.entries(methods)) {
    definitions[method] = {
      path: `/${prefix}/${method}`,
      requestStream: false,
      responseStream: streams,
      requestSerialize: identity,
      requestDeserialize: (bytes: Buffer) => decodeMessage(wire, request, bytes),
      responseSerialize: (message: object) => encodeMessage(wire, response, message as never),
      responseDeserialize: identity,
    };
    handlers[method] = streams
      ? (call: ServerWritableStream<unknown, unknown>) => streamEvents(call, method as CriMethod, { answer, runtime })
      : (call: ServerUnaryCall<unknown, unknown>, reply: (error: object | null, value?: unknown) => void) =>
          answer(method as CriMethod, call.request).then(
            (value) => reply(null, value),
            (error) => reply(grpcError(error)),
          );
  }
  return [definitions as never, handlers as never];
}

/** `GetContainerEvents`, as long as its script, if any, resolves; there is no other stream here. */
async function streamEvents(
  call: ServerWritableStream<unknown, unknown>,
  method: CriMethod,
  { answer, runtime }: Behind,
): Promise<void> {
  const stop = new AbortController();
  call.on('cancelled', () => stop.abort(new Error('cancelled')));
  try {
    await answer(method, call.request);
    for await (const event of runtime.containerEvents({ signal: stop.signal })) call.write(containerEvent(event));
    call.end();
  } catch (error) {
    if (!stop.signal.aborted) call.emit('error', grpcError(error));
  }
}

function grpcError(error: unknown): object {
  const { code, message } = error instanceof RuntimeError ? error : new RuntimeError('unknown', String(error));
  return { code: codes[code], details: message.replace(/^rpc error: code = \w+ desc = /, '') };
}

/**
 * A container runtime behind a real unix socket: gRPC as a node's runtime speaks it, over a simulated runtime that runs nothing. A test
 * scripts single methods: to fail, to hang, to be unknown, or to answer what a newer or stranger runtime would. It serves the versions
 * of the interface that it is told to, and either service alone.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { GrpcError, type GrpcServer, grpcCodes, grpcServer } from '../base/grpc/index.ts';
import { seededRandom } from '../base/random.ts';
import type { GrpcService } from '../kubelet/grpc/codec.ts';
import { type GrpcHandlers, handleTable } from '../kubelet/grpc/table-handlers.ts';
import type { CriVersion } from '../kubelet/runtime/cri/connection.ts';
import { imageService, runtimeService } from '../kubelet/runtime/cri/gen/cri-v1.ts';
import { RuntimeError, type RuntimeErrorCode } from '../kubelet/runtime/runtime.ts';
import { SimulatedRuntime } from '../kubelet/runtime/simulated/simulated-runtime.ts';
import type { CriAnswer, CriMethod, CriMethods } from './cri-methods.ts';
import { containerEvent, simulatedAnswers } from './simulated-cri.ts';

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
  let server: GrpcServer | undefined;
  const listen = async ({ versions = ['v1'], services = ['RuntimeService', 'ImageService'] }: CriServerOptions) => {
    server = await grpcServer();
    for (const version of versions)
      for (const service of services) {
        const table = {
          ...tables[service],
          name: `runtime.${version}.${service}`,
        } as unknown as GrpcService<CriMethods>;
        handleTable(server, table, handlersOf(table, { answer, runtime }));
      }
    await server.listen(endpoint);
  };
  await listen(options);
  return {
    endpoint,
    calls,
    script: (method, chosen) => void (chosen ? scripts.set(method, chosen as UntypedAnswer) : scripts.delete(method)),
    crash: () => server?.close(),
    restart: (changed) => listen({ ...options, ...changed }),
    async stop() {
      server?.close();
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

/** Every method of the service. */
function handlersOf({ methods }: GrpcService<unknown>, { answer, runtime }: Behind): GrpcHandlers<CriMethods> {
  const handlers = Object.entries<{ readonly streams?: true }>(methods).map(([name, { streams }]) => {
    const method = name as CriMethod;
    const handler = streams
      ? (request: unknown, signal: AbortSignal) => containerEvents(answer(method, request), runtime, signal)
      : (request: unknown) => answer(method, request).catch(refuse);
    return [name, handler];
  });
  return Object.fromEntries(handlers) as GrpcHandlers<CriMethods>;
}

/** `GetContainerEvents`, as long as its script, if any, resolves; there is no other stream here. */
async function* containerEvents(answer: Promise<unknown>, runtime: SimulatedRuntime, signal: AbortSignal) {
  await answer.catch(refuse);
  for await (const event of runtime.containerEvents({ signal })) yield containerEvent(event);
}

function refuse(error: unknown): never {
  const { code, message } = error instanceof RuntimeError ? error : new RuntimeError('unknown', String(error));
  throw new GrpcError(grpcCodes[code], message.replace(/^rpc error: code = \w+ desc = /, ''));
}

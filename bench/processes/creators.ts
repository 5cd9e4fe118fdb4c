/**
 * Clients that create objects, each on a connection of its own and one request at a time: the next is sent when the answer to the last
 * has arrived whole.
 */
import type { ClientHttp2Session } from 'node:http2';
import { answer } from '../parts/child.ts';
import { type Access, ask, closeSession, openSession } from '../parts/https-client.ts';
import { configMap, namespace, pod } from '../parts/objects.ts';

export interface OpenClients {
  readonly kind: 'open';
  readonly access: Access;
  readonly clients: number;
  /** Fewer than clients: several share one. Default: one each. */
  readonly connections?: number;
}

export interface CreateObjects {
  readonly kind: 'create';
  readonly resource: 'configmaps' | 'pods';
  /** Names begin with it. */
  readonly prefix: string;
  readonly seconds?: number;
  readonly count?: number;
  readonly nodeName?: string;
}

export interface Created {
  readonly created: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

let sessions: ClientHttp2Session[] = [];
let clients = 0;

answer({
  async open(request: OpenClients): Promise<void> {
    clients = request.clients;
    const connections = request.connections ?? clients;
    sessions = await Promise.all(Array.from({ length: connections }, () => openSession(request.access)));
  },
  async create({ resource, prefix, seconds = Infinity, count = Infinity, nodeName }: CreateObjects): Promise<Created> {
    const path = `/api/v1/namespaces/${namespace}/${resource}`;
    const latenciesMs: number[] = [];
    const startMs = performance.now();
    const untilMs = startMs + seconds * 1000;
    let next = 0;
    await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        const session = sessions[client % sessions.length]!;
        while (next < count && performance.now() < untilMs) {
          const name = `${prefix}-${next++}`;
          const body = resource === 'pods' ? pod(name, nodeName) : configMap(name);
          const { status, totalMs } = await ask(session, path, { body });
          if (status !== 201) throw new Error(`creating ${resource} ${name} was answered with ${status}`);
          latenciesMs.push(totalMs);
        }
      }),
    );
    return { created: latenciesMs.length, seconds: (performance.now() - startMs) / 1000, latenciesMs };
  },
  async close(): Promise<void> {
    await Promise.all(sessions.map(closeSession));
    sessions = [];
  },
});

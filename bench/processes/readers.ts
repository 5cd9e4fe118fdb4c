/** Clients that read: one that lists, one that asks for something small all the time and notices when it has to wait. */
import type { ClientHttp2Session } from 'node:http2';
import { answer } from '../parts/child.ts';
import { type Access, type Answer, ask, openSession } from '../parts/https-client.ts';

export interface OpenReader {
  readonly kind: 'open';
  readonly access: Access;
}

export interface ListOnce {
  readonly kind: 'list';
  readonly path: string;
  readonly accept?: string;
}

/** Asks until `stop`, one request after the other. */
export interface BeginProbing {
  readonly kind: 'probe';
  readonly path: string;
}

export interface Probed {
  /** Each answer's time, in milliseconds. */
  readonly latenciesMs: readonly number[];
}

let session: ClientHttp2Session;
let probing: { stopped: boolean; readonly done: Promise<number[]> } | undefined;

answer({
  async open({ access }: OpenReader): Promise<void> {
    session = await openSession(access);
  },
  async list({ path, accept }: ListOnce): Promise<Answer> {
    return ask(session, path, accept === undefined ? {} : { headers: { accept } });
  },
  probe({ path }: BeginProbing): void {
    const state = { stopped: false, done: Promise.resolve<number[]>([]) };
    const run = async () => {
      const latenciesMs: number[] = [];
      while (!state.stopped) {
        latenciesMs.push((await ask(session, path)).totalMs);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return latenciesMs;
    };
    state.done = run();
    probing = state;
  },
  async stop(): Promise<Probed> {
    if (!probing) return { latenciesMs: [] };
    probing.stopped = true;
    return { latenciesMs: await probing.done };
  },
});

/** Clients that change objects over and over: each has a few ConfigMaps of its own and writes into one after the other. */
import { answer } from '../parts/child.ts';
import { type Access, ask, openSession } from '../parts/https-client.ts';
import { namespace } from '../parts/objects.ts';

export interface PrepareObjects {
  readonly kind: 'prepare';
  readonly access: Access;
  readonly clients: number;
  readonly objectsPerClient: number;
  /** In each. */
  readonly textBytes: number;
}

export interface UpdateObjects {
  readonly kind: 'update';
  readonly seconds: number;
}

export interface Updated {
  readonly updates: number;
  readonly seconds: number;
}

let sessions: Awaited<ReturnType<typeof openSession>>[] = [];
let objectsPerClient = 0;
/** Never the same twice, for an update that changes nothing is no event. */
let turn = 0;
const path = `/api/v1/namespaces/${namespace}/configmaps`;

answer({
  async prepare(request: PrepareObjects): Promise<void> {
    objectsPerClient = request.objectsPerClient;
    sessions = await Promise.all(Array.from({ length: request.clients }, () => openSession(request.access)));
    const data = { turn: '0', text: 'x'.repeat(request.textBytes) };
    await Promise.all(
      sessions.map(async (session, client) => {
        for (let index = 0; index < objectsPerClient; index++) {
          const body = JSON.stringify({ metadata: { name: `w-${client}-${index}` }, data });
          const { status } = await ask(session, path, { body });
          if (status !== 201) throw new Error(`creating a ConfigMap was answered with ${status}`);
        }
      }),
    );
  },
  async update({ seconds }: UpdateObjects): Promise<Updated> {
    const startMs = performance.now();
    let updates = 0;
    await Promise.all(
      sessions.map(async (session, client) => {
        for (let index = 0; performance.now() - startMs < seconds * 1000; index++) {
          const name = `w-${client}-${index % objectsPerClient}`;
          const body = JSON.stringify({ data: { turn: String(++turn) } });
          const options = { method: 'PATCH', body, contentType: 'application/merge-patch+json' };
          const { status } = await ask(session, `${path}/${name}`, options);
          if (status !== 200) throw new Error(`changing ${name} was answered with ${status}`);
          updates++;
        }
      }),
    );
    return { updates, seconds: (performance.now() - startMs) / 1000 };
  },
});

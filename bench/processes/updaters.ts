/** Clients that change objects over and over: each has a few Pods of its own and sets one label of one after the other. */
import { answer } from '../parts/child.ts';
import { type Access, ask, openSession } from '../parts/https-client.ts';
import { namespace, pod } from '../parts/objects.ts';

export interface PreparePods {
  readonly kind: 'prepare';
  readonly access: Access;
  readonly clients: number;
  readonly podsPerClient: number;
}

export interface UpdatePods {
  readonly kind: 'update';
  readonly seconds: number;
}

export interface Updated {
  readonly updates: number;
  readonly seconds: number;
}

let sessions: Awaited<ReturnType<typeof openSession>>[] = [];
let podsPerClient = 0;
const path = `/api/v1/namespaces/${namespace}/pods`;

answer({
  async prepare(request: PreparePods): Promise<void> {
    podsPerClient = request.podsPerClient;
    sessions = await Promise.all(Array.from({ length: request.clients }, () => openSession(request.access)));
    await Promise.all(
      sessions.map(async (session, client) => {
        for (let index = 0; index < podsPerClient; index++) {
          const { status } = await ask(session, path, { body: pod(`w-${client}-${index}`) });
          if (status !== 201) throw new Error(`creating a Pod was answered with ${status}`);
        }
      }),
    );
  },
  async update({ seconds }: UpdatePods): Promise<Updated> {
    const startMs = performance.now();
    let updates = 0;
    await Promise.all(
      sessions.map(async (session, client) => {
        for (let index = 0; performance.now() - startMs < seconds * 1000; index++) {
          const name = `w-${client}-${index % podsPerClient}`;
          const body = JSON.stringify({ metadata: { labels: { turn: String(updates) } } });
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

/** Clients that mean no good, or know no better: each attack goes on until it is stopped, and tells how often it struck. */
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { answer } from '../parts/child.ts';
import { type Access, ask, openSession } from '../parts/https-client.ts';

export interface OpenAttackers {
  readonly kind: 'open';
  /** Without a client certificate. */
  readonly access: Access;
  readonly token: string;
}

export interface BeginAttack {
  readonly kind: 'attack';
  readonly name: AttackName;
}

export interface Struck {
  readonly strikes: number;
  /** How answers ended, by status. */
  readonly answers: Readonly<Record<string, number>>;
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const limitBytes = 3 * 1024 * 1024 - 1024;
const watches = 10_000;

let access: Access;
let token: string;
let state: { stopped: boolean; strikes: number; answers: Record<string, number>; sessions: ClientHttp2Session[] };
let running: Promise<unknown> = Promise.resolve();

const authorized = () => ({ authorization: `Bearer ${token}` });
const padded = (length: number) => 'x'.repeat(length);

async function open(): Promise<ClientHttp2Session> {
  const session = await openSession(access);
  session.on('close', () => state.sessions.splice(state.sessions.indexOf(session), 1));
  state.sessions.push(session);
  return session;
}

/** So many clients do the same again and again, each on a connection of its own, which is opened anew when the server ends it. */
async function crowd(clients: number, strike: (session: ClientHttp2Session) => Promise<number>): Promise<void> {
  await Promise.all(
    Array.from({ length: clients }, async () => {
      let session: ClientHttp2Session | undefined;
      while (!state.stopped) {
        try {
          session = session && !session.destroyed && !session.closed ? session : await open();
          const status = await Promise.race([strike(session), pause(5000).then(() => 0)]);
          state.answers[status] = (state.answers[status] ?? 0) + 1;
          state.strikes++;
        } catch {
          await pause(20);
        }
      }
    }),
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function post(body: string, contentType: string): (session: ClientHttp2Session) => Promise<number> {
  return async (session) =>
    (await ask(session, `${configMaps}?dryRun=All`, { body, contentType, headers: authorized() })).status;
}

function get(path: string): (session: ClientHttp2Session) => Promise<number> {
  return async (session) => (await ask(session, path, { headers: authorized() })).status;
}

/** Streams that are begun and neither read nor ended. */
function hold(session: ClientHttp2Session, count: number, headers: Record<string, string>, read: boolean): void {
  for (let i = 0; i < count; i++) {
    const stream: ClientHttp2Stream = session.request(
      { ...authorized(), ...headers },
      { endStream: headers[':method'] !== 'POST' },
    );
    stream.on('error', () => {});
    if (read) stream.resume();
    state.strikes++;
  }
}

async function holding(sessions: number, each: (session: ClientHttp2Session) => void): Promise<void> {
  for (let i = 0; i < sessions && !state.stopped; i++) {
    each(await open());
    await pause(10);
  }
  while (!state.stopped) await pause(50);
}

const metadata = '"metadata":{"name":"hostile","namespace":"default"}';
const laughs = [
  'a: &a [x,x,x,x,x,x,x,x,x]',
  ...[...'bcdefghi'].map((name, index) => {
    const below = `*${'abcdefgh'[index]}`;
    return `${name}: &${name} [${Array.from({ length: 9 }, () => below).join(',')}]`;
  }),
].join('\n');

const attacks = {
  /** Bodies as long as they may be. */
  'huge JSON': () => crowd(8, post(`{${metadata},"data":{"x":"${padded(limitBytes)}"}}`, 'application/json')),
  'huge YAML': () => {
    const lines = Array.from({ length: 120_000 }, (_, index) => `  key-${index}: v-${index}\n`).join('');
    return crowd(8, post(`metadata:\n  name: hostile\ndata:\n${lines}`.slice(0, limitBytes), 'application/yaml'));
  },
  'a billion laughs': () => crowd(8, post(`metadata:\n  name: hostile\n${laughs}\n`, 'application/yaml')),
  'deep JSON': () => crowd(8, post(`{${metadata},"data":${'['.repeat(limitBytes / 2)}`, 'application/json')),
  'many keys': () => {
    const keys = Array.from({ length: 150_000 }, (_, index) => `"k${index}":"v"`).join(',');
    return crowd(4, post(`{${metadata},"data":{${keys}}}`, 'application/json'));
  },
  'bodies that never end': () =>
    holding(20, (session) =>
      hold(session, 100, { ':method': 'POST', ':path': configMaps, 'content-type': 'application/json' }, true),
    ),
  'lists nobody reads': () =>
    holding(20, (session) => {
      // With a window like anybody's: else the server could send everything and be done.
      session.settings({ initialWindowSize: 65_535 });
      hold(session, 20, { ':path': '/api/v1/pods' }, false);
    }),
  '10,000 watches': () =>
    holding(watches / 500, (session) => hold(session, 500, { ':path': `${configMaps}?watch=1` }, true)),
  'big lists': () => crowd(16, get('/api/v1/pods?labelSelector=app%21%3Dnone')),
  'long selectors': () => {
    const terms = Array.from({ length: 2000 }, (_, index) => `k${index}+notin+(a,b,c)`).join(',');
    return crowd(8, get(`/api/v1/pods?labelSelector=${terms}`));
  },
  'many headers': () => {
    const headers = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`x-header-${index}`, padded(900)]));
    return crowd(8, async (session) => (await ask(session, '/version', { headers })).status);
  },
  'rapid reset': () =>
    crowd(4, async (session) => {
      for (let i = 0; i < 200; i++) {
        const stream = session.request({ ':path': '/api/v1/pods', ...authorized() }).on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      await pause(1);
      return 0;
    }),
  'settings flood': () =>
    crowd(4, async (session) => {
      for (let i = 0; i < 100; i++) session.settings({ initialWindowSize: 65_535 + (i % 2) });
      await pause(1);
      return 0;
    }),
  'ping flood': () =>
    crowd(4, async (session) => {
      for (let i = 0; i < 100; i++) session.ping(() => {});
      await pause(1);
      return 0;
    }),
  strangers: () => crowd(16, async (session) => (await ask(session, '/api/v1/pods')).status),
} as const satisfies Readonly<Record<string, () => Promise<void>>>;

export type AttackName = keyof typeof attacks;
export const attackNames = Object.keys(attacks) as readonly AttackName[];

if (process.send) {
  answer({
    open(request: OpenAttackers): void {
      ({ access, token } = request);
    },
    attack({ name }: BeginAttack): void {
      state = { stopped: false, strikes: 0, answers: {}, sessions: [] };
      running = attacks[name]().catch(() => {});
    },
    async stop(): Promise<Struck> {
      state.stopped = true;
      for (const session of [...state.sessions]) session.destroy();
      await Promise.race([running, pause(2000)]);
      const { strikes, answers } = state;
      return { strikes, answers };
    },
  });
}

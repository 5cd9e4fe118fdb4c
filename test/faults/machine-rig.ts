/**
 * One API server over its embedded store, alone on a machine of its own whose power is cut: a guest (`test/guest/guest.ts`) without systemd, on a
 * disk that then forgets what was not flushed. The clients are outside of it, and remember what they were told.
 */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { systemRandom } from '../../src/base/random.ts';
import { freePorts } from '../../src/storage/etcd/process.fixture.ts';
import { commonFlags, makeKeys } from '../etcd/servers.fixture.ts';
import { type Guest, startGuest, write } from '../guest/guest.ts';
import { awhile, type Fault, pause, type Rig, serverPort } from './rig.ts';

const source = '/opt/coracle';
const folder = '/var/lib/coracle';

export interface MachineOptions {
  /** A build whose store forgets to sync, which must not pass. */
  readonly withoutSync?: boolean;
}

export async function machineRig({ withoutSync = false }: MachineOptions = {}): Promise<Rig> {
  const [port] = (await freePorts(1)) as [number];
  const { authority, admin, files } = makeKeys(['127.0.0.1']);
  const keys = Object.fromEntries(Object.entries(files).map(([name, text]) => [`keys/${name}`, text]));
  const breaking = stripTypeScriptTypes(readFileSync(join(import.meta.dirname, 'without-sync.ts'), 'utf8'));
  const guest = await startGuest({
    isBare: true,
    memoryMebibytes: 1024,
    ports: { [port]: serverPort },
    volatile: systemRandom,
    files: { ...keys, 'without-sync.js': breaking },
  });
  const server = new Server(guest, withoutSync);
  try {
    // What Node.js has compiled it keeps when it ends in order: the first start is the slow one.
    await server.start();
    await server.end();
    await server.start();
  } catch (error) {
    await guest.stop();
    throw error;
  }
  const powerCut: Fault = {
    name: 'power cut',
    async strike(random) {
      await pause(random, awhile);
      await guest.cut();
      await guest.boot();
      await server.start();
    },
  };
  return {
    servers: [`https://127.0.0.1:${port}`],
    tls: { ca: authority.certificatePem, cert: admin.certificatePem, key: admin.keyPem },
    enter: [],
    faults: [powerCut],
    stop: () => guest.stop(),
  };
}

class Server {
  readonly #guest: Guest;
  readonly #words: readonly string[];

  constructor(guest: Guest, withoutSync: boolean) {
    this.#guest = guest;
    this.#words = [
      `${source}/bin/node`,
      '--disable-warning=ExperimentalWarning',
      ...(withoutSync ? ['--import', `${source}/without-sync.js`] : []),
      `${source}/src/cli/main.js`,
      'kube-apiserver',
      ...commonFlags(`${source}/keys`),
      `--cert-dir=${folder}/certificates`,
      `--data-dir=${folder}/data`,
      `--secure-port=${serverPort}`,
      '--bind-address=0.0.0.0',
      '--advertise-address=10.0.2.15',
    ];
  }

  /** Resolves when it serves; a server that ends by itself is started again, as a supervisor does. */
  async start(): Promise<void> {
    const forever = [
      'until [ -e /run/stop ]; do',
      `  ${this.#words.join(' ')} >>/run/server.log 2>&1 &`,
      '  echo $! >/run/server.pid',
      '  wait',
      'done',
    ];
    await this.#guest.run(
      [
        `mkdir -p ${folder}; rm -f /run/stop /run/server.log`,
        write('/run/server', forever.join('\n')),
        'export NODE_COMPILE_CACHE=/var/cache/node',
        'setsid bash /run/server >/dev/null 2>&1 &',
        `until grep -qs '"serving"' /run/server.log; do`,
        '  sleep 0.2',
        `  [ "$(grep -cs 'kube-apiserver starts' /run/server.log)" -le 5 ] || { cat /run/server.log; exit 1; }`,
        'done',
      ].join('\n'),
    );
  }

  async end(): Promise<void> {
    await this.#guest.run(
      'touch /run/stop; pid=$(cat /run/server.pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.2; done; sync',
    );
  }
}

/**
 * What faults strike: API servers over a durable store, each process in a network namespace of its own behind a router, where the clients
 * are too. Data lies on small file systems in memory that can be filled up; what is killed there loses what a `kill -9` makes it lose, and
 * nothing else.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, systemClock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import type { TlsOptions } from '../../src/client/http-transport.ts';
import { type TestHost, type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { commonFlags, type HostProcess, hostProcess, writeKeys } from '../etcd/servers.fixture.ts';

/** What a field needs of the machine. */
export const fieldParts = ['root', 'nft', 'ip', 'nsenter', 'unshare'] as const;

/** Strikes and heals again; what it does and how long is drawn from the seed. */
export interface Fault {
  readonly name: string;
  strike(random: Random): Promise<void>;
}

export interface Rig {
  readonly servers: readonly string[];
  readonly tls: TlsOptions;
  /** Words that start a program where the clients are. */
  readonly enter: readonly string[];
  readonly faults: readonly Fault[];
  stop(): Promise<void>;
}

/** A process with its place in the network, what it may be started by, and its data. */
export interface Part extends Pick<HostProcess, 'start' | 'signal'> {
  readonly address: string;
  readonly disk?: Disk;
}

export interface Disk {
  readonly path: string;
  /** Takes all the room there is. */
  fill(): void;
  free(): void;
}

export interface RigPlan {
  readonly before?: readonly Part[];
  readonly servers: readonly Part[];
  readonly faults: readonly Fault[];
}

/** Where the router's own packets come from (`src/testing/network.ts`). */
const clientsAddress = '169.254.1.1';
export const serverPort = 6443;

export class Field implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'coracle-faults-'));
  readonly router: TestHost;
  readonly tls: TlsOptions;
  readonly #network: TestNetwork = testNetwork();
  readonly #parts: Part[] = [];
  readonly #mounts: string[] = [];

  constructor(serverAddresses: readonly string[]) {
    this.router = this.#network.host(['10.99.255.1/32']);
    this.router.run('nft', 'add table ip faults');
    this.router.run('nft', 'add set ip faults cut { type ipv4_addr . ipv4_addr; }');
    for (const hook of ['forward', 'input', 'output']) {
      this.router.run('nft', `add chain ip faults ${hook} { type filter hook ${hook} priority 0; }`);
      this.router.run('nft', `add rule ip faults ${hook} ip saddr . ip daddr @cut drop`);
    }
    const { authority, admin } = writeKeys(this.folder, serverAddresses);
    this.tls = { ca: authority.certificatePem, cert: admin.certificatePem, key: admin.keyPem };
  }

  host(address: string): TestHost {
    return this.#network.pod(this.router, address);
  }

  disk(name: string, mebibytes: number): Disk {
    const path = join(this.folder, name);
    mkdirSync(path);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]);
    this.#mounts.push(path);
    const ballast = join(path, 'ballast');
    return {
      path,
      fill() {
        // The owner may take some of the room meanwhile, so: as much as there is.
        execFileSync('sh', ['-c', 'cat /dev/zero > "$0" || true', ballast], { stdio: 'ignore' });
      },
      free: () => rmSync(ballast, { force: true }),
    };
  }

  /** An API server that can be told to let its clock jump. */
  apiServer(name: string, address: string, words: readonly string[], disk?: Disk): Part {
    const own = [`--secure-port=${serverPort}`, '--bind-address=0.0.0.0', `--advertise-address=${address}`];
    const running = hostProcess({
      hostname: name,
      started: '"serving"',
      within: within(this.host(address)),
      nodeFlags: ['--disable-warning=ExperimentalWarning', '--import', join(import.meta.dirname, 'clock-steps.ts')],
      words: ['kube-apiserver', ...commonFlags(this.folder), `--cert-dir=${join(this.folder, name)}`, ...own, ...words],
    });
    return this.part({ ...running, address, ...(disk && { disk }) });
  }

  part<P extends Part>(part: P): P {
    this.#parts.push(part);
    return part;
  }

  /** Packets between any of the one side and any of the other are lost while `during` runs. */
  async cut(some: readonly string[], others: readonly string[], during: () => Promise<void>): Promise<void> {
    const pairs = some.flatMap((a) => others.flatMap((b) => [`${a} . ${b}`, `${b} . ${a}`])).join(', ');
    this.router.run('nft', `add element ip faults cut { ${pairs} }`);
    try {
      await during();
    } finally {
      this.router.run('nft', `delete element ip faults cut { ${pairs} }`);
    }
  }

  /** The rig of what stands here, once all of it runs; `before`: what the servers need. */
  async rig({ before = [], servers, faults }: RigPlan): Promise<Rig> {
    try {
      for (const parts of [before, servers]) await Promise.all(parts.map((part) => part.start()));
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
    return {
      servers: servers.map(({ address }) => `https://${address}:${serverPort}`),
      tls: this.tls,
      enter: within(this.router),
      faults,
      stop: () => this[Symbol.asyncDispose](),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts) await part.signal('SIGKILL');
    this.#network.close();
    for (const path of this.#mounts) execFileSync('umount', ['-l', path]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function within({ namespace }: TestHost): string[] {
  return ['nsenter', `--net=/run/netns/${namespace}`];
}

export function pause(random: Random, { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }) {
  return sleep(systemClock, fromMs + random.next() * (toMs - fromMs));
}

export function oneOf<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random.next() * choices.length)]!;
}

/** How long things stay ill. */
export const awhile = { fromMs: 100, toMs: 2000 };

/** The faults of any process. */
export const killed = (name: string, parts: readonly Part[]): Fault => ({
  name,
  async strike(random) {
    const part = oneOf(random, parts);
    await part.signal('SIGKILL');
    await part.start();
  },
});

export const killedTimeAndAgain = (name: string, parts: readonly Part[]): Fault => ({
  name,
  async strike(random) {
    const part = oneOf(random, parts);
    for (let i = 0; i < 3; i++) {
      await part.signal('SIGKILL');
      part.start().catch(() => {});
      await pause(random, { fromMs: 0, toMs: 1500 });
    }
    await part.signal('SIGKILL');
    await part.start();
  },
});

export const frozen = (name: string, parts: readonly Part[]): Fault => ({
  name,
  async strike(random) {
    const part = oneOf(random, parts);
    await part.signal('SIGSTOP');
    await pause(random, awhile);
    await part.signal('SIGCONT');
  },
});

export const endedInOrder = (name: string, parts: readonly Part[]): Fault => ({
  name,
  async strike(random) {
    const part = oneOf(random, parts);
    await part.signal('SIGTERM');
    await part.start();
  },
});

/** What cannot write may end by itself; it starts again when there is room. */
export const killedOnFullDisk = (name: string, parts: readonly Part[]): Fault => ({
  name,
  async strike(random) {
    const part = oneOf(random, parts);
    part.disk!.fill();
    await pause(random, awhile);
    await part.signal('SIGKILL');
    part.disk!.free();
    await part.start();
  },
});

export const cutFromClients = (field: Field, servers: readonly Part[]): Fault => ({
  name: 'server cut off from clients',
  strike: (random) => field.cut([oneOf(random, servers).address], [clientsAddress], () => pause(random, awhile)),
});

export const clockStepped = (name: string, parts: readonly Part[]): Fault => ({
  name,
  async strike(random) {
    const part = oneOf(random, parts);
    await part.signal('SIGUSR2');
    await pause(random, awhile);
  },
});

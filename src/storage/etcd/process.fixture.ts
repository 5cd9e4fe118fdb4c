/** A real etcd for tests: one or several members on free ports of the loopback, with their data in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface EtcdOptions {
  readonly members?: number;
  /** Further flags of each member. */
  readonly flags?: readonly string[];
  /** Of the addresses that clients use. Default `http`. */
  readonly scheme?: 'http' | 'https';
  /** Default: the one in the path. Several: one for each member. */
  readonly binary?: string | readonly string[];
}

export interface EtcdMember {
  readonly endpoint: string;
  start(): Promise<void>;
  /** Sends a signal; resolves, but for SIGSTOP and SIGCONT, when the process has gone. */
  signal(signal: NodeJS.Signals): Promise<void>;
}

export interface Etcd {
  readonly members: readonly EtcdMember[];
  readonly endpoints: readonly string[];
  /** Ends all members and takes their data away. */
  stop(): Promise<void>;
}

/** An etcd whose word on the progress of watches can be believed, fetched by `scripts/install-test-tools.sh`. */
export const laterEtcd = resolve(import.meta.dirname, '../../../.cache/tools/etcd-later');

/** Somebody else may take a port that was free, until etcd listens: then with others. */
export async function startEtcd(options: EtcdOptions = {}, attemptsLeft = 3): Promise<Etcd> {
  const etcd = await prepare(options);
  try {
    await Promise.all(etcd.members.map((member) => member.start()));
    return etcd;
  } catch (error) {
    await etcd.stop();
    if (attemptsLeft <= 1 || !/address already in use/.test(String(error))) throw error;
    return startEtcd(options, attemptsLeft - 1);
  }
}

async function prepare(options: EtcdOptions): Promise<Etcd> {
  const { members: count = 1, flags = [], scheme = 'http', binary = 'etcd' } = options;
  const folder = mkdtempSync(join(tmpdir(), 'coracle-etcd-'));
  const ports = await freePorts(count * 2);
  const addresses = Array.from({ length: count }, (_, i) => ({
    name: `m${i}`,
    client: `${scheme}://127.0.0.1:${ports[2 * i]}`,
    peer: `http://127.0.0.1:${ports[2 * i + 1]}`,
  }));
  const cluster = addresses.map(({ name, peer }) => `${name}=${peer}`).join(',');
  const binaries = addresses.map((_, i) => (typeof binary === 'string' ? binary : (binary[i] ?? 'etcd')));
  const members = addresses.map(({ name, client, peer }, i) => {
    const own = ['--name', name, '--data-dir', join(folder, name)];
    const listening = ['--listen-client-urls', client, '--advertise-client-urls', client];
    const peers = ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', cluster];
    // Large values belong to the contract; short elections keep the tests short.
    const limits = ['--max-request-bytes', '8388608', '--heartbeat-interval', '50', '--election-timeout', '500'];
    return memberOf(client, [binaries[i]!, ...own, ...listening, ...peers, ...limits, '--logger', 'zap', ...flags]);
  });
  return {
    members,
    endpoints: members.map(({ endpoint }) => endpoint),
    async stop() {
      await Promise.all(members.map((member) => member.signal('SIGKILL')));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `command`: the program that becomes the member, and its words. */
export function memberOf(endpoint: string, command: readonly [string, ...string[]]): EtcdMember {
  const [program, ...words] = command;
  let running: ChildProcess | undefined;
  return {
    endpoint,
    async start() {
      const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'] });
      running = child;
      await new Promise<void>((resolve, reject) => {
        let text = '';
        child.on('error', reject);
        child.on('exit', (code) => reject(new Error(`etcd ended with ${code}:\n${text.slice(-2000)}`)));
        child.stderr.setEncoding('utf8');
        child.stderr.on('data', (chunk: string) => {
          text = `${text}${chunk}`.slice(-20_000);
          if (text.includes('serving client traffic')) resolve();
        });
      });
      child.removeAllListeners('exit');
    },
    async signal(signal) {
      const child = running;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await once(child, 'exit');
    },
  };
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

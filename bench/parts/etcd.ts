/** A single etcd of the machine's own, on loopback and a folder of ours, as a rival in the same run. */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';

export interface Etcd {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Undefined where etcd is not installed. */
export async function startEtcd(directory: string): Promise<Etcd | undefined> {
  const [clientPort, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const child = spawn(
    'etcd',
    [
      ...['--data-dir', directory, '--name', 'bench', '--log-level', 'error'],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `bench=${peer}`],
    ],
    { stdio: 'ignore' },
  );
  const started = await Promise.race([
    new Promise<false>((resolve) => child.once('error', () => resolve(false))),
    serving(clientPort).then(() => true as const),
  ]);
  if (!started) return undefined;
  return { url, pid: child.pid!, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function serving(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (open) {
      // It listens a moment before it has a leader.
      await sleep(1000);
      return;
    }
    await sleep(50);
  }
  throw new Error('etcd does not serve');
}

/** Runs `./coracle` as a user does, on a data directory of the test's own, and takes everything away again. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../src/testing/eventually.ts';

const root = resolve(import.meta.dirname, '../..');
export const launcher = join(root, 'coracle');

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  /** Default: the repository's launcher. */
  readonly command?: string;
  readonly input?: string;
}

export function coracle(words: readonly string[], options: RunOptions = {}): Outcome {
  const { env, uid, input, command = launcher } = options;
  const { status, stdout, stderr } = spawnSync(command, [...words], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, ...env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
    ...(input === undefined ? {} : { input }),
  });
  return { status, stdout, stderr };
}

export class TestCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'coracle-cli-'));
  readonly data = join(this.folder, 'data');
  readonly port: number;

  readonly #command: string;

  private constructor(port: number, command: string) {
    this.port = port;
    this.#command = command;
  }

  static async create(command: string = launcher): Promise<TestCluster> {
    return new TestCluster(await freePort(), command);
  }

  get listen(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Detached, simulated. */
  up(...words: string[]): Outcome {
    return this.coracle('up', '--detach', '--runtime', 'simulated', '--listen', this.listen, ...words);
  }

  /** In the foreground; `waitFor` resolves when the output has that text. */
  foreground(...words: string[]): { readonly child: ChildProcess; waitFor(text: string): Promise<void> } {
    const all = ['up', '--runtime', 'simulated', '--listen', this.listen, ...words, '--data-dir', this.data];
    const child = spawn(this.#command, all, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    const listeners = new Set<() => void>();
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const listener of listeners) listener();
    });
    const waitFor = (text: string) =>
      new Promise<void>((found, reject) => {
        const look = () => {
          if (!output.includes(text)) return;
          listeners.delete(look);
          found();
        };
        listeners.add(look);
        child.once('exit', () => reject(new Error(`ended without saying ${text}: ${output}`)));
        look();
      });
    return { child, waitFor };
  }

  coracle(...words: string[]): Outcome {
    return coracle([...words, '--data-dir', this.data], { command: this.#command });
  }

  kubectl(...words: string[]): string {
    const { status, stdout, stderr } = spawnSync('kubectl', words, {
      encoding: 'utf8',
      timeout: 30_000,
      env: { ...process.env, KUBECONFIG: join(this.data, 'kubeconfig') },
    });
    if (status !== 0) throw new Error(`kubectl ${words.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  pid(name: 'control-plane' | 'node'): number {
    return Number(readFileSync(join(this.data, 'run', `${name}.pid`), 'utf8').split(' ')[0]);
  }

  /** As a crash ends it. */
  async crash(name: 'control-plane' | 'node'): Promise<void> {
    const pid = this.pid(name);
    process.kill(pid, 'SIGKILL');
    await eventually(() => !isAlive(pid));
  }

  remove(): void {
    this.coracle('down', '--purge');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

/**
 * Shutdowns as logind announces and delays them. The lock is held by a `systemd-inhibit` child, since Node.js cannot receive the
 * descriptor that logind would hand out; the child ends with this process, whatever ends it.
 */
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { ShutdownSource } from '../host.ts';
import { DbusConnection } from './dbus-connection.ts';

const logind = {
  destination: 'org.freedesktop.login1',
  path: '/org/freedesktop/login1',
  interface: 'org.freedesktop.login1.Manager',
};
const overrideDirectory = '/etc/systemd/logind.conf.d';
const overrideName = '99-kubelet.conf';
const reloadSteps = 5;
const firstReloadWaitMs = 100;
const hangup = 1;

export class LogindShutdown implements ShutdownSource {
  readonly #clock: Clock;
  #connection: Promise<DbusConnection> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async longestDelayMs(): Promise<number> {
    const connection = await this.#connect();
    return Number(await connection.property(logind, 'InhibitDelayMaxUSec')) / 1000;
  }

  async raiseLongestDelay(delayMs: number): Promise<void> {
    await mkdir(overrideDirectory, { recursive: true, mode: 0o755 });
    const text = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.round(delayMs / 1000)}\n`;
    await writeFile(join(overrideDirectory, overrideName), text, { mode: 0o644 });
    const connection = await this.#connect();
    await connection.call({
      destination: 'org.freedesktop.systemd1',
      path: '/org/freedesktop/systemd1',
      interface: 'org.freedesktop.systemd1.Manager',
      member: 'KillUnit',
      signature: 'ssi',
      body: ['systemd-logind.service', 'all', hangup],
    });
    // logind reads its files some time after the signal, and tells nobody when it has.
    let waitMs = firstReloadWaitMs;
    for (let step = 0; step < reloadSteps; step++, waitMs *= 2) {
      if ((await this.longestDelayMs()) >= delayMs) return;
      await sleep(this.#clock, waitMs);
    }
    const current = (await this.longestDelayMs()) / 1000;
    throw new Error(
      `node shutdown manager was timed out after ${reloadSteps} attempts waiting for logind InhibitDelayMaxSec to update to ${delayMs / 1000}s (ShutdownGracePeriod), current value is ${current}s`,
    );
  }

  delayShutdown(): Promise<() => void> {
    // It says so once the lock is held, and then waits for the end of its input: ours, or that of our pipe when we die.
    const why = 'Kubelet needs time to handle node shutdown';
    const words = [
      '--what=shutdown',
      '--who=kubelet',
      `--why=${why}`,
      '--mode=delay',
      'sh',
      '-c',
      'echo held; exec cat',
    ];
    const child = spawn('systemd-inhibit', words, { stdio: ['pipe', 'pipe', 'ignore'] });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) =>
        reject(new Error(`failed creating systemd inhibitor: systemd-inhibit ended with ${code}`)),
      );
      child.stdin.on('error', () => undefined);
      child.stdout.once('data', () => resolve(() => child.stdin.end()));
    });
  }

  async announcements(signal: AbortSignal): Promise<AsyncIterable<boolean>> {
    const connection = await this.#connect();
    const heard: boolean[] = [];
    let wake = () => {};
    const rule = `type='signal',interface='${logind.interface}',member='PrepareForShutdown',path='${logind.path}'`;
    await connection.subscribe(rule, ({ interface: name, member, body }) => {
      if (name !== logind.interface || member !== 'PrepareForShutdown') return;
      heard.push(body[0] === true);
      wake();
    });
    let isOver = false;
    const end = () => {
      isOver = true;
      wake();
    };
    signal.addEventListener('abort', () => connection.close(), { once: true });
    void connection.closed.then(end);
    return (async function* () {
      while (!isOver || heard.length > 0) {
        const next = heard.shift();
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else yield next;
      }
    })();
  }

  #connect(): Promise<DbusConnection> {
    this.#connection ??= DbusConnection.open().then(
      (connection) => {
        void connection.closed.then(() => (this.#connection = undefined));
        return connection;
      },
      (error) => {
        this.#connection = undefined;
        throw error;
      },
    );
    return this.#connection;
  }
}

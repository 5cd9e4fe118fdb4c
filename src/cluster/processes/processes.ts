/**
 * The long-running processes of a cluster, known by files in the data directory's `run` folder. A process is named by its id and its
 * start time, so that a reused id is never mistaken for ours; only processes that we started are ever signalled.
 *
 * The room: what every command that stays running does alike. It signals processes and writes their logs, and knows no component. Failures
 * and restarts within a process: `component-supervisor.ts`; what a person is told meanwhile: `progress.ts` and `step.ts`.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, sleep } from '../../base/clock.ts';
import { CommandError } from '../command-error.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot at which the process started: field 22 of /proc/PID/stat. */
  readonly startTicks: string;
}

/** The identity of a running process; undefined when there is none with that id, or only its remains. */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name stands in parentheses and may hold spaces and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : { pid, startTicks: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

/** Whether that very process still runs. */
export function isRunning(process: ProcessIdentity): boolean {
  return identify(process.pid)?.startTicks === process.startTicks;
}

export function recordProcess(folder: string, name: string, pid: number): void {
  const identity = identify(pid);
  if (!identity) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.pid`), `${identity.pid} ${identity.startTicks}\n`);
}

/** The recorded process, if it still runs. */
export function runningProcess(folder: string, name: string): ProcessIdentity | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, `${name}.pid`), 'utf8');
  } catch {
    return undefined;
  }
  const [pid, startTicks] = text.trim().split(' ');
  const identity = identify(Number(pid));
  return identity && identity.startTicks === startTicks ? identity : undefined;
}

export function forgetProcess(folder: string, name: string): void {
  rmSync(join(folder, `${name}.pid`), { force: true });
}

export interface DetachedCommand {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logFile: string;
}

/** Starts a process that outlives this one, in a session of its own, its output appended to `logFile`. */
export function startDetached(folder: string, name: string, what: DetachedCommand): ProcessIdentity {
  const log = openSync(what.logFile, 'a', 0o600);
  try {
    const child = spawn(what.command, [...what.arguments], {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...what.environment },
    });
    child.on('error', () => {});
    if (child.pid === undefined) throw new Error(`${what.command} could not be started`);
    recordProcess(folder, name, child.pid);
    child.unref();
    return identify(child.pid) ?? { pid: child.pid, startTicks: '' };
  } finally {
    closeSync(log);
  }
}

/** Asks the process to end, and makes it after `graceMs`. Resolves when it is gone. */
export async function stopProcess(clock: Clock, identity: ProcessIdentity, graceMs: number): Promise<void> {
  const alive = () => isRunning(identity);
  const signal = (name: NodeJS.Signals) => {
    try {
      if (alive()) process.kill(identity.pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPERM') return;
      throw new CommandError(
        `process ${identity.pid} belongs to another user.`,
        'Run the command as the user who started the cluster.',
      );
    }
  };
  signal('SIGTERM');
  const deadline = clock.monotonic() + graceMs;
  while (alive() && clock.monotonic() < deadline) await sleep(clock, 20);
  signal('SIGKILL');
  while (alive()) await sleep(clock, 20);
}

/** Resolves when the process is gone. The kernel has no event for a process that is not our child, hence the look every 200 ms. */
export async function processGone(clock: Clock, identity: ProcessIdentity, signal: AbortSignal): Promise<void> {
  while (isRunning(identity)) await sleep(clock, 200, signal);
}

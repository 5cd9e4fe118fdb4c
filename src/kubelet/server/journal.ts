/** The machine's journal, read by `journalctl`. */
import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Clock } from '../../base/clock.ts';

export interface Journal {
  /** Names of all units that have written something, one a line; empty where there is no journal. */
  units(signal: AbortSignal): Promise<string>;
  /** Output and complaints as they come. Rejects when there is no `journalctl`. */
  read(args: readonly string[], signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A query that finds little in much may take long. */
const longestQueryMs = 30_000;

export function systemJournal(clock: Clock, program = 'journalctl'): Journal {
  const start = (args: readonly string[], signal: AbortSignal) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const kill = () => child.kill('SIGKILL');
    const timer = clock.after(longestQueryMs, kill);
    signal.addEventListener('abort', kill, { once: true });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    }).finally(() => {
      timer.cancel();
      signal.removeEventListener('abort', kill);
    });
    return { child, ended };
  };
  return {
    async units(signal) {
      const { child, ended } = start(['--field', '_SYSTEMD_UNIT'], signal);
      child.stderr.resume();
      const [names, code] = await Promise.all([text(child.stdout), ended]).catch(() => ['', -1] as const);
      return code === 0 ? names : '';
    },
    async *read(args, signal) {
      const { child, ended } = start(args, signal);
      const both = new PassThrough();
      child.stdout.pipe(both, { end: false });
      child.stderr.pipe(both, { end: false });
      const over = ended.finally(() => both.end());
      try {
        yield* both as AsyncIterable<Uint8Array>;
        await over;
      } finally {
        over.catch(() => undefined);
        child.kill('SIGKILL');
      }
    },
  };
}

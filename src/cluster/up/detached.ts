/**
 * `--detach`: the same command again in a process of its own, whose progress is shown here until what it starts is ready. What it prints
 * from then on goes to the log.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../command-error.ts';
import { defaultDataDirectory, openDataDirectory } from '../data/data-directory.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { rotate } from '../processes/process-log.ts';
import { failureOf, type ProgressEvent, type Report } from '../processes/progress.ts';
import { type BackgroundCommand, backgroundOption } from './background-command.ts';

/** Resolves when it is ready; rejects as the command itself does. An aborted signal gives up. */
export async function startInBackground(
  { dataDir, logName, words: ownWords }: BackgroundCommand,
  { machine, report, signal }: { readonly machine: ThisMachine; readonly report: Report; readonly signal: AbortSignal },
): Promise<void> {
  const directory = openDataDirectory(dataDir ?? defaultDataDirectory(machine));
  const logFile = join(directory.run, `${logName}.log`);
  rotate(logFile);
  const log = openSync(logFile, 'a', 0o600);
  const [command = '', ...words] = machine.self;
  const child = spawn(command, [...words, ...ownWords, backgroundOption], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
    env: { ...machine.environment },
  });
  closeSync(log);
  const giveUp = () => child.kill('SIGINT');
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.on('message', (event: ProgressEvent) => {
        if (event.kind === 'failed') return reject(failureOf(event));
        report(event);
        if (event.kind === 'ready') resolve();
      });
      child.once('error', reject);
      child.once('exit', (code, name) =>
        reject(
          new CommandError(
            `the process in the background ended (${name ?? `status ${code}`}) before it was ready.`,
            `Its log is ${logFile}.`,
          ),
        ),
      );
    });
  } finally {
    signal.removeEventListener('abort', giveUp);
    if (child.connected) child.disconnect();
    child.unref();
  }
}

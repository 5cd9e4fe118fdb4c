/** Runs credential providers: programs of one folder that read a request from their input and print an answer. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Clock } from '../../base/clock.ts';
import type { RunProvider } from '../images/credential-providers.ts';

export interface ProviderProgramOptions {
  readonly directory: string;
  /** The kubelet's own; the provider's settings win. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** None may run for ever. */
const longestRunMs = 60_000;

export function providerPrograms({ directory, environment, clock }: ProviderProgramOptions): RunProvider {
  return async ({ name, args, environment: own }, input) => {
    const child = spawn(join(directory, name), args, { env: { ...environment, ...own }, stdio: 'pipe' });
    let isLate = false;
    const timer = clock.after(longestRunMs, () => {
      isLate = true;
      child.kill('SIGKILL');
    });
    const ended = new Promise<string | undefined>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => reject(new Error(`${error.code}: ${error.message}`)));
      child.once('close', (code, signal) => resolve(failureOf(code, signal)));
    });
    // A program that answers without reading its input is no error.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    try {
      const [output, complaint, failure] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
      if (isLate) throw new Error(`context deadline exceeded: ${complaint}`);
      if (failure !== undefined) throw new Error(`${failure}: ${complaint}`);
      return output;
    } finally {
      timer.cancel();
    }
  };
}

function failureOf(code: number | null, signal: NodeJS.Signals | null): string | undefined {
  if (signal) return `signal: ${signal}`;
  return code === 0 ? undefined : `exit status ${code}`;
}

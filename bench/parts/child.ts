/**
 * Programs of this folder in processes of their own, spoken to over Node.js' own channel: one message asks, one answers. Every child
 * ends with its `Child`, so that nothing of a measurement outlives it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Usage {
  /** Seconds of processor time since the process began. */
  readonly userSeconds: number;
  readonly systemSeconds: number;
}

export interface ChildOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Of Node.js. */
  readonly flags?: readonly string[];
}

type Answer = { readonly result: unknown } | { readonly error: string };

export class Child implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #ended: Promise<never>;
  #busy: Promise<unknown> = Promise.resolve();

  /** `program` is the name of a file in `bench/processes`. */
  constructor(program: string, options: ChildOptions = {}) {
    const path = join(import.meta.dirname, '..', 'processes', `${program}.ts`);
    this.#process = fork(path, [], {
      execArgv: ['--disable-warning=ExperimentalWarning', ...(options.flags ?? [])],
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    this.#ended = new Promise((_resolve, reject) => {
      this.#process.once('exit', (code, signal) => reject(new Error(`${program} ended with ${code ?? signal}`)));
      this.#process.once('error', reject);
    });
    this.#ended.catch(() => {});
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** Sends `request` and resolves with its answer; requests to one child are worked on one after the other. */
  ask<T>(request: unknown): Promise<T> {
    const answer = this.#busy.then(() => Promise.race([this.#ended, this.#ask<T>(request)]));
    this.#busy = answer.catch(() => {});
    return answer;
  }

  usage(): Usage {
    return usageOf(this.pid);
  }

  kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    const gone = this.#ended.then(
      () => {},
      () => {},
    );
    if (this.#process.exitCode === null && this.#process.signalCode === null) this.#process.kill(signal);
    return gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #ask<T>(request: unknown): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#process.once('message', (message) => {
        const answer = message as Answer;
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer.result as T);
      });
      this.#process.send(request as object, (error) => {
        if (error) reject(error);
      });
    });
  }
}

/** The other end of `Child.ask`, in the child: answers each message by its `kind`. Ends with its parent. */
export function answer(handlers: Readonly<Record<string, (request: never) => unknown>>): void {
  process.on('message', async (request: { readonly kind: string }) => {
    try {
      const handler = handlers[request.kind];
      if (!handler) throw new Error(`nothing answers ${request.kind}`);
      process.send!({ result: await handler(request as never) });
    } catch (error) {
      process.send!({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  // By way of `exit`, so that profiles and the compile cache are written.
  process.once('disconnect', () => process.exit());
  process.once('SIGTERM', () => process.exit());
}

const ticksPerSecond = 100;

/** Processor time of any process. */
export function usageOf(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { userSeconds: Number(fields[11]) / ticksPerSecond, systemSeconds: Number(fields[12]) / ticksPerSecond };
}

export interface Memory {
  /** Its own pages, and its share of those it has in common with others. */
  readonly pssMB: number;
  readonly ownMB: number;
  readonly sharedMB: number;
}

/** Memory of any process, in megabytes of 2^20 bytes. */
export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN) / 1024;
  return {
    pssMB: megabytes('Pss'),
    ownMB: megabytes('Private_Clean') + megabytes('Private_Dirty'),
    sharedMB: megabytes('Shared_Clean') + megabytes('Shared_Dirty'),
  };
}

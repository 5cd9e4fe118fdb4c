/**
 * Keeps the node's process running beside the control plane's: takes over the one that runs when it has the same task, starts it
 * otherwise, and starts it again when it dies. The process itself is nobody's child for long: it survives this one.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { CommandError } from '../command-error.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { rotate } from '../processes/process-log.ts';
import {
  forgetProcess,
  isRunning,
  type ProcessIdentity,
  processGone,
  runningProcess,
  startDetached,
  stopProcess,
} from '../processes/processes.ts';
import { type NodeConfig, writeNodeConfig } from './node-config.ts';

export interface NodeSupervisorOptions {
  readonly directory: DataDirectory;
  readonly machine: ThisMachine;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SupervisedNode {
  /** When the process was started; undefined: it was running already. */
  readonly startedMs: number | undefined;
  /** Rejects when the node says that it cannot run here, and what to do about it. */
  readonly failed: Promise<never>;
}

const processName = 'node';
/** A node allocates little: large young generations would only be memory that is never used again. */
const memoryFlags = ['--max-semi-space-size=1'];
const graceMs = 15_000;

export class NodeSupervisor {
  readonly #options: NodeSupervisorOptions;
  readonly #failure = Promise.withResolvers<never>();
  #process: ProcessIdentity | undefined;

  constructor(options: NodeSupervisorOptions) {
    this.#options = options;
    this.#failure.promise.catch(() => {});
  }

  start(config: NodeConfig): SupervisedNode {
    const { directory, clock } = this.#options;
    const changed = writeNodeConfig(directory, config);
    const running = runningProcess(directory.run, processName);
    if (running && !changed) {
      this.#process = running;
      return { startedMs: undefined, failed: this.#failure.promise };
    }
    const startedMs = clock.now();
    if (!running) this.#process = this.#launch();
    // One with an older task is replaced by `keepRunning`.
    return { startedMs, failed: this.#failure.promise };
  }

  /** Resolves never; rejects when the process has died, to be called again. */
  async keepRunning(signal: AbortSignal): Promise<never> {
    const { directory, clock } = this.#options;
    if (!this.#process) {
      const outdated = runningProcess(directory.run, processName);
      if (outdated) await stopProcess(clock, outdated, graceMs);
      signal.throwIfAborted();
    }
    if (!this.#process || !isRunning(this.#process)) {
      const failure = takeNodeFailure(directory);
      if (failure) this.#failure.reject(failure);
      this.#process = this.#launch();
    }
    await processGone(clock, this.#process, signal);
    const failure = takeNodeFailure(directory);
    if (failure) this.#failure.reject(failure);
    throw failure ?? new Error(`the node's process ended; its log is ${join(directory.run, 'node.log')}`);
  }

  async stop(): Promise<void> {
    const { directory, clock } = this.#options;
    await stopNodeProcess(directory, clock);
  }

  #launch(): ProcessIdentity {
    const { directory, machine } = this.#options;
    const [command = '', ...words] = machine.self;
    const logFile = join(directory.run, 'node.log');
    rotate(logFile);
    return startDetached(directory.run, processName, {
      command,
      arguments: [...memoryFlags, ...words, 'node-process', '--data-dir', directory.root],
      environment: machine.environment,
      logFile,
    });
  }
}

export async function stopNodeProcess(directory: DataDirectory, clock: Clock): Promise<void> {
  const running = runningProcess(directory.run, processName);
  if (running) await stopProcess(clock, running, graceMs);
  forgetProcess(directory.run, processName);
}

const failureFile = (directory: DataDirectory) => join(directory.run, 'node-failure.json');

/** Left by a node that cannot run here, for the one who started it. */
export function leaveNodeFailure(directory: DataDirectory, error: CommandError): void {
  writeFileSync(failureFile(directory), JSON.stringify({ problem: error.message, advice: error.advice }));
}

function takeNodeFailure(directory: DataDirectory): CommandError | undefined {
  const file = failureFile(directory);
  if (!existsSync(file)) return undefined;
  const { problem, advice } = JSON.parse(readFileSync(file, 'utf8')) as { problem: string; advice: string };
  rmSync(file);
  return new CommandError(problem, advice);
}

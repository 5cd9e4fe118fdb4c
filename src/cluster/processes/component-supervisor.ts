/**
 * Runs components beside one another until they are stopped. One that fails is started again after a pause that grows with every
 * failure in a row; its failure is told in the log and ends nobody else.
 */
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';

const firstPauseMs = 1000;
const longestPauseMs = 30_000;
/** Having run so long, a component counts as healthy, and the next failure as its first. */
const healthyAfterMs = 60_000;
/** Having run so long after a failure, it is no longer told of. */
const recoveredAfterMs = 5000;

export class ComponentSupervisor {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #names = new Set<string>();
  readonly #problems = new Map<string, string>();
  readonly #onProblems: (problems: ReadonlyMap<string, string>) => void;

  /** `onProblems` is told of all that failed and have not been healthy since, by name, whenever that changes. */
  constructor(clock: Clock, log: Log, onProblems: (problems: ReadonlyMap<string, string>) => void = () => {}) {
    this.#clock = clock;
    this.#log = log;
    this.#onProblems = onProblems;
  }

  /** Whether `run` was called for it. */
  isStarted(name: string): boolean {
    return this.#names.has(name);
  }

  /** Why a component does not run, or did not a moment ago; undefined when it does. */
  problemOf(name: string): string | undefined {
    return this.#problems.get(name);
  }

  /** Aborted when the components must stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** `start` is called again after a failure; the signal it gets is aborted when its run is over. */
  run(name: string, start: (signal: AbortSignal) => Promise<void>): void {
    this.#names.add(name);
    const running = this.#supervise(name, start).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopping'));
    await Promise.all(this.#running);
  }

  async #supervise(name: string, start: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this;
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      const run = new AbortController();
      const startedMs = this.#clock.monotonic();
      const recovery = this.#problems.has(name)
        ? this.#clock.after(recoveredAfterMs, () => this.#tell(name, undefined))
        : undefined;
      try {
        await start(AbortSignal.any([signal, run.signal]));
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#tell(name, messageOf(error));
        // What the failed run left behind (informers, timers) ends before the next begins.
        run.abort(error);
        if (this.#clock.monotonic() - startedMs > healthyAfterMs) pauseMs = firstPauseMs;
        this.#log.error(`${name} failed and is started again`, { error: messageOf(error), pauseMs });
        await sleep(this.#clock, pauseMs, signal).catch(() => {});
        pauseMs = Math.min(longestPauseMs, pauseMs * 2);
      } finally {
        recovery?.cancel();
      }
    }
  }

  #tell(name: string, problem: string | undefined): void {
    if (problem === undefined) this.#problems.delete(name);
    else this.#problems.set(name, problem);
    this.#onProblems(this.#problems);
  }
}

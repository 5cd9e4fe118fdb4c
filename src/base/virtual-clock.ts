/**
 * Time that passes only when there is nothing left to do: the clock of simulations. While somebody waits for it (`drive`, `advance`) it
 * takes steps, some in each turn of the event loop: a callback that is due, or else, when a step has ended with none due, a leap to
 * the next timer. All microtasks of a step run before the next one, so whatever computes without real I/O has finished when time leaps.
 *
 * Deterministic: steps happen in the order of (due, sequence), `soon` before any timer, one at a time.
 *
 *     clock.after(3_600_000, ring);
 *     await clock.advance(7_200_000);      two hours later, some microseconds of real time
 */
import type { Clock, Timer } from './clock.ts';

interface PendingTimer {
  readonly dueMs: number;
  readonly sequence: number;
  /** Undefined once cancelled; taken out when its time comes. */
  callback: (() => void) | undefined;
}

/** Somebody who waits for time to pass. */
interface Demand {
  /** Infinity: until it is withdrawn. */
  readonly untilMs: number;
  met(): void;
  /** Nothing is left that could ever happen. */
  stuck(): void;
}

/** Turns in which nothing happens before a wait without end is given up: what a stray real callback may take. */
const patienceTurns = 1000;
/** A turn asks the operating system what has happened, which costs as much as many a step. */
const stepsPerTurn = 32;

export class VirtualClock implements Clock {
  readonly #startMs: number;
  #nowMs: number;
  #sequence = 0;
  #steps = 0;
  #idleTurns = 0;
  #isRunning = false;
  /** A binary heap, the next timer first. */
  readonly #timers: PendingTimer[] = [];
  #due: (() => void)[] = [];
  #dueNext = 0;
  readonly #demands = new Set<Demand>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs - this.#startMs;
  }

  /** Steps taken so far. */
  get steps(): number {
    return this.#steps;
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer: PendingTimer = {
      dueMs: this.#nowMs + Math.max(0, delayMs),
      sequence: this.#sequence++,
      callback,
    };
    this.#push(timer);
    return {
      cancel: () => {
        timer.callback = undefined;
      },
    };
  }

  soon(callback: () => void): void {
    this.#due.push(callback);
  }

  /** Lets time pass until `work` settles, and settles as it does. Fails when nothing is left to happen before that. */
  drive<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const demand: Demand = {
        untilMs: Number.POSITIVE_INFINITY,
        met() {},
        stuck: () => reject(new Error('nothing is left to happen, and what was waited for has not happened')),
      };
      this.#add(demand);
      work.then(resolve, reject).finally(() => this.#demands.delete(demand));
    });
  }

  /** Lets this much time pass. */
  advance(byMs: number): Promise<void> {
    return new Promise((resolve) => this.#add({ untilMs: this.#nowMs + byMs, met: resolve, stuck() {} }));
  }

  #add(demand: Demand): void {
    this.#demands.add(demand);
    this.#idleTurns = 0;
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    if (this.#demands.size === 0) {
      this.#isRunning = false;
      return;
    }
    // Node.js runs the microtasks after each of these, and none that is added meanwhile.
    setImmediate(this.#turn);
    for (let step = 1; step < stepsPerTurn; step++) setImmediate(this.#stepAgain);
    this.#step();
  };

  /** Not while there is nothing to do: whatever is waited for comes with another turn. */
  readonly #stepAgain = (): void => {
    if (this.#demands.size > 0 && this.#idleTurns === 0) this.#step();
  };

  #step(): void {
    this.#steps++;
    const callback = this.#nextDue();
    if (callback) {
      this.#idleTurns = 0;
      callback();
    } else this.#leap();
  }

  #nextDue(): (() => void) | undefined {
    if (this.#dueNext === this.#due.length) return undefined;
    const callback = this.#due[this.#dueNext++];
    if (this.#dueNext === this.#due.length) {
      this.#due = [];
      this.#dueNext = 0;
    }
    return callback;
  }

  #leap(): void {
    while (this.#timers.length > 0 && this.#timers[0]!.callback === undefined) this.#pop();
    const first = this.#timers[0];
    const demand = this.#earliestDemand();
    if (demand.untilMs < (first?.dueMs ?? Number.POSITIVE_INFINITY)) {
      this.#nowMs = demand.untilMs;
      this.#demands.delete(demand);
      demand.met();
    } else if (first) {
      this.#idleTurns = 0;
      this.#pop();
      this.#nowMs = Math.max(this.#nowMs, first.dueMs);
      first.callback?.();
    } else if (++this.#idleTurns >= patienceTurns) {
      this.#demands.delete(demand);
      demand.stuck();
    }
  }

  #earliestDemand(): Demand {
    const [first, ...others] = this.#demands;
    let earliest = first!;
    for (const demand of others) if (demand.untilMs < earliest.untilMs) earliest = demand;
    return earliest;
  }

  #push(timer: PendingTimer): void {
    const timers = this.#timers;
    let position = timers.length;
    timers.push(timer);
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (!isBefore(timer, timers[parent]!)) break;
      timers[position] = timers[parent]!;
      position = parent;
    }
    timers[position] = timer;
  }

  #pop(): void {
    const timers = this.#timers;
    const moved = timers.pop()!;
    if (timers.length === 0) return;
    let position = 0;
    for (let child = 1; child < timers.length; child = 2 * position + 1) {
      if (child + 1 < timers.length && isBefore(timers[child + 1]!, timers[child]!)) child++;
      if (!isBefore(timers[child]!, moved)) break;
      timers[position] = timers[child]!;
      position = child;
    }
    timers[position] = moved;
  }
}

function isBefore(a: PendingTimer, b: PendingTimer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}

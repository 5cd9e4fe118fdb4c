/**
 * What one evaluation carries along: the values of variables, and what it may still cost. Whoever runs out of budget stops at
 * once, by a throw, for no operator may absorb that.
 */
import type { CelResult } from './values.ts';

/** Thrown from deep inside; `program.ts` turns it into a result. */
export class EvaluationCancelled extends Error {
  readonly reason: 'cost' | 'interrupt';
  constructor(reason: 'cost' | 'interrupt') {
    super(reason === 'cost' ? 'operation cancelled: actual cost limit exceeded' : 'operation interrupted');
    this.reason = reason;
  }
}

/** Loops ask this seldom whether they should stop, for a clock costs more than most steps. */
const stepsBetweenChecks = 16;

export class Frame {
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Variables as read from the bindings, by slot; undefined until used. */
  readonly variables: (CelResult | undefined)[];
  /** Variables of comprehensions, by slot; undefined where an accumulator is not yet begun. */
  readonly locals: (CelResult | undefined)[];
  cost = 0;
  readonly #limit: number;
  readonly #interrupted: (() => boolean) | undefined;
  #steps = 0;

  constructor(
    bindings: Readonly<Record<string, unknown>>,
    slots: { readonly variables: number; readonly locals: number },
    stop: { readonly costLimit: number; readonly interrupted: (() => boolean) | undefined },
  ) {
    this.bindings = bindings;
    this.variables = new Array(slots.variables);
    this.locals = new Array(slots.locals);
    this.#limit = stop.costLimit;
    this.#interrupted = stop.interrupted;
  }

  spend(cost: number): void {
    this.cost += cost;
    if (this.cost > this.#limit) throw new EvaluationCancelled('cost');
  }

  /** Once per step of a loop. */
  step(): void {
    if (++this.#steps % stepsBetweenChecks !== 0 || this.#interrupted === undefined) return;
    if (this.#interrupted()) throw new EvaluationCancelled('interrupt');
  }
}

export type Evaluate = (frame: Frame) => CelResult;

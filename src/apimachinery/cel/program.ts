/** A compiled expression: evaluated any number of times, over values that are read only where it looks. */
import type { Checked } from './checker.ts';
import type { Code } from './compiler.ts';
import { type DeclaredSizes, estimateCost } from './estimate.ts';
import { EvaluationCancelled, Frame } from './frame.ts';
import { type CelType, dynType, type SizeRange } from './types.ts';
import { CelError, type CelResult } from './values.ts';

/** What one evaluation may cost, unless its caller allows less. */
export const perCallCostLimit = 1_000_000;

export interface EvaluationOptions {
  readonly costLimit?: number;
  /** Asked now and then by loops; a caller with a deadline compares a clock. */
  readonly interrupted?: () => boolean;
}

export interface Evaluation {
  readonly value: CelResult;
  readonly cost: number;
  /** Set where the evaluation was stopped; its value is then an error that says so. */
  readonly cancelled?: 'cost' | 'interrupt';
}

export class Program {
  readonly resultType: CelType;
  readonly #checked: Checked;
  readonly #code: Code;

  constructor(checked: Checked, code: Code) {
    this.#checked = checked;
    this.#code = code;
    this.resultType = checked.types.get(checked.expression.id) ?? dynType;
  }

  /**
   * Never throws: what goes wrong is an error value. `bindings` holds a variable's value as JSON, which is read as the variable's
   * declared type, or as a CEL value.
   */
  evaluate(bindings: Readonly<Record<string, unknown>>, options: EvaluationOptions = {}): Evaluation {
    const { costLimit = perCallCostLimit, interrupted } = options;
    const frame = new Frame(bindings, this.#code.slots, { costLimit, interrupted });
    try {
      const value = this.#code.evaluate(frame);
      return { value, cost: frame.cost };
    } catch (error) {
      if (error instanceof EvaluationCancelled) {
        return { value: new CelError(error.message), cost: frame.cost, cancelled: error.reason };
      }
      // JSON may be nested deeper than the stack is.
      if (error instanceof RangeError) return { value: new CelError('value is nested too deeply'), cost: frame.cost };
      throw error;
    }
  }

  /** Whether it names the variable anywhere. */
  uses(variable: string): boolean {
    for (const name of this.#checked.names.values()) if (name === variable) return true;
    return false;
  }

  /** The least and most it can cost over values of the declared sizes. */
  estimate(declaredSizes: DeclaredSizes = () => undefined): SizeRange {
    return estimateCost(this.#checked, declaredSizes);
  }
}

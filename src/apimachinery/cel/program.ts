/** A compiled expression: evaluated any number of times, over values that are read only where it looks. */
import type { Expression } from './ast.ts';
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

  /** Whether it selects this field of the variable anywhere, be it optionally (`claims.?email`). */
  selects(variable: string, field: string): boolean {
    return selectsField(this.#checked.expression, variable, field);
  }

  /** The least and most it can cost over values of the declared sizes. */
  estimate(declaredSizes: DeclaredSizes = () => undefined): SizeRange {
    return estimateCost(this.#checked, declaredSizes);
  }
}

/** Nodes are plain objects, so whatever holds nodes is walked alike. */
function selectsField(node: unknown, variable: string, field: string): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if (Array.isArray(node)) return node.some((one) => selectsField(one, variable, field));
  const expression = node as Expression;
  const isVariable = (one: Expression | undefined) => one?.kind === 'identifier' && one.name === variable;
  if (expression.kind === 'select' && isVariable(expression.operand) && expression.field === field) return true;
  if (expression.kind === 'literal') return false;
  if (expression.kind === 'call' && expression.name === '_?._') {
    const [operand, name] = expression.args;
    if (isVariable(operand) && name?.kind === 'literal' && name.value === field) return true;
  }
  return Object.values(expression).some((part) => selectsField(part, variable, field));
}

/**
 * Expressions evaluated one after another over the same request. They share a policy's variables, each of which is worked out when an
 * expression first asks for it, and they share a budget: whoever spends it all ends the evaluation for all.
 */
import type { CompiledExpression } from '../../../api/admissionregistration/expressions/compile.ts';
import {
  CelError,
  CelMap,
  type CelMapKey,
  type CelResult,
  type CelValue,
  isCelError,
  perCallCostLimit,
} from '../../../apimachinery/cel/index.ts';
import {
  type AccessAuthorizer,
  type DecisionLedger,
  settled,
} from '../../../apimachinery/cel/library/authorization.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { Bindings } from './bindings.ts';

/** Of all expressions of a policy for one request, and of all match conditions of a webhook or policy. */
export const policyBudget = 10_000_000;
export const conditionsBudget = 2_500_000;

/** There is nothing left to spend. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';

  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run');
  }
}

export type Outcome =
  | { readonly value: CelValue; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

export interface EvaluationOptions {
  readonly ledger: DecisionLedger;
  readonly authorizer: AccessAuthorizer;
  readonly variables?: ReadonlyMap<string, CompiledExpression> | undefined;
  readonly budget: number;
}

export class Evaluation {
  readonly #bindings: Bindings;
  readonly #variables: Variables;
  readonly #options: EvaluationOptions;
  /** What may still be spent. */
  remaining: number;

  constructor(bindings: Bindings, options: EvaluationOptions) {
    this.#options = options;
    this.remaining = options.budget;
    this.#variables = new Variables(options.variables ?? new Map());
    this.#bindings = { ...bindings, variables: this.#variables };
    this.#variables.bindings = this.#bindings;
  }

  /** Rejects with `BudgetSpent`; all else that can go wrong is told. */
  async evaluate({ program, problem, text }: CompiledExpression): Promise<Outcome> {
    if (!program) return { problem: `compilation error: ${problem}` };
    const { ledger, authorizer } = this.#options;
    const { result, cost } = await settled(ledger, authorizer, () => {
      this.#variables.begin();
      const costLimit = Math.min(perCallCostLimit, this.remaining);
      const evaluated = program.evaluate(this.#bindings, { costLimit });
      return { result: evaluated.value, cost: evaluated.cost + this.#variables.cost };
    });
    this.#variables.keep();
    if (cost > this.remaining) throw new BudgetSpent();
    this.remaining -= cost;
    if (isCelError(result)) return { problem: `expression '${text}' resulted in error: ${result.message}` };
    return { value: result };
  }
}

/** `variables.name`: worked out once, unless that has to be done again when an authorization check has been answered. */
class Variables extends CelMap {
  readonly #compiled: ReadonlyMap<string, CompiledExpression>;
  readonly #kept = new Map<string, CelResult>();
  readonly #found = new Map<string, CelResult>();
  bindings: Bindings = {};
  /** Of what was worked out since `begin`. */
  cost = 0;

  constructor(compiled: ReadonlyMap<string, CompiledExpression>) {
    super();
    this.#compiled = compiled;
  }

  /** An evaluation starts, perhaps again: what a former try found does not count. */
  begin(): void {
    this.#found.clear();
    this.cost = 0;
  }

  /** What failed may have failed for want of an answer that comes later. */
  keep(): void {
    for (const [name, value] of this.#found) if (!isCelError(value)) this.#kept.set(name, value);
  }

  get size(): number {
    return this.#compiled.size;
  }

  has(key: CelValue): boolean {
    return typeof key === 'string' && this.#compiled.has(key);
  }

  keys(): Iterable<CelMapKey> {
    return this.#compiled.keys();
  }

  get(key: CelValue): CelResult | undefined {
    if (typeof key !== 'string') return undefined;
    const known = this.#kept.get(key) ?? this.#found.get(key);
    if (known !== undefined) return known;
    const compiled = this.#compiled.get(key);
    if (!compiled) return undefined;
    const value = this.#evaluate(key, compiled);
    this.#found.set(key, value);
    return value;
  }

  #evaluate(name: string, { program, problem }: CompiledExpression): CelResult {
    if (!program) return new CelError(`composited variable ${quote(name)} fails to compile: ${problem}`);
    const { value, cost } = program.evaluate(this.bindings);
    this.cost += cost;
    return isCelError(value)
      ? new CelError(`composited variable ${quote(name)} fails to evaluate: ${value.message}`)
      : value;
  }
}

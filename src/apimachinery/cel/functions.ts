/**
 * How functions, macros and named types are declared: a library is a table of them, and an environment is a set of
 * libraries. What runs them is left to the checker, the compiler and the cost estimate.
 *
 * Worked example, a library with `"text".shout() -> string` that costs a walk over its text:
 *
 *     const shouting: Library = {
 *       functions: [
 *         {
 *           name: 'shout',
 *           overloads: [
 *             {
 *               id: 'string_shout',
 *               member: true,
 *               parameters: [stringType],
 *               result: stringType,
 *               call: (text: string) => text.toUpperCase(),
 *             },
 *           ],
 *           cost: ([text]) => traversalCost(text!),
 *           estimate: ({ target, sizeOf }) => ({ cost: scaled(sizeOf(target!), costs.traversal), resultSize: sizeOf(target!) }),
 *         },
 *       ],
 *     };
 */
import type { Expression } from './ast.ts';
import type { CelType, SizeRange } from './types.ts';
import type { CelResult, CelValue } from './values.ts';

export interface Overload {
  /** Unique in an environment: `string_to_url`. A later library's overload takes the place of one with the same id. */
  readonly id: string;
  /** Called as `x.f(y)`: the first parameter is then `x`. */
  readonly member?: boolean;
  readonly parameters: readonly CelType[];
  readonly result: CelType;
  /**
   * Called with values of the declared parameter types and nothing else (where a parameter is dyn or a type variable,
   * with any value), so an implementation may declare its arguments as what they are in JavaScript. Never throws.
   */
  call(...args: readonly CelValue[]): CelResult;
  /** Overrides the function's, where it is known before the call that this is the overload. */
  readonly cost?: RuntimeCost;
  readonly estimate?: CostEstimate;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /**
   * All overloads have one `call`, which answers arguments of any types itself. None is chosen first then, which is what makes
   * operators on dynamic values fast.
   */
  readonly total?: boolean;
  /** The cost of a call whichever overload it takes; 1 if absent. */
  readonly cost?: RuntimeCost;
  readonly estimate?: CostEstimate;
}

/** What a call that took place costs; a member's target is the first argument. Undefined leaves it to the next rule. */
export type RuntimeCost = (args: readonly CelResult[], result: CelResult) => number | undefined;

/** What a call may cost, besides its arguments. Undefined leaves it to the next rule. */
export type CostEstimate = (call: EstimatedCall) => CallEstimate | undefined;

export interface EstimatedCall {
  readonly target: EstimatedNode | undefined;
  readonly args: readonly EstimatedNode[];
  /** The size of a node, as known from the expression or from the declared limits; [0, unbounded] if neither knows. */
  sizeOf(node: EstimatedNode): SizeRange;
  /** The elements of a list, undefined where the node is none. */
  elementsOf(node: EstimatedNode): EstimatedNode | undefined;
}

export interface CallEstimate {
  readonly cost: SizeRange;
  /** The size of the result where it is a string, bytes, list or map. */
  readonly resultSize?: SizeRange;
}

export interface EstimatedNode {
  /**
   * Where the node's value comes from: a variable, then field names, `@items`, `@keys`, `@indices`, `@values`. Undefined for a
   * value that no declaration describes.
   */
  readonly path: readonly string[] | undefined;
  readonly type: CelType;
  /** Undefined for the elements of a list. */
  readonly expression: Expression | undefined;
  /** As known from the expression itself. */
  readonly size: SizeRange | undefined;
}

/** Rewrites a call while it is parsed. */
export interface Macro {
  readonly name: string;
  readonly member: boolean;
  readonly argumentCount: number;
  /** The expansion, or undefined to leave the call as it is. A malformed argument is reported by `MacroError`. */
  expand(
    build: ExpressionBuilder,
    args: readonly Expression[],
    target: Expression,
  ): Expression | MacroError | undefined;
}

export class MacroError {
  readonly at: Expression;
  readonly message: string;
  constructor(at: Expression, message: string) {
    this.at = at;
    this.message = message;
  }
}

/** Makes the nodes of an expansion, each with a fresh id, at the place of the macro's call. */
export interface ExpressionBuilder {
  literal(value: CelValue): Expression;
  identifier(name: string): Expression;
  accumulator(): Expression;
  call(name: string, ...args: readonly Expression[]): Expression;
  memberCall(name: string, target: Expression, ...args: readonly Expression[]): Expression;
  presenceTest(operand: Expression, field: string): Expression;
  list(...elements: readonly Expression[]): Expression;
  emptyMap(): Expression;
  comprehension(loop: Loop): Expression;
  /** A deep copy with fresh ids, for an argument that an expansion holds twice. */
  copy(expression: Expression): Expression;
}

export interface Loop {
  readonly range: Expression;
  readonly variable: string;
  readonly variable2?: string;
  readonly accumulator: string;
  readonly initial: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

export interface Library {
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Types that expressions may name (`type(x) == net.IP`). */
  readonly types?: readonly CelType[];
}

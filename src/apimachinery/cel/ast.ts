/**
 * An expression as the parser leaves it: macros are expanded, so there are eight kinds of node and nothing else.
 *
 * `id` is unique within an expression but for copies that a macro makes of its argument; `offset` counts code points
 * from the start of the source, for messages. Worked example: `self.x.all(v, v > 0)` is a comprehension over a select
 * of `x` from the identifier `self`, that binds `v`, accumulates in `__result__` from true, and steps by
 * `_&&_(__result__, _>_(v, 0))`.
 */
import type { CelValue } from './values.ts';

interface Node {
  readonly id: number;
  readonly offset: number;
}

export interface Literal extends Node {
  readonly kind: 'literal';
  readonly value: CelValue;
}

export interface Identifier extends Node {
  readonly kind: 'identifier';
  readonly name: string;
}

/** `operand.field`, or `has(operand.field)` where `testOnly`. */
export interface Select extends Node {
  readonly kind: 'select';
  readonly operand: Expression;
  readonly field: string;
  readonly testOnly: boolean;
}

/** A call of a function or an operator (`_+_`, `_[_]`, `_?_:_`); of a member function where there is a target. */
export interface Call extends Node {
  readonly kind: 'call';
  readonly name: string;
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
}

export interface ListLiteral extends Node {
  readonly kind: 'list';
  readonly elements: readonly Expression[];
  /** Indices of elements written `?x`, which are left out where they are `optional.none()`. */
  readonly optionals: readonly number[];
}

export interface MapEntry extends Node {
  readonly key: Expression;
  readonly value: Expression;
  readonly optional: boolean;
}

export interface MapLiteral extends Node {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface ObjectLiteralField extends Node {
  readonly name: string;
  readonly value: Expression;
  readonly optional: boolean;
}

/** `TypeName{field: value}`. */
export interface ObjectLiteral extends Node {
  readonly kind: 'object';
  readonly typeName: string;
  readonly fields: readonly ObjectLiteralField[];
}

/** A loop: binds each element of `range`, and while `condition` holds, makes `step` the new accumulator. */
export interface Comprehension extends Node {
  readonly kind: 'comprehension';
  readonly range: Expression;
  readonly variable: string;
  /** Where there is a second variable, the first is bound to the index or key, this to the element or value. */
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly initial: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

export type Expression =
  | Literal
  | Identifier
  | Select
  | Call
  | ListLiteral
  | MapLiteral
  | ObjectLiteral
  | Comprehension;

/** The accumulator of macros. No variable of a macro may have its name. */
export const accumulatorName = '__result__';

/** The variable of a comprehension that runs no loop but only binds its accumulator (`cel.bind`, `optMap`). */
export const unusedVariableName = '#unused';

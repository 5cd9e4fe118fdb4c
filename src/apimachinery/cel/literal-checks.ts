/** Literals that a function is bound to refuse: reported when the expression is compiled, at their place. */
import type { Expression } from './ast.ts';
import { convertToDuration, convertToTimestamp } from './conversions.ts';
import type { Issues } from './issues.ts';
import { compilePattern } from './regular-expressions.ts';
import { CelError, type CelValue, isCelError } from './values.ts';

interface LiteralCheck {
  readonly argument: number;
  isWrong(value: CelValue): boolean;
}

const checks: Readonly<Record<string, LiteralCheck>> = {
  duration: { argument: 0, isWrong: (value) => isCelError(convertToDuration(value)) },
  timestamp: { argument: 0, isWrong: (value) => isCelError(convertToTimestamp(value)) },
  matches: {
    argument: 0,
    isWrong: (value) => typeof value === 'string' && compilePattern(value) instanceof CelError,
  },
};

export function checkLiterals(expression: Expression, issues: Issues): void {
  for (const part of partsOf(expression)) checkLiterals(part, issues);
  if (expression.kind !== 'call' || !Object.hasOwn(checks, expression.name)) return;
  const { argument, isWrong } = checks[expression.name]!;
  const literal = expression.args[argument];
  if (literal?.kind !== 'literal' || !isWrong(literal.value)) return;
  issues.report(literal.offset, `invalid ${expression.name} argument`);
}

function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'literal':
    case 'identifier':
      return [];
    case 'select':
      return [expression.operand];
    case 'call':
      return expression.target ? [expression.target, ...expression.args] : expression.args;
    case 'list':
      return expression.elements;
    case 'map':
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case 'object':
      return expression.fields.map(({ value }) => value);
    case 'comprehension':
      return [expression.range, expression.initial, expression.condition, expression.step, expression.result];
  }
}

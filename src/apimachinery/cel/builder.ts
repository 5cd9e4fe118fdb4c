/** Makes nodes with ids of their own; the parser and the macros share one per expression. */
import { accumulatorName, type Call, type Expression, type Literal } from './ast.ts';
import type { ExpressionBuilder, Loop } from './functions.ts';
import type { CelValue } from './values.ts';

/** Hands out ids. */
export class NodeIds {
  #next = 1;
  take(): number {
    return this.#next++;
  }
}

export class NodeBuilder implements ExpressionBuilder {
  readonly #ids: NodeIds;
  readonly #offset: number;

  constructor(ids: NodeIds, offset: number) {
    this.#ids = ids;
    this.#offset = offset;
  }

  #place() {
    return { id: this.#ids.take(), offset: this.#offset };
  }

  literal(value: CelValue): Literal {
    return { kind: 'literal', ...this.#place(), value };
  }

  identifier(name: string): Expression {
    return { kind: 'identifier', ...this.#place(), name };
  }

  accumulator(): Expression {
    return this.identifier(accumulatorName);
  }

  call(name: string, ...args: readonly Expression[]): Call {
    return { kind: 'call', ...this.#place(), name, target: undefined, args };
  }

  memberCall(name: string, target: Expression, ...args: readonly Expression[]): Call {
    return { kind: 'call', ...this.#place(), name, target, args };
  }

  presenceTest(operand: Expression, field: string): Expression {
    return { kind: 'select', ...this.#place(), operand, field, testOnly: true };
  }

  select(operand: Expression, field: string): Expression {
    return { kind: 'select', ...this.#place(), operand, field, testOnly: false };
  }

  list(...elements: readonly Expression[]): Expression {
    return { kind: 'list', ...this.#place(), elements, optionals: [] };
  }

  emptyMap(): Expression {
    return { kind: 'map', ...this.#place(), entries: [] };
  }

  comprehension(loop: Loop): Expression {
    return { kind: 'comprehension', ...this.#place(), variable2: undefined, ...loop };
  }

  copy(expression: Expression): Expression {
    const copy = (part: Expression) => this.copy(part);
    const id = this.#ids.take();
    switch (expression.kind) {
      case 'literal':
      case 'identifier':
        return { ...expression, id };
      case 'select':
        return { ...expression, id, operand: copy(expression.operand) };
      case 'call':
        return {
          ...expression,
          id,
          target: expression.target && copy(expression.target),
          args: expression.args.map(copy),
        };
      case 'list':
        return { ...expression, id, elements: expression.elements.map(copy) };
      case 'map': {
        const entries = expression.entries.map((entry) => ({
          ...entry,
          id: this.#ids.take(),
          key: copy(entry.key),
          value: copy(entry.value),
        }));
        return { ...expression, id, entries };
      }
      case 'object': {
        const fields = expression.fields.map((field) => ({ ...field, id: this.#ids.take(), value: copy(field.value) }));
        return { ...expression, id, fields };
      }
      case 'comprehension':
        return {
          ...expression,
          id,
          range: copy(expression.range),
          initial: copy(expression.initial),
          condition: copy(expression.condition),
          step: copy(expression.step),
          result: copy(expression.result),
        };
    }
  }
}

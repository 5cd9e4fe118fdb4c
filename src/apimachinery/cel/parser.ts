/**
 * Reads an expression, macros expanded, or says what is wrong with it. Recursive descent over the language's grammar, with
 * Kubernetes' extensions (`a.?b`, `a[?b]`, `[?a]`, `{?a: b}`). Deep nesting is refused, so no text can exhaust the stack here or in
 * whatever walks the tree after. Chains of `&&` and `||` become balanced trees for the same reason.
 */
import type { Expression, MapEntry, ObjectLiteralField } from './ast.ts';
import { NodeBuilder, NodeIds } from './builder.ts';
import { type Macro, MacroError } from './functions.ts';
import type { Issues, Source } from './issues.ts';
import { endOfInput, type Token, tokenize } from './lexer.ts';
import { bytesLiteral, intLiteral, stringLiteral, uintLiteral } from './literals.ts';
import { operandStart, ParseAbandoned, TokenReader, type TokenSet, tokens } from './syntax-errors.ts';
import { CelUint, type CelValue } from './values.ts';

const sizeLimit = 100_000;
const nestingLimit = 250;

const reserved: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

const relations = tokens("'<'", "'<='", "'>='", "'>'", "'=='", "'!='", "'in'");
const sums = tokens("'+'", "'-'");
const products = tokens("'*'", "'/'", "'%'");
const nothing = tokens();
const listStart = new Set([...operandStart, "'?'", "','", "']'"]);
const mapStart = new Set([...operandStart, "'?'", "','", "'}'"]);
const fieldStart = tokens("'?'", 'IDENTIFIER', 'ESC_IDENTIFIER');
const objectStart = new Set([...fieldStart, "','", "'}'"]);
const operatorName = (token: Token) => (token.text === 'in' ? '@in' : `_${token.text}_`);

/** Macros by name, style and number of arguments. */
export type Macros = ReadonlyMap<string, Macro>;
export const macroKey = (name: string, member: boolean, argumentCount: number): string =>
  `${member ? '.' : ''}${name}/${argumentCount}`;

/** The expression's tree; undefined where `issues` have come up. */
export function parse(source: Source, macros: Macros, issues: Issues): Expression | undefined {
  const size = source.codePoints.length;
  if (size > sizeLimit) {
    issues.reportNowhere(`expression code point size exceeds limit: size: ${size}, limit ${sizeLimit}`);
    return undefined;
  }
  const parser = new Parser(new TokenReader(tokenize(source, issues), issues), macros, issues);
  try {
    const expression = parser.start();
    return issues.count === 0 ? expression : undefined;
  } catch (error) {
    if (error instanceof ParseAbandoned) return undefined;
    throw error;
  }
}

type Rule = 'expr' | 'relation' | 'calc' | 'product' | 'member';

class Parser {
  readonly #reader: TokenReader;
  readonly #macros: Macros;
  readonly #issues: Issues;
  readonly #ids = new NodeIds();
  readonly #depth: Record<Rule, number> = { expr: 0, relation: 0, calc: 0, product: 0, member: 0 };

  constructor(reader: TokenReader, macros: Macros, issues: Issues) {
    this.#reader = reader;
    this.#macros = macros;
    this.#issues = issues;
  }

  start(): Expression {
    const expression = this.#within(tokens(endOfInput), () => this.#expression());
    if (this.#reader.kind !== endOfInput) this.#reader.expect(endOfInput, nothing);
    return expression;
  }

  #within<T>(follow: TokenSet, rule: () => T): T {
    return this.#reader.within(follow, rule);
  }

  #at(token: { readonly offset: number }): NodeBuilder {
    return new NodeBuilder(this.#ids, token.offset);
  }

  /** Stands in for what could not be read; the tree is thrown away, for there are issues. */
  #nothing(): Expression {
    return this.#at(this.#reader.current).literal(null);
  }

  #report(at: { readonly offset: number }, message: string): Expression {
    this.#issues.report(at.offset, message);
    return this.#at(at).literal(null);
  }

  #descend(rule: Rule): void {
    if (++this.#depth[rule] <= nestingLimit) return;
    const message =
      rule === 'expr' ? `expression recursion limit exceeded: ${nestingLimit}` : 'max recursion depth exceeded';
    this.#issues.reportNowhere(message);
    throw new ParseAbandoned();
  }

  #expression(): Expression {
    this.#descend('expr');
    const condition = this.#within(tokens("'?'"), () => this.#logical('||'));
    const question = this.#reader.takeIf("'?'");
    let result = condition;
    if (question) {
      const whenTrue = this.#within(tokens("':'"), () => this.#logical('||'));
      if (this.#reader.expect("':'", operandStart)) {
        const whenFalse = this.#within(nothing, () => this.#expression());
        result = this.#at(question).call('_?_:_', condition, whenTrue, whenFalse);
      }
    }
    this.#depth.expr--;
    return result;
  }

  #logical(operator: '||' | '&&'): Expression {
    const follow = tokens(`'${operator}'`);
    const operand = () => this.#within(follow, () => (operator === '||' ? this.#logical('&&') : this.#relation()));
    const terms = [operand()];
    const operators: Token[] = [];
    for (let token = this.#reader.takeIf(`'${operator}'`); token; token = this.#reader.takeIf(`'${operator}'`)) {
      operators.push(token);
      terms.push(operand());
    }
    return this.#balanced(`_${operator}_`, terms, operators);
  }

  #balanced(name: string, terms: readonly Expression[], operators: readonly Token[]): Expression {
    if (operators.length === 0) return terms[0]!;
    const middle = operators.length >> 1;
    const left = this.#balanced(name, terms.slice(0, middle + 1), operators.slice(0, middle));
    const right = this.#balanced(name, terms.slice(middle + 1), operators.slice(middle + 1));
    return this.#at(operators[middle]!).call(name, left, right);
  }

  #relation(): Expression {
    return this.#chain('relation', relations, () => this.#calc(sums));
  }

  #calc(operators: TokenSet): Expression {
    if (operators === sums) return this.#chain('calc', sums, () => this.#calc(products));
    return this.#chain('product', products, () => this.#unary());
  }

  #chain(rule: Rule, operators: TokenSet, operand: () => Expression): Expression {
    const before = this.#depth[rule];
    this.#descend(rule);
    let result = this.#within(operators, operand);
    while (operators.has(this.#reader.kind)) {
      this.#descend(rule);
      const token = this.#reader.take();
      const right = this.#within(operators, operand);
      result = this.#at(token).call(operatorName(token), result, right);
    }
    this.#depth[rule] = before;
    return result;
  }

  #unary(): Expression {
    const reader = this.#reader;
    if (!reader.begins(operandStart)) return this.#nothing();
    const isNumber = (token: Token) => token.kind === 'NUM_INT' || token.kind === 'NUM_FLOAT';
    if (reader.kind === "'!'") return this.#prefixed("'!'", '!_');
    if (reader.kind === "'-'" && !isNumber(reader.ahead(1))) return this.#prefixed("'-'", '-_');
    return this.#within(nothing, () => this.#member());
  }

  #prefixed(kind: string, name: string): Expression {
    const reader = this.#reader;
    const first = reader.current;
    let count = 0;
    while (reader.kind === kind) {
      const next = reader.ahead(1).kind;
      if (next !== kind && !operandStart.has(next) && kind === "'-'") {
        reader.noViableAlternative(1);
        return this.#nothing();
      }
      reader.take();
      count++;
    }
    if (!reader.begins(operandStart)) return this.#nothing();
    const operand = this.#within(nothing, () => this.#member());
    return count % 2 === 0 ? operand : this.#at(first).call(name, operand);
  }

  #member(): Expression {
    const before = this.#depth.member;
    this.#descend('member');
    let result = this.#within(tokens("'.'", "'['"), () => this.#primary());
    for (;;) {
      const { kind } = this.#reader;
      if (kind !== "'.'" && kind !== "'['") break;
      this.#descend('member');
      const next = kind === "'.'" ? this.#selectOrCall(result) : this.#index(result);
      if (!next) break;
      result = next;
    }
    this.#depth.member = before;
    return result;
  }

  #selectOrCall(operand: Expression): Expression | undefined {
    const reader = this.#reader;
    const second = reader.ahead(1).kind;
    if (second !== "'?'" && second !== 'IDENTIFIER' && second !== 'ESC_IDENTIFIER') {
      reader.noViableAlternative(1);
      return undefined;
    }
    const dot = reader.take();
    const optional = reader.takeIf("'?'");
    if (!reader.begins(tokens('IDENTIFIER', 'ESC_IDENTIFIER'))) return undefined;
    const name = reader.take();
    if (name.kind === 'ESC_IDENTIFIER') return this.#report(name, "unsupported syntax: '`'");
    if (optional) return this.#at(dot).call('_?._', operand, this.#at(name).literal(name.text));
    const open = reader.takeIf("'('");
    if (!open) return this.#at(dot).select(operand, name.text);
    const args = this.#arguments();
    return this.#call(open, name.text, operand, args);
  }

  #index(operand: Expression): Expression {
    const open = this.#reader.take();
    const optional = this.#reader.takeIf("'?'");
    const index = this.#within(tokens("']'"), () => this.#expression());
    this.#reader.expect("']'", tokens("'.'", "'['"), true);
    return this.#at(open).call(optional ? '_[?_]' : '_[_]', operand, index);
  }

  #arguments(): readonly Expression[] {
    const reader = this.#reader;
    const args: Expression[] = [];
    const allowed = new Set([...operandStart, "')'"]);
    if (!reader.begins(allowed)) return args;
    if (reader.takeIf("')'")) return args;
    do {
      args.push(this.#within(tokens("','", "')'"), () => this.#expression()));
    } while (reader.takeIf("','"));
    reader.expect("')'", tokens("'.'", "'['"), true);
    return args;
  }

  #call(open: Token, name: string, target: Expression | undefined, args: readonly Expression[]): Expression {
    const builder = this.#at(open);
    const macro = this.#macros.get(macroKey(name, target !== undefined, args.length));
    if (macro) {
      const expansion = macro.expand(builder, args, target ?? args[0]!);
      if (expansion instanceof MacroError) return this.#report(expansion.at, expansion.message);
      if (expansion) return expansion;
    }
    return target ? builder.memberCall(name, target, ...args) : builder.call(name, ...args);
  }

  #primary(): Expression {
    const reader = this.#reader;
    switch (reader.kind) {
      case "'('": {
        reader.take();
        const inner = this.#within(tokens("')'"), () => this.#expression());
        reader.expect("')'", tokens("'.'", "'['"), true);
        return inner;
      }
      case "'['":
        return this.#list();
      case "'{'":
        return this.#map();
      case "'.'":
        if (reader.ahead(1).kind === 'IDENTIFIER') return this.#named();
        reader.noViableAlternative(1);
        return this.#nothing();
      case 'IDENTIFIER':
        return this.#named();
      default:
        return this.#literal();
    }
  }

  /** An identifier, a call of a global function, or `a.b.Type{...}`. */
  #named(): Expression {
    const reader = this.#reader;
    const start = reader.current;
    const prefix = start.kind === "'.'" ? '.' : '';
    let length = prefix === '' ? 1 : 2;
    while (reader.ahead(length).kind === "'.'" && reader.ahead(length + 1).kind === 'IDENTIFIER') length += 2;
    if (reader.ahead(length).kind === "'{'") {
      const name = Array.from({ length }, () => reader.take().text).join('');
      return this.#object(name);
    }
    if (prefix !== '') reader.take();
    const name = reader.take();
    const open = reader.takeIf("'('");
    const args = open ? this.#arguments() : [];
    if (reserved.has(name.text)) return this.#report(start, `reserved identifier: ${name.text}`);
    if (open) return this.#call(open, prefix + name.text, undefined, args);
    return this.#at(name).identifier(prefix + name.text);
  }

  #list(): Expression {
    const reader = this.#reader;
    const open = reader.take();
    const elements: Expression[] = [];
    const optionals: number[] = [];
    let comma = false;
    if (reader.begins(listStart)) {
      comma = reader.takeIf("','") !== undefined;
      while (!comma && reader.kind !== "']'") {
        if (reader.takeIf("'?'")) optionals.push(elements.length);
        elements.push(this.#within(tokens("','", "']'"), () => this.#expression()));
        if (!reader.begins(tokens("','", "']'"))) break;
        if (!reader.takeIf("','") || reader.kind === "']'") break;
      }
      reader.expect("']'", tokens("'.'", "'['"), true);
    }
    return { kind: 'list', id: this.#ids.take(), offset: open.offset, elements, optionals };
  }

  #map(): Expression {
    const open = this.#reader.take();
    const entries: MapEntry[] = [];
    this.#entries(mapStart, () => {
      const optional = this.#reader.takeIf("'?'") !== undefined;
      const key = this.#within(tokens("':'"), () => this.#expression());
      const colon = this.#reader.expect("':'", operandStart);
      if (!colon) return false;
      const value = this.#within(tokens("','", "'}'"), () => this.#expression());
      entries.push({ id: this.#ids.take(), offset: colon.offset, key, value, optional });
      return true;
    });
    return { kind: 'map', id: this.#ids.take(), offset: open.offset, entries };
  }

  #object(typeName: string): Expression {
    const reader = this.#reader;
    const open = reader.take();
    const fields: ObjectLiteralField[] = [];
    this.#entries(objectStart, () => {
      const optional = reader.takeIf("'?'") !== undefined;
      if (!reader.begins(tokens('IDENTIFIER', 'ESC_IDENTIFIER'))) return false;
      const name = reader.take();
      if (name.kind === 'ESC_IDENTIFIER') this.#report(name, "unsupported syntax: '`'");
      const colon = reader.expect("':'", operandStart);
      if (!colon) return false;
      const value = this.#within(tokens("','", "'}'"), () => this.#expression());
      fields.push({ id: this.#ids.take(), offset: colon.offset, name: name.text, value, optional });
      return true;
    });
    return { kind: 'object', id: this.#ids.take(), offset: open.offset, typeName, fields };
  }

  /** What stands between braces: entries, separated by commas, one of which may come last. A failed one ends the row. */
  #entries(start: TokenSet, entry: () => boolean): void {
    const reader = this.#reader;
    if (!reader.begins(start)) return;
    if (!reader.takeIf("','")) {
      while (reader.kind !== "'}'" && reader.kind !== endOfInput) {
        if (!this.#within(tokens("','", "'}'"), entry)) break;
        if (!reader.begins(tokens("','", "'}'"))) break;
        if (!reader.takeIf("','")) break;
      }
    }
    reader.expect("'}'", tokens("'.'", "'['"), true);
  }

  #literal(): Expression {
    const start = this.#reader.current;
    const sign = this.#reader.takeIf("'-'");
    const token = this.#reader.take();
    const value = literalValue(token, sign !== undefined);
    if (typeof value === 'object' && value !== null && 'mistake' in value) return this.#report(start, value.mistake);
    return this.#at(start).literal(value);
  }
}

function literalValue({ kind, text }: Token, negative: boolean): CelValue | { readonly mistake: string } {
  switch (kind) {
    case 'NUM_INT':
      return intLiteral(text, negative) ?? { mistake: 'invalid int literal' };
    case 'NUM_UINT': {
      const value = uintLiteral(text);
      return value === undefined ? { mistake: 'invalid uint literal' } : new CelUint(value);
    }
    case 'NUM_FLOAT': {
      const value = Number(negative ? `-${text}` : text);
      return Number.isFinite(value) ? value : { mistake: 'invalid double literal' };
    }
    case 'STRING': {
      const result = stringLiteral(text);
      return 'mistake' in result ? result : result.text;
    }
    case 'BYTES':
      return bytesLiteral(text);
    case "'true'":
      return true;
    case "'false'":
      return false;
    default:
      return null;
  }
}

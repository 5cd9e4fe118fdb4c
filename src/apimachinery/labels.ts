/**
 * Label selectors in both their forms: the text of `?labelSelector=app=web,tier in (a,b),!old` and the object of a spec
 * (`matchLabels`, `matchExpressions`). Grammar and error texts are upstream's; a matcher is immutable and cheap to ask.
 */
import {
  errorsText,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from './field-error.ts';
import type { LabelSelector } from './gen/meta-v1.ts';
import { quote } from './go-text.ts';
import { labelValue, qualifiedName } from './names.ts';

export type { LabelSelector, LabelSelectorRequirement } from './gen/meta-v1.ts';

export type Labels = Readonly<Record<string, string>>;

export type LabelOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'gt' | 'lt' | 'exists' | '!';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted and distinct. */
  readonly values: readonly string[];
}

/** A selector that cannot be understood; servers answer 400 with its message. */
export class SelectorError extends Error {
  override readonly name: string = 'SelectorError';
}

/** A conjunction of requirements, sorted by key. */
export class LabelMatcher {
  /** All of them must hold. Empty: everything matches. */
  readonly requirements: readonly LabelRequirement[];
  readonly #matchesNothing: boolean;

  constructor(requirements: readonly LabelRequirement[], matchesNothing = false) {
    this.requirements = requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    this.#matchesNothing = matchesNothing;
  }

  /** Whether it matches everything. */
  get empty(): boolean {
    return this.requirements.length === 0 && !this.#matchesNothing;
  }

  matches(labels: Labels | undefined): boolean {
    if (this.#matchesNothing) return false;
    for (const requirement of this.requirements) if (!satisfies(requirement, labels)) return false;
    return true;
  }

  /** The one value that `key` must have, if the selector pins it: for look-ups by index. */
  exactValue(key: string): string | undefined {
    const requirement = this.requirements.find((r) => r.key === key);
    if (requirement?.values.length !== 1) return undefined;
    return ['=', '==', 'in'].includes(requirement.operator) ? requirement.values[0] : undefined;
  }

  /** The text that parses to this selector. */
  toString(): string {
    return this.requirements.map(requirementText).join(',');
  }
}

export const everything: LabelMatcher = new LabelMatcher([]);
export const nothing: LabelMatcher = new LabelMatcher([], true);

/** Throws `SelectorError`. An empty text matches everything. */
export function parseLabelSelector(text: string): LabelMatcher {
  return text === '' ? everything : new LabelMatcher(new Parser(scan(text)).parse());
}

/**
 * The matcher of a spec's selector: absent matches nothing, empty matches everything. Throws `SelectorError` for what validation
 * refuses.
 */
export function labelMatcherOf(selector: LabelSelector | undefined): LabelMatcher {
  if (!selector) return nothing;
  const requirements = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => requirement(key, '=', [value]));
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const known = operatorsOfExpressions.get(operator);
    if (!known) throw new SelectorError(`${quote(operator)} is not a valid label selector operator`);
    requirements.push(requirement(key, known, values ?? []));
  }
  return new LabelMatcher(requirements);
}

/** A matcher for exactly these labels (and any others): a ReplicationController's or a Service's selector. Not validated. */
export function labelMatcherOfSet(labels: Labels): LabelMatcher {
  return new LabelMatcher(Object.entries(labels).map(([key, value]) => ({ key, operator: '=', values: [value] })));
}

/** `a=b,c=d`, sorted by key: how labels are printed and how a set becomes a selector's text. */
export function formatLabels(labels: Labels | undefined): string {
  return Object.keys(labels ?? {})
    .sort()
    .map((key) => `${key}=${labels![key]}`)
    .join(',');
}

const operatorsOfExpressions: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

/** Errors of a map of labels: keys and values both blame the map itself, as upstream does. */
export function validateLabels(labels: Labels | undefined, at: FieldPath): FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...qualifiedName(key).map((message) => invalid(at, key, message)),
    ...labelValue(value).map((message) => invalid(at, value, message)),
  ]);
}

export interface LabelSelectorValidation {
  /** Take values that are no label values, because the stored object has some already. */
  readonly allowInvalidValues?: boolean;
  readonly allowUnknownOperators?: boolean;
}

export function validateLabelSelector(
  selector: LabelSelector | undefined,
  at: FieldPath,
  options: LabelSelectorValidation = {},
): FieldError[] {
  const errors = validateLabels(selector?.matchLabels, at.child('matchLabels'));
  for (const [index, expression] of (selector?.matchExpressions ?? []).entries()) {
    const here = at.child('matchExpressions').index(index);
    const values = expression.values ?? [];
    switch (expression.operator) {
      case 'In':
      case 'NotIn':
        if (values.length > 0) break;
        errors.push(required(here.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
        break;
      case 'Exists':
      case 'DoesNotExist':
        if (values.length === 0) break;
        errors.push(
          forbidden(here.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        );
        break;
      default:
        if (options.allowUnknownOperators) break;
        errors.push(invalid(here.child('operator'), expression.operator, 'not a valid selector operator'));
    }
    errors.push(...qualifiedName(expression.key).map((m) => invalid(here.child('key'), expression.key, m)));
    if (options.allowInvalidValues) continue;
    for (const [i, value] of values.entries()) {
      errors.push(...labelValue(value).map((message) => invalid(here.child('values').index(i), value, message)));
    }
  }
  return errors;
}

function satisfies({ key, operator, values }: LabelRequirement, labels: Labels | undefined): boolean {
  const present = labels !== undefined && Object.hasOwn(labels, key);
  switch (operator) {
    case 'exists':
      return present;
    case '!':
      return !present;
    case 'in':
    case '=':
    case '==':
      return present && values.includes(labels[key]!);
    case 'notin':
    case '!=':
      return !present || !values.includes(labels[key]!);
    default: {
      const found = present ? parseInt64(labels[key]!) : undefined;
      const bound = parseInt64(values[0]!);
      if (found === undefined || bound === undefined) return false;
      return operator === 'gt' ? found > bound : found < bound;
    }
  }
}

function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value === BigInt.asIntN(64, value) ? value : undefined;
}

function requirementText({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    case 'gt':
      return `${key}>${values.join(',')}`;
    case 'lt':
      return `${key}<${values.join(',')}`;
    default:
      return `${key}${operator}${values.join(',')}`;
  }
}

const binaryOperators = ['in', 'notin', '=', '==', '!=', 'gt', 'lt'] as const;

/** A validated requirement; throws `SelectorError` with all that is wrong. */
function requirement(key: string, operator: LabelOperator, given: readonly string[]): LabelRequirement {
  const values = [...new Set(given)].sort();
  const errors: FieldError[] = [];
  const keyMessages = qualifiedName(key);
  if (keyMessages.length > 0) errors.push(invalid(path('key'), key, keyMessages.join('; ')));
  errors.push(...valueErrors(operator, values));
  for (const [index, value] of values.entries()) {
    const messages = labelValue(value);
    if (messages.length > 0) errors.push(invalid(path('values').index(index).key(key), value, messages.join('; ')));
  }
  if (errors.length > 0) throw new SelectorError(errorsText(errors));
  return { key, operator, values };
}

function valueErrors(operator: LabelOperator, values: readonly string[]): FieldError[] {
  const at = path('values');
  switch (operator) {
    case 'in':
    case 'notin':
      return values.length > 0 ? [] : [invalid(at, values, "for 'in', 'notin' operators, values set can't be empty")];
    case '=':
    case '==':
    case '!=':
      return values.length === 1 ? [] : [invalid(at, values, 'exact-match compatibility requires one single value')];
    case 'exists':
    case '!':
      return values.length === 0 ? [] : [invalid(at, values, 'values set must be empty for exists and does not exist')];
    case 'gt':
    case 'lt':
      return [
        ...(values.length === 1
          ? []
          : [invalid(at, values, "for 'Gt', 'Lt' operators, exactly one value is required")]),
        ...values.flatMap((value, i) =>
          parseInt64(value) === undefined
            ? [invalid(at.index(i), value, "for 'Gt', 'Lt' operators, the value must be an integer")]
            : [],
        ),
      ];
    default:
      return [notSupported(path('operator'), operator, [...binaryOperators, 'exists', '!'])];
  }
}

type TokenKind =
  | 'end'
  | 'identifier'
  | 'error'
  | ')'
  | ','
  | '!'
  | '=='
  | '='
  | '>'
  | 'in'
  | '<'
  | '!='
  | 'notin'
  | '(';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const keywords: ReadonlySet<string> = new Set([')', ',', '!', '==', '=', '>', 'in', '<', '!=', 'notin', '(']);

/** `a in (b)` -> identifier a, in, (, identifier b, ), end. */
function scan(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  while (position < text.length) {
    const rest = text.slice(position);
    const space = /^[ \t\r\n]+/.exec(rest);
    if (space) {
      position += space[0].length;
      continue;
    }
    const symbol = /^[=!(),<>]+/.exec(rest);
    const token = symbol ? symbolToken(symbol[0]) : wordToken(/^[^=!(),<> \t\r\n]+/.exec(rest)![0]);
    tokens.push(token);
    position += token.text.length;
  }
  return [...tokens, { kind: 'end', text: '' }];
}

/** The longest operator that a run of symbols begins with: `==` of `==(`. */
function symbolToken(run: string): Token {
  const two = run.slice(0, 2);
  const found = keywords.has(two) ? two : run.slice(0, 1);
  return { kind: found as TokenKind, text: found };
}

function wordToken(word: string): Token {
  return { kind: keywords.has(word) ? (word as TokenKind) : 'identifier', text: word };
}

/** Recursive descent over the tokens, with upstream's words for what it did not expect. */
class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const next = this.#peek();
      if (next.kind === 'end') return requirements;
      if (next.kind !== 'identifier' && next.kind !== '!') {
        throw new SelectorError(`found '${next.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const separator = this.#take();
      if (separator.kind === 'end') return requirements;
      if (separator.kind !== ',')
        throw new SelectorError(`found '${separator.text}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after.kind !== 'identifier' && after.kind !== '!') {
        throw new SelectorError(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  #requirement(): LabelRequirement {
    try {
      return this.#parseRequirement();
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      throw new SelectorError(`unable to parse requirement: ${error.message}`);
    }
  }

  #parseRequirement(): LabelRequirement {
    let token = this.#take();
    const negated = token.kind === '!';
    if (negated) token = this.#take();
    if (token.kind !== 'identifier') throw new SelectorError(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const messages = qualifiedName(key);
    // Upstream has no path to blame here and prints Go's nil.
    if (messages.length > 0) throw new SelectorError(`<nil>: Invalid value: ${quote(key)}: ${messages.join('; ')}`);
    if (negated) return requirement(key, '!', []);
    const next = this.#peek().kind;
    if (next === 'end' || next === ',') return requirement(key, 'exists', []);
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#values() : this.#exactValue();
    return requirement(key, operator, values);
  }

  #operator(): LabelOperator {
    const token = this.#takeRaw();
    switch (token.kind) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
        return token.kind;
      case '>':
        return 'gt';
      case '<':
        return 'lt';
      default:
        throw new SelectorError(`found '${token.text}', expected: ${binaryOperators.join(', ')}`);
    }
  }

  #values(): string[] {
    const open = this.#take();
    if (open.kind !== '(') throw new SelectorError(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind === ')') {
      this.#take();
      return [''];
    }
    if (first.kind !== 'identifier' && first.kind !== ',') {
      throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values = this.#list();
    if (this.#take().kind !== ')') throw new SelectorError(`found '${first.text}', expected: ')'`);
    return values;
  }

  /** `a,b`; a missing value between commas counts as the empty one. */
  #list(): string[] {
    const values: string[] = [];
    for (;;) {
      const token = this.#take();
      const next = this.#peek();
      if (token.kind === 'identifier') {
        values.push(token.text);
        if (next.kind === ',') continue;
        if (next.kind === ')') return values;
        throw new SelectorError(`found '${next.text}', expected: ',' or ')'`);
      }
      if (token.kind !== ',') throw new SelectorError(`found '${token.text}', expected: ',', or identifier`);
      if (values.length === 0) values.push('');
      if (next.kind === ')') return [...values, ''];
      if (next.kind === ',') values.push('');
    }
  }

  #exactValue(): string[] {
    const next = this.#peek().kind;
    if (next === 'end' || next === ',') return [''];
    const token = this.#take();
    if (token.kind === 'identifier') return [token.text];
    throw new SelectorError(`found '${token.text}', expected: identifier`);
  }

  /** `in` and `notin` are words like any other where no operator can stand. */
  #peek(): Token {
    const token = this.#tokens[Math.min(this.#position, this.#tokens.length - 1)]!;
    return token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#position++;
    return token;
  }

  #takeRaw(): Token {
    return this.#tokens[Math.min(this.#position++, this.#tokens.length - 1)]!;
  }
}

/**
 * JSONPath as Kubernetes has it: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.items[0:2]['name','kind']`, `..name`.
 * Columns of custom resources and selectable fields are read by it. A path is parsed once and finds a list of values; what is missing
 * along the way is no error, a wrong kind of value is.
 *
 * Its quirks are upstream's: a key in brackets is split at its dots unless they are escaped (`['a\.b']`), and comparisons take two texts
 * or two numbers and nothing else.
 */
import { formatNumber } from './go-number.ts';
import { goJson } from './go-text.ts';
import { isObject } from './patch/merge-patch.ts';

/** The path is malformed, or does not fit the value. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** From the values found so far to the next. */
type Step = (values: readonly unknown[]) => unknown[];

/** No path needs more; `..` upon `..` would find as many as there is memory. */
const mostResults = 100_000;

export class JsonPath {
  readonly #steps: readonly Step[];

  /** Throws `JsonPathError`. */
  constructor(text: string) {
    this.#steps = new Parser(text).steps();
  }

  /** All values that the path leads to, none where something is missing. Throws `JsonPathError`. */
  find(value: unknown): unknown[] {
    return follow(this.#steps, [value]);
  }
}

/** A value as text: objects and lists as JSON. */
export function jsonPathText(value: unknown): string {
  if (value === null || value === undefined) return '<no value>';
  if (typeof value === 'object') return goJson(value);
  return typeof value === 'number' ? formatNumber(value) : String(value);
}

function follow(steps: readonly Step[], values: readonly unknown[]): unknown[] {
  let found = [...values];
  for (const step of steps) {
    found = step(found);
    if (found.length > mostResults) throw tooManyResults();
  }
  return found;
}

const terminators = /[\s.,[\]$@{}]/;

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  steps(): Step[] {
    const steps: Step[] = [];
    for (let wasDescent = false; this.#at < this.#text.length; ) {
      const rest = this.#text.slice(this.#at, this.#at + 3);
      const isDescent = rest.startsWith('..');
      if (isDescent && wasDescent) throw new JsonPathError('invalid multiple recursive descent');
      steps.push(...(rest === '[?(' ? [this.#filter()] : isDescent ? this.#descent() : this.#step(rest[0]!)));
      wasDescent = isDescent && steps.at(-1) === descend;
    }
    return steps;
  }

  #step(first: string): Step[] {
    if (first === ' ' || first === '@' || first === '$') {
      this.#at++;
      return [];
    }
    if (first === '[') return this.#brackets();
    if (first === '"' || first === "'") return [this.#quoted(first)];
    if (first === '.') {
      this.#at++;
      return [this.#field()];
    }
    if (/[+\-\d]/.test(first)) return [this.#number()];
    if (/[\p{L}_]/u.test(first)) return [this.#word()];
    if (/[\r\n]/.test(first)) throw new JsonPathError('unclosed action');
    const code = first.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    throw new JsonPathError(`unrecognized character in action: U+${code} '${first}'`);
  }

  #descent(): Step[] {
    this.#at += 2;
    return /[\p{L}\p{N}_]/u.test(this.#text[this.#at] ?? '') ? [descend, this.#field()] : [descend];
  }

  #field(): Step {
    const start = this.#at;
    while (this.#at < this.#text.length && !terminators.test(this.#text[this.#at]!))
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    const name = this.#text.slice(start, this.#at);
    return name === '*' ? everything : field(name.replaceAll('\\', ''));
  }

  #word(): Step {
    const start = this.#at;
    while (this.#at < this.#text.length && !terminators.test(this.#text[this.#at]!)) this.#at++;
    const word = this.#text.slice(start, this.#at);
    if (word !== 'true' && word !== 'false') throw new JsonPathError(`unrecognized identifier ${word}`);
    return literal(word === 'true');
  }

  #number(): Step {
    const start = this.#at++;
    while (/[.\d]/.test(this.#text[this.#at] ?? '')) this.#at++;
    const text = this.#text.slice(start, this.#at);
    if (!/^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text)) throw new JsonPathError(`cannot parse number ${text}`);
    return literal(Number(text));
  }

  #quoted(quotes: string): Step {
    const start = ++this.#at;
    while (this.#text[this.#at] !== quotes) {
      if (this.#at >= this.#text.length) throw new JsonPathError('unterminated quoted string');
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    }
    const text = this.#text.slice(start, this.#at++);
    const value = text.replace(/\\([nrt]|.)/gs, (_, c: string) => ({ n: '\n', r: '\r', t: '\t' })[c] ?? c);
    return () => [value];
  }

  #brackets(): Step[] {
    const end = this.#text.indexOf(']', this.#at);
    if (end < 0) throw new JsonPathError('unterminated array');
    const inside = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    const parts = inside.split(',');
    if (parts.length === 1) return selection(inside);
    const selections = parts.map((part) => selection(part.replace(/^ +| +$/g, '')));
    return [(values) => selections.flatMap((steps) => follow(steps, values))];
  }

  /** `[?(left operator right)]`, or `[?(path)]` for what is there. */
  #filter(): Step {
    const start = this.#at + '[?('.length;
    const end = endOfFilter(this.#text, start);
    if (end === undefined) throw new JsonPathError('unterminated filter');
    if (this.#text[end + 1] !== ']') throw new JsonPathError('unclosed array expect ]');
    this.#at = end + 2;
    const inside = this.#text.slice(start, end);
    const found = /^([^!<>=]+)([!<>=]+)(.+)$/s.exec(inside);
    if (!found) return existing(new Parser(inside).steps());
    const [, left, operator, right] = found as unknown as [string, string, string, string];
    const compare = comparisons[operator];
    if (!compare) throw new JsonPathError(`unrecognized filter operator ${operator}`);
    return comparing(new Parser(left).steps(), compare, new Parser(right).steps());
  }
}

/** The closing parenthesis that stands in no quotes. */
function endOfFilter(text: string, start: number): number | undefined {
  let quotes: string | undefined;
  for (let i = start; i < text.length; i++) {
    const c = text[i]!;
    if (c === '\\' && quotes !== undefined) i++;
    else if (c === quotes) quotes = undefined;
    else if (quotes === undefined && (c === '"' || c === "'")) quotes = c;
    else if (quotes === undefined && c === ')') return i;
  }
  return undefined;
}

/** What stands in brackets: a star, a key, an index or a slice. */
function selection(text: string): Step[] {
  const key = /^'([^']*)'$/.exec(text)?.[1];
  if (key !== undefined) return new Parser(`.${key}`).steps();
  const found = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text === '*' ? ':' : text);
  if (!found) throw new JsonPathError(`invalid array index ${text}`);
  const [first, second, third] = found.slice(1).map((part) => numberOf(part));
  if (found[2] !== undefined) return [slice({ from: first ?? 0, to: second, step: third ?? 1 })];
  const from = first ?? 0;
  return [slice({ from, to: from === -1 ? undefined : from + 1, step: 1 })];
}

function numberOf(part: string | undefined): number | undefined {
  const digits = part?.replace(/^:/, '') ?? '';
  if (digits === '') return undefined;
  if (!/^-?\d{1,15}$/.test(digits)) throw new JsonPathError(`array index ${digits} is not a number`);
  return Number(digits);
}

function literal(value: unknown): Step {
  return (values) => values.map(() => value);
}

function field(name: string): Step {
  return (values) => values.flatMap((value) => (isObject(value) && Object.hasOwn(value, name) ? [value[name]] : []));
}

function childrenOf(value: unknown): unknown[] {
  if (typeof value === 'string') return [...value];
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

const everything: Step = (values) => values.flatMap(childrenOf);

/** The values and all below them that have something below. */
const descend: Step = (values) => {
  const found: unknown[] = [];
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    const children = childrenOf(value);
    if (children.length === 0) return;
    if (found.push(value) > mostResults) throw tooManyResults();
    for (const child of children) visit(child);
  };
  for (const value of values) visit(value);
  return found;
};

function tooManyResults(): JsonPathError {
  return new JsonPathError(`more than ${mostResults} results`);
}

interface Range {
  readonly from: number;
  readonly to: number | undefined;
  readonly step: number;
}

function slice({ from, to, step }: Range): Step {
  return (values) =>
    values.flatMap((value) => {
      if (value === null || value === undefined) return [];
      if (!Array.isArray(value)) throw new JsonPathError(`${typeof value} is not array or slice`);
      const { length } = value;
      const first = from < 0 ? from + length : from;
      const end = to === undefined ? length : to < 0 ? to + length : to;
      if (first === end) return [];
      if (first < 0 || first >= length)
        throw new JsonPathError(`array index out of bounds: index ${first}, length ${length}`);
      if (end < 0 || end > length)
        throw new JsonPathError(`array index out of bounds: index ${end - 1}, length ${length}`);
      if (first > end) throw new JsonPathError(`starting index ${first} is greater than ending index ${end}`);
      if (step <= 0) throw new JsonPathError('step must be > 0');
      return value.slice(first, end).filter((_, index) => index % step === 0);
    });
}

function itemsToFilter(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new JsonPathError(`${jsonPathText(value)} is not array or slice and cannot be filtered`);
}

function existing(steps: readonly Step[]): Step {
  const exists = (item: unknown) => {
    try {
      return follow(steps, [item]).length > 0;
    } catch (error) {
      if (error instanceof JsonPathError) return false;
      throw error;
    }
  };
  return (values) => values.flatMap((value) => itemsToFilter(value).filter(exists));
}

type Comparison = (left: string | number | boolean, right: string | number | boolean) => boolean;

const comparisons: Readonly<Record<string, Comparison>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': ordered((left, right) => left < right),
  '<=': ordered((left, right) => left <= right),
  '>': ordered((left, right) => left > right),
  '>=': ordered((left, right) => left >= right),
};

function ordered(compare: Comparison): Comparison {
  return (left, right) => {
    if (typeof left === 'boolean') throw new JsonPathError('invalid type for comparison');
    return compare(left, right);
  };
}

function comparing(left: readonly Step[], compare: Comparison, right: readonly Step[]): Step {
  const passes = (item: unknown) => {
    const [found, wanted] = [operand(left, item), operand(right, item)];
    if (found === undefined || wanted === undefined) return false;
    if (typeof found !== typeof wanted) throw new JsonPathError('incompatible types for comparison');
    return compare(found, wanted);
  };
  return (values) => values.flatMap((value) => itemsToFilter(value).filter(passes));
}

/** Undefined where there is nothing to compare. */
function operand(steps: readonly Step[], item: unknown): string | number | boolean | undefined {
  const found = follow(steps, [item]);
  if (found.length > 1) throw new JsonPathError('can only compare one element at a time');
  const [value] = found;
  if (found.length === 0) return undefined;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new JsonPathError('invalid type for comparison');
}

/**
 * The JSONPath of printer columns: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.spec['a.b']`, `.items[-1]`, `.a[*]`.
 * Read once, then applied to any object; what is missing is simply not found.
 */

export interface JsonPath {
  /** Everything the path leads to, in order. */
  find(value: unknown): unknown[];
}

type Step = (value: unknown) => readonly unknown[];

/** Throws an `Error` for what is no path. */
export function parseJsonPath(text: string): JsonPath {
  const steps: Step[] = [];
  let rest = text.replace(/^\$/, '');
  if (rest !== '' && !/^[.[]/.test(rest)) rest = `.${rest}`;
  while (rest !== '') {
    const { step, length } = readStep(rest);
    steps.push(step);
    rest = rest.slice(length);
  }
  return { find: (value) => steps.reduce<unknown[]>((found, step) => found.flatMap(step), [value]) };
}

const fieldPattern = /^\.((?:\\.|[^.[\]\\\s])+)/;
const quotedPattern = /^\[\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\s*\]/;
const indexPattern = /^\[\s*(-?\d+)\s*\]/;
const slicePattern = /^\[\s*(-?\d*)\s*:\s*(-?\d*)\s*(?::\s*(\d*)\s*)?\]/;
const allPattern = /^(?:\[\s*\*\s*\]|\.\*)/;
const filterPattern = /^\[\?\((.*?)\)\]/;

function readStep(text: string): { readonly step: Step; readonly length: number } {
  const all = allPattern.exec(text);
  if (all) return { step: childrenOf, length: all[0].length };
  if (text.startsWith('..')) return { step: descendantsOf, length: /^\.\.[\w*]/.test(text) ? 1 : 2 };
  const field = fieldPattern.exec(text);
  if (field) return { step: fieldStep(unescaped(field[1]!)), length: field[0].length };
  const quoted = quotedPattern.exec(text);
  if (quoted) return { step: fieldStep(unescaped(quoted[1] ?? quoted[2] ?? '')), length: quoted[0].length };
  const index = indexPattern.exec(text);
  if (index) return { step: (value) => present(listOf(value).at(Number(index[1]))), length: index[0].length };
  const slice = slicePattern.exec(text);
  if (slice) return { step: sliceStep(slice), length: slice[0].length };
  const filter = filterPattern.exec(text);
  if (filter) return { step: filterStep(filter[1]!), length: filter[0].length };
  if (text === '.') return { step: (value) => [value], length: 1 };
  throw new Error(`unrecognized path ${JSON.stringify(text)}`);
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, '$1');
}

function present(value: unknown): readonly unknown[] {
  return value === undefined ? [] : [value];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function fieldStep(name: string): Step {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return [];
    return present((value as Readonly<Record<string, unknown>>)[name]);
  };
}

function childrenOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function descendantsOf(value: unknown): readonly unknown[] {
  return [value, ...childrenOf(value).flatMap(descendantsOf)];
}

function sliceStep([, start = '', end = '', step = '']: RegExpExecArray): Step {
  const width = step === '' ? 1 : Number(step);
  if (width === 0) throw new Error('step must be > 0');
  const bound = (text: string) => (text === '' ? undefined : Number(text));
  return (value) =>
    listOf(value)
      .slice(bound(start), bound(end))
      .filter((_, index) => index % width === 0);
}

const comparisons: Readonly<Record<string, (a: unknown, b: unknown) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => ordered(a, b, (x, y) => x < y),
  '<=': (a, b) => ordered(a, b, (x, y) => x <= y),
  '>': (a, b) => ordered(a, b, (x, y) => x > y),
  '>=': (a, b) => ordered(a, b, (x, y) => x >= y),
};

function ordered(a: unknown, b: unknown, compare: (x: string | number, y: string | number) => boolean): boolean {
  if (typeof a !== typeof b || (typeof a !== 'string' && typeof a !== 'number')) return false;
  return compare(a, b as string | number);
}

/** `@.type=="Ready"`, or `@.ready` for elements that have the field. */
function filterStep(text: string): Step {
  const [, left = '', operator, right = ''] = /^(.*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.*))?$/.exec(text.trim()) ?? [];
  const find = operand(left);
  if (operator === undefined) return (value) => elementsOf(value).filter((element) => find(element).length > 0);
  const other = operand(right);
  return (value) =>
    elementsOf(value).filter((element) => {
      const [a] = find(element);
      const [b] = other(element);
      return a !== undefined && b !== undefined && comparisons[operator]!(a, b);
    });
}

function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : present(value);
}

function operand(text: string): Step {
  const trimmed = text.trim();
  if (trimmed.startsWith('@')) return parseJsonPath(trimmed.slice(1)).find;
  const quoted = /^'(.*)'$|^"(.*)"$/.exec(trimmed);
  if (quoted) return () => [unescaped(quoted[1] ?? quoted[2] ?? '')];
  if (trimmed === 'true' || trimmed === 'false') return () => [trimmed === 'true'];
  if (trimmed === '' || Number.isNaN(Number(trimmed)))
    throw new Error(`unrecognized operand ${JSON.stringify(trimmed)}`);
  return () => [Number(trimmed)];
}

/** What cel-go adds to strings (`ext.Strings`, version 2): searching, cutting, joining, quoting, formatting. Indices count code points. */
import {
  ArrayList,
  CelError,
  type CelList,
  type CelResult,
  codePointCount,
  costs,
  type EstimatedCall,
  type FunctionDeclaration,
  fixed,
  intType,
  isCelError,
  type Library,
  listOf,
  listType,
  type Overload,
  plus,
  type SizeRange,
  scaled,
  sizeForCost,
  stringType,
  times,
  unbounded,
} from '../index.ts';
import { elementsCost, firstOf, walkCost } from './call-costs.ts';
import { formatText } from './text-format.ts';
import { longestText, tooLong } from './text-limits.ts';

const same = (size: SizeRange) => size;
const texts2 = [stringType, stringType];
const texts3 = [stringType, stringType, stringType];

/** Version 0, until Kubernetes 1.29. */
export const firstTexts: Library = { functions: firstFunctions() };

export const texts: Library = {
  functions: [
    ...firstFunctions(),
    {
      name: 'strings.quote',
      overloads: [{ id: 'strings_quote', parameters: [stringType], result: stringType, call: quoted }],
      ...walkCost(1, (size) => ({ min: size.min + 2, max: size.max * 2 + 2 })),
    },
    {
      name: 'format',
      overloads: [
        member('string_format', [stringType, listType], (pattern: string, args: CelList) => formatText(pattern, args)),
      ],
      ...walkCost(),
    },
  ],
};

function firstFunctions(): FunctionDeclaration[] {
  return [
    {
      name: 'charAt',
      overloads: [member('string_char_at_int', [stringType, intType], charAt)],
    },
    {
      name: 'indexOf',
      overloads: [
        member('string_index_of_string', texts2, (text: string, part: string) => indexOf(text, part, 0n), intType),
        member('string_index_of_string_int', [...texts2, intType], indexOf, intType),
      ],
      ...elementsCost,
    },
    {
      name: 'lastIndexOf',
      overloads: [
        member('string_last_index_of_string', texts2, lastIndexOf, intType),
        member('string_last_index_of_string_int', [...texts2, intType], lastIndexOfBefore, intType),
      ],
      ...elementsCost,
    },
    { name: 'lowerAscii', overloads: [member('string_lower_ascii', [stringType], lowerAscii)], ...walkCost(1, same) },
    { name: 'upperAscii', overloads: [member('string_upper_ascii', [stringType], upperAscii)], ...walkCost(1, same) },
    { name: 'trim', overloads: [member('string_trim', [stringType], trim)], ...walkCost(1, same) },
    {
      name: 'substring',
      overloads: [
        member('string_substring_int', [stringType, intType], (text: string, start: bigint) => substring(text, start)),
        member('string_substring_int_int', [stringType, intType, intType], (text: string, start: bigint, end: bigint) =>
          substring(text, start, end),
        ),
      ],
      ...walkCost(1, same),
    },
    replacing(),
    splitting(),
    joining(),
  ];
}

function member(id: string, parameters: Overload['parameters'], call: Overload['call'], result = stringType): Overload {
  return { id, member: true, parameters, result, call };
}

function replacing(): FunctionDeclaration {
  return {
    name: 'replace',
    overloads: [
      member('string_replace_string_string', texts3, (text: string, old: string, by: string) =>
        replace(text, old, by, -1n),
      ),
      member('string_replace_string_string_int', [...texts3, intType], replace),
    ],
    cost: walkCost(2).cost,
    estimate: (call) => ({ ...walkCost(2).estimate(call)!, resultSize: replacedSize(call) }),
  };
}

function splitting(): FunctionDeclaration {
  const result = listOf(stringType);
  return {
    name: 'split',
    overloads: [
      member('string_split_string', texts2, (text: string, by: string) => split(text, by, -1n), result),
      member('string_split_string_int', [...texts2, intType], split, result),
    ],
    cost: walkCost(2).cost,
    estimate: (call) => {
      const limit = call.args[1]?.expression;
      const known = limit?.kind === 'literal' && typeof limit.value === 'bigint' ? limit.value : undefined;
      const most = known === undefined ? call.sizeOf(firstOf(call)).max : known < 0n ? unbounded : Number(known);
      return { ...walkCost(2).estimate(call)!, resultSize: { min: 0, max: most } };
    },
  };
}

function joining(): FunctionDeclaration {
  return {
    name: 'join',
    overloads: [
      member('list_join', [listOf(stringType)], (list: CelList) => join(list, '')),
      member('list_join_string', [listOf(stringType), stringType], join),
    ],
    cost: (_, result) => Math.ceil(sizeForCost(result) * 2 * costs.traversal),
    estimate: (call) => {
      const target = firstOf(call);
      const count = call.sizeOf(target);
      const element = call.elementsOf(target);
      const elements = element ? times(count, call.sizeOf(element)) : fixed(0);
      const gaps = { min: Math.max(count.min - 1, 0), max: Math.max(count.max - 1, 0) };
      const size = call.args[0] ? plus(elements, times(call.sizeOf(call.args[0]), gaps)) : elements;
      return { cost: scaled(size, costs.traversal), resultSize: size };
    },
  };
}

/** How large a text can be after a replacement, given how often what is replaced can occur in it. */
function replacedSize(call: EstimatedCall): SizeRange {
  const text = call.sizeOf(firstOf(call));
  const old = call.sizeOf(call.args[0]!);
  const by = call.sizeOf(call.args[1]!);
  const most = occurrences(text.max, old.min, by.max <= old.min);
  const least = occurrences(text.min, old.max, old.max <= by.min);
  return plus(times({ min: least.count, max: most.count }, by), { min: least.kept, max: most.kept });
}

function occurrences(
  size: number,
  oldSize: number,
  unchanged: boolean,
): { readonly count: number; readonly kept: number } {
  if (oldSize === 0) return { count: size + 1, kept: size };
  if (unchanged) return { count: 0, kept: size };
  return { count: Math.ceil(size / oldSize), kept: 0 };
}

const outOfRange = (index: bigint) => new CelError(`index out of range: ${index}`);

/** The UTF-16 offset of a code point; that of the end for one past the last. */
function offsetOf(text: string, index: number): number {
  let offset = 0;
  for (let i = 0; i < index; i++) offset += text.codePointAt(offset)! > 0xffff ? 2 : 1;
  return offset;
}

function charAt(text: string, index: bigint): CelResult {
  const size = codePointCount(text);
  if (index < 0n || index > BigInt(size)) return outOfRange(index);
  if (index === BigInt(size)) return '';
  return String.fromCodePoint(text.codePointAt(offsetOf(text, Number(index)))!);
}

function indexOf(text: string, part: string, from: bigint): CelResult {
  if (part === '') return from;
  if (from < 0n) return outOfRange(from);
  if (from >= BigInt(codePointCount(text))) return -1n;
  const found = text.indexOf(part, offsetOf(text, Number(from)));
  return found < 0 ? -1n : BigInt(codePointCount(text.slice(0, found)));
}

function lastIndexOf(text: string, part: string): CelResult {
  const size = codePointCount(text);
  if (part === '') return BigInt(size);
  if (Buffer.byteLength(text) < Buffer.byteLength(part)) return -1n;
  return lastIndexOfBefore(text, part, BigInt(size - 1));
}

function lastIndexOfBefore(text: string, part: string, last: bigint): CelResult {
  if (part === '') return last;
  if (last < 0n) return outOfRange(last);
  if (last >= BigInt(codePointCount(text))) return -1n;
  const found = text.lastIndexOf(part, offsetOf(text, Number(last)));
  return found < 0 ? -1n : BigInt(codePointCount(text.slice(0, found)));
}

function substring(text: string, start: bigint, end?: bigint): CelResult {
  const size = BigInt(codePointCount(text));
  if (end !== undefined && start > end) {
    return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  }
  if (start < 0n || start > size) return outOfRange(start);
  if (end !== undefined && (end < 0n || end > size)) return outOfRange(end);
  return text.slice(offsetOf(text, Number(start)), end === undefined ? undefined : offsetOf(text, Number(end)));
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function upperAscii(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

const isSpace = (character: string) => /\p{White_Space}/u.test(character);

/** Go's notion of white space, which is not JavaScript's: with U+0085, without U+FEFF. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text[start]!)) start++;
  while (end > start && isSpace(text[end - 1]!)) end--;
  return text.slice(start, end);
}

/** The first `most` occurrences, all where it is negative. An empty text occurs before each character and at the end. */
function replace(text: string, old: string, by: string, most: bigint): CelResult {
  const parts = old === '' ? ['', ...text, ''] : text.split(old);
  const available = parts.length - 1;
  const count = most < 0n || most > BigInt(available) ? available : Number(most);
  if (text.length + count * by.length > longestText) return tooLong();
  if (count === available && old !== '') return parts.join(by);
  const replaced = parts.slice(0, count + 1).join(by);
  const rest = parts.slice(count + 1);
  if (rest.length === 0) return replaced;
  return old === '' ? replaced + rest.join('') : replaced + old + rest.join(old);
}

/** At most `most` parts, the last with what remains; all where it is negative. */
function split(text: string, by: string, most: bigint): CelResult {
  if (most === 0n) return new ArrayList([]);
  const parts = by === '' ? [...text] : text.split(by);
  if (most < 0n || BigInt(parts.length) <= most) return new ArrayList(parts);
  const kept = Number(most) - 1;
  return new ArrayList([...parts.slice(0, kept), parts.slice(kept).join(by)]);
}

function join(list: CelList, by: string): CelResult {
  const parts: string[] = [];
  let length = 0;
  for (let i = 0; i < list.size; i++) {
    const part = list.at(i);
    if (isCelError(part)) return part;
    if (typeof part !== 'string') return new CelError(`join: invalid input: ${String(part)}`);
    length += part.length + by.length;
    if (length > longestText) return tooLong();
    parts.push(part);
  }
  return parts.join(by);
}

const escapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** In double quotes, as an expression would write it. */
function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that have escapes
  return `"${text.toWellFormed().replace(/[\x07\b\f\n\r\t\v\\"]/g, (character) => escapes[character]!)}"`;
}

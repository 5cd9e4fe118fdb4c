/**
 * Paths into objects as definitions write them (`.spec.replicas`, `.metadata.labels['a.b']`), held against a schema: selectable fields
 * and the `fieldPath` of validation rules name fields that the schema has.
 */
import { FieldPath } from '../field-error.ts';
import { additionalSchema } from './pruning.ts';
import type { StructuralSchema } from './schema.ts';

export interface ResolvedPath {
  readonly path: FieldPath;
  readonly steps: readonly string[];
  readonly schema: StructuralSchema;
}

/** Throws an Error that says what is wrong with the path. Without `brackets` only `.name` is a step. */
export function resolveFieldPath(
  text: string,
  schema: StructuralSchema,
  { brackets = true }: { readonly brackets?: boolean } = {},
): ResolvedPath {
  const tokens = tokensOf(text);
  const steps: string[] = [];
  let found: ResolvedPath = { path: new FieldPath(''), steps, schema };
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token === '[' && !brackets) throw new Error('array notation is not allowed');
    if (token !== '[' && token !== '.') throw new Error(`expected [ or . but got: ${token}`);
    const next = tokens[++i];
    if (next === undefined) throw new Error('unexpected end of JSON path');
    const name = token === '.' ? next : unquoted(next);
    found = step(found, name);
    steps.push(name);
    if (token === '.') continue;
    const close = tokens[++i];
    if (close === undefined) throw new Error('unexpected end of JSON path');
    if (close !== ']') throw new Error(`expected ] but got ${close}`);
  }
  return found;
}

function step({ path, steps, schema }: ResolvedPath, name: string): ResolvedPath {
  const isStruct = schema.properties.size > 0;
  const next = isStruct ? schema.properties.get(name) : additionalSchema(schema);
  if (!next) throw new Error('does not refer to a valid field');
  return { path: isStruct ? path.child(name) : path.key(name), steps, schema: next };
}

/** Dots and brackets, and what stands between them; in single quotes they are text. */
function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = start + 1;
    if (text[start] === "'") {
      while (end < text.length && (text[end] !== "'" || text[end - 1] === '\\')) end++;
      end = Math.min(end + 1, text.length);
    } else if (!isDelimiter(text[start]!)) {
      while (end < text.length && !isDelimiter(text[end]!)) end++;
    }
    tokens.push(text.slice(start, end));
    start = end;
  }
  return tokens;
}

function isDelimiter(character: string): boolean {
  return character === '.' || character === '[' || character === ']';
}

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

function unquoted(token: string): string {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'"))
    throw new Error(`expected single quoted string but got ${token}`);
  return token.slice(1, -1).replace(/\\./gs, (found) => {
    const character = escapes[found[1]!];
    if (character === undefined) throw new Error(`invalid string literal: invalid escape char ${found}`);
    return character;
  });
}

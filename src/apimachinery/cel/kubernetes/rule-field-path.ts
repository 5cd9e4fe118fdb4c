/**
 * `fieldPath` of a rule: where below the rule's own place its error is reported. A JSON path of names, `.spec.size` or
 * `['spec']['my.size']`, that leads through properties and maps of the schema; never into a list.
 */
import { FieldPath } from '../../field-error.ts';
import type { StructuralSchema } from '../../structural-schema/schema.ts';

export class FieldPathError extends Error {
  override readonly name: string = 'FieldPathError';
}

/** Throws `FieldPathError` for a path that the schema does not have. */
export function resolveFieldPath(text: string, schema: StructuralSchema): FieldPath {
  const tokens = tokensOf(text);
  let path = new FieldPath('');
  let at: StructuralSchema | undefined = schema;
  for (let i = 0; i < tokens.length; ) {
    const token = tokens[i]!;
    if (token !== '[' && token !== '.') throw new FieldPathError(`expected [ or . but got: ${token}`);
    const name = token === '.' ? present(tokens[i + 1]) : bracketed(tokens, i + 1);
    i += token === '.' ? 2 : 3;
    const child: { readonly path: FieldPath; readonly schema: StructuralSchema | undefined } = step(path, at, name);
    path = child.path;
    at = child.schema;
  }
  return path;
}

function step(path: FieldPath, schema: StructuralSchema | undefined, name: string) {
  const fault = 'does not refer to a valid field';
  if (schema && schema.properties.size > 0) {
    const property = schema.properties.get(name);
    if (!property) throw new FieldPathError(fault);
    return { path: path.child(name), schema: property };
  }
  if (schema?.additionalProperties === undefined || schema.additionalProperties === false)
    throw new FieldPathError(fault);
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  return { path: path.key(name), schema: values };
}

/** Dots, brackets, texts in single quotes, and what is between them. */
function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const token = /^(?:'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]]+)/s.exec(rest)![0];
    tokens.push(token);
    rest = rest.slice(token.length);
  }
  return tokens;
}

function present(token: string | undefined): string {
  if (token === undefined) throw new FieldPathError('unexpected end of JSON path');
  return token;
}

function bracketed(tokens: readonly string[], start: number): string {
  const quoted = present(tokens[start]);
  if (quoted.length < 2 || !quoted.startsWith("'") || !quoted.endsWith("'")) {
    throw new FieldPathError(`expected single quoted string but got ${quoted}`);
  }
  const name = unescaped(quoted.slice(1, -1));
  const close = present(tokens[start + 1]);
  if (close !== ']') throw new FieldPathError(`expected ] but got ${close}`);
  return name;
}

const escapes: Readonly<Record<string, string>> = {
  '\\a': '\u0007',
  '\\b': '\b',
  '\\f': '\f',
  '\\n': '\n',
  '\\r': '\r',
  '\\t': '\t',
  '\\v': '\v',
  "\\'": "'",
  '\\\\': '\\',
};

function unescaped(text: string): string {
  return text.replace(/\\./gs, (found) => {
    const character = escapes[found];
    if (character === undefined) throw new FieldPathError(`invalid string literal: invalid escape char ${found}`);
    return character;
  });
}

/**
 * Names of properties as expressions write them. What is no identifier is escaped: `a-b` is `a__dash__b`, a keyword such as
 * `namespace` is `__namespace__`. A name with other characters has no spelling, so no expression can reach its property.
 */

const reserved: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);

const escapes: ReadonlyMap<string, string> = new Map([
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
]);

const unescapes: ReadonlyMap<string, string> = new Map([...escapes].map(([plain, escaped]) => [escaped, plain]));

/** Since 1.31 an expression may also write a keyword as it is, behind a dot. */
export const isReserved = (name: string): boolean => reserved.has(name);

/** The spelling of a property's name; undefined where it has none. */
export function escapeIdentifier(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[-./]/g, (found) => escapes.get(found)!);
}

/** The name behind a spelling; undefined where it is not one that `escapeIdentifier` gives. */
export function unescapeIdentifier(spelling: string): string | undefined {
  let valid = true;
  const name = spelling.replace(/__[^_]+__/g, (found) => {
    const plain = unescapes.get(found);
    if (plain !== undefined) return plain;
    const word = found.slice(2, -2);
    if (!reserved.has(word) || found.length !== spelling.length) valid = false;
    return word;
  });
  return valid ? name : undefined;
}

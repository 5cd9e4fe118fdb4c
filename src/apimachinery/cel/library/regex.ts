/**
 * Regular expressions in Go's syntax: `find` and `findAll`. The engine runs in time linear in text and pattern, as Go's does, so no
 * expression can hang the server.
 */
import { ArrayList, CelError, type CelResult, intType, type Library, listOf, stringType } from '../index.ts';
import { compilePattern } from '../regular-expressions.ts';
import { regexCost } from './call-costs.ts';

export const regex: Library = {
  functions: [
    {
      name: 'find',
      overloads: [
        {
          id: 'string_find_string',
          member: true,
          parameters: [stringType, stringType],
          result: stringType,
          call: (text: string, pattern: string) => find(text, pattern),
        },
      ],
      ...regexCost,
    },
    {
      name: 'findAll',
      overloads: [
        {
          id: 'string_find_all_string',
          member: true,
          parameters: [stringType, stringType],
          result: listOf(stringType),
          call: (text: string, pattern: string) => findAll(text, pattern, -1n),
        },
        {
          id: 'string_find_all_string_int',
          member: true,
          parameters: [stringType, stringType, intType],
          result: listOf(stringType),
          call: findAll,
        },
      ],
      ...regexCost,
    },
  ],
};

/** The leftmost match, empty where there is none. */
function find(text: string, pattern: string): CelResult {
  const compiled = compilePattern(pattern);
  if (compiled instanceof CelError) return new CelError(`Illegal regex: ${compiled.message}`);
  const matcher = compiled.matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

/** At most `most` matches that do not overlap, from left to right; all where it is negative. */
function findAll(text: string, pattern: string, most: bigint): CelResult {
  const compiled = compilePattern(pattern);
  if (compiled instanceof CelError) return new CelError(`Illegal regex: ${compiled.message}`);
  const found: string[] = [];
  const matcher = compiled.matcher(text);
  let lastEnd = -1;
  while ((most < 0n || BigInt(found.length) < most) && matcher.find()) {
    // Go leaves out an empty match right behind another match.
    const empty = matcher.start() === matcher.end();
    if (!empty || matcher.start() !== lastEnd) found.push(matcher.group() ?? '');
    lastEnd = matcher.end();
  }
  return new ArrayList(found);
}

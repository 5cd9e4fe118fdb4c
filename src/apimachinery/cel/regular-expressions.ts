/** Go's regular expressions, in time linear in text and pattern whatever they are. */
import { RE2JS } from 're2js';
import { CelError } from './values.ts';

export type Pattern = ReturnType<typeof RE2JS.compile>;

/** Patterns may come from the data that is judged, and compiling takes milliseconds per thousand characters. */
const longestPattern = 10_000;

/** The compiled pattern, or why it is none, in Go's words. */
export function compilePattern(pattern: string): Pattern | CelError {
  if (pattern.length > longestPattern) return new CelError('error parsing regexp: expression too large');
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    return new CelError(error instanceof Error ? error.message : String(error));
  }
}

/** Whether the pattern is found anywhere in the text. */
export function matches(text: string, pattern: string): boolean | CelError {
  const compiled = compilePattern(pattern);
  return compiled instanceof CelError ? compiled : compiled.matcher(text).find();
}

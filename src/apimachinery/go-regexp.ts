/** Regular expressions as Go has them: RE2's syntax, matched in time linear to the text, so no pattern of a stranger can stall the server. */
import { RE2JS } from 're2js';

/** Says whether a text holds a match. Throws an Error in Go's words: ``error parsing regexp: missing closing ): `(` ``. */
export function compileGoRegexp(pattern: string): (text: string) => boolean {
  const compiled = RE2JS.compile(pattern);
  return (text) => compiled.test(text);
}

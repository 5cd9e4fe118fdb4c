/**
 * One e-mail address as Go's `mail.ParseAddress` takes it: `a@example.com`, `<a@example.com>`, `A. N. Other <a@example.com>`,
 * with comments in parentheses where white space may stand.
 */

const atom = "[A-Za-z0-9!#$%&'*+\\-/=?^_`{|}~\\u{80}-\\u{10ffff}]+";
const dotAtom = new RegExp(`${atom}(?:\\.${atom})*`, 'uy');
const phraseAtom = /[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.\u{80}-\u{10ffff}]+/uy;
const quoted = /"(?:[^"\\\r\n]|\\[ -~\t])*"/y;
const literal = /\[[!-Z^-~]*\]/y;

export function isEmail(text: string): boolean {
  const plain = withoutComments(text);
  if (plain === undefined) return false;
  const start = skipSpace(plain, 0);
  const bare = addressEnd(plain, start);
  if (bare !== undefined && skipSpace(plain, bare) === plain.length) return true;
  const open = phraseEnd(plain, start);
  if (plain[open] !== '<') return false;
  const end = addressEnd(plain, skipSpace(plain, open + 1));
  if (end === undefined) return false;
  const close = skipSpace(plain, end);
  return plain[close] === '>' && skipSpace(plain, close + 1) === plain.length;
}

/** Where `local@domain` that starts at an index ends. */
function addressEnd(text: string, start: number): number | undefined {
  const local = endOf(quoted, text, start) ?? endOf(dotAtom, text, start);
  if (local === undefined || text[local] !== '@') return undefined;
  return endOf(literal, text, local + 1) ?? endOf(dotAtom, text, local + 1);
}

/** Where the words of a name end. */
function phraseEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    const end = endOf(quoted, text, at) ?? endOf(phraseAtom, text, at);
    if (end === undefined) return at;
    at = skipSpace(text, end);
  }
}

function endOf(pattern: RegExp, text: string, start: number): number | undefined {
  const sticky = new RegExp(pattern);
  sticky.lastIndex = start;
  return sticky.test(text) ? sticky.lastIndex : undefined;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text[at] === ' ' || text[at] === '\t') at++;
  return at;
}

/** Comments become spaces; undefined where one is not closed. Parentheses in quotes are none. */
function withoutComments(text: string): string | undefined {
  if (!text.includes('(')) return text;
  let depth = 0;
  let inQuotes = false;
  let plain = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '\\' && (inQuotes || depth > 0)) {
      plain += depth > 0 ? '' : text.slice(i, i + 2);
      i++;
      continue;
    }
    if (c === '"' && depth === 0) inQuotes = !inQuotes;
    if (c === '(' && !inQuotes) depth++;
    plain += depth > 0 ? ' ' : c;
    if (c === ')' && depth > 0) depth--;
  }
  return depth === 0 ? plain : undefined;
}

/**
 * Patterns of registries, as pull secrets and credential providers name them: a host whose parts may hold `*`, `?` and `[a-z]`, a port
 * that must be the same, a path that must be a prefix. They are users' input, so matching one takes time in proportion to pattern and
 * text, never more.
 */

/** `*.registry.test:5000/team` fits `a.registry.test:5000/team/app`, but neither `registry.test:5000/team/app` nor another port. */
export function matchesRegistry(pattern: string, image: string): boolean {
  const wanted = parts(pattern);
  const actual = parts(image);
  if (wanted.port !== actual.port || wanted.labels.length !== actual.labels.length) return false;
  if (!actual.path.startsWith(wanted.path)) return false;
  return wanted.labels.every((label, index) => matchesGlob(label, actual.labels[index]!));
}

/** Whether it can be a pattern at all: why not, or undefined. */
export function patternProblem(pattern: string): string | undefined {
  if (URL.canParse(`https://${pattern.replaceAll(/[*?[\]]/g, 'x')}`)) return undefined;
  return `parse ${JSON.stringify(`https://${pattern}`)}: invalid URL`;
}

function parts(name: string) {
  const slash = name.indexOf('/');
  const address = slash < 0 ? name : name.slice(0, slash);
  const [, host = address, port = ''] = /^([^:]*):(\d*)$/.exec(address) ?? [];
  return { labels: host.split('.'), port, path: slash < 0 ? '' : name.slice(slash) };
}

type Token = 'star' | ((character: string) => boolean);

/** As Go's `path.Match`; a malformed pattern fits nothing. */
function matchesGlob(pattern: string, text: string): boolean {
  const tokens = tokensOf(pattern);
  if (!tokens) return false;
  let token = 0;
  let at = 0;
  // Where to go on when what follows the newest star did not fit: one character later.
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    const current = tokens[token];
    if (current === 'star') {
      star = token++;
      starAt = at;
    } else if (current?.(text[at]!)) {
      token++;
      at++;
    } else if (star >= 0) {
      token = star + 1;
      at = ++starAt;
    } else return false;
  }
  return tokens.slice(token).every((left) => left === 'star');
}

function tokensOf(pattern: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (character === '*') tokens.push('star');
    else if (character === '?') tokens.push(() => true);
    else if (character === '[') {
      const end = pattern.indexOf(']', at + 2);
      if (end < 0) return undefined;
      tokens.push(characterClass(pattern.slice(at + 1, end)));
      at = end;
    } else tokens.push((actual) => actual === character);
  }
  return tokens;
}

/** `a-z0` or `^a-z0`. */
function characterClass(text: string): (character: string) => boolean {
  const isNegated = text.startsWith('^');
  const ranges = [...(isNegated ? text.slice(1) : text).matchAll(/(.)-(.)|(.)/g)];
  return (character) =>
    isNegated !==
    ranges.some(([, from, to, single]) =>
      single === undefined ? from! <= character && character <= to! : single === character,
    );
}

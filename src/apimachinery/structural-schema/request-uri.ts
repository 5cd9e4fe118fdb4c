/** URIs as Go's `url.ParseRequestURI` takes them: an absolute URI, or an absolute path. */

const escapes = /%(?![0-9a-fA-F]{2})/;
/** In a host only what is not ASCII, and the percent sign of a zone, may be escaped. */
const hostEscapes = /%(?!25|[89a-fA-F][0-9a-fA-F])/;
const hostCharacters = /^[\w\-.~!$&'()*+,;=:[\]<>"%\u{80}-\u{10ffff}]*$/u;
const userCharacters = /^[\w\-.:~!$&'()*+,;=%@]*$/;

export function isRequestUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text)) return false;
  if (text === '*') return true;
  if (text.startsWith(':')) return false;
  const scheme = /^[a-zA-Z][a-zA-Z0-9+\-.]*(?=:)/.exec(text)?.[0] ?? '';
  const rest = (scheme === '' ? text : text.slice(scheme.length + 1)).split('?')[0]!;
  if (!rest.startsWith('/')) return scheme !== '';
  if (scheme === '' || !rest.startsWith('//')) return !escapes.test(rest);
  const slash = rest.indexOf('/', 2);
  const end = slash < 0 ? rest.length : slash;
  return isAuthority(rest.slice(2, end)) && !escapes.test(rest.slice(end));
}

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf('@');
  const user = text.slice(0, Math.max(at, 0));
  if (!userCharacters.test(user) || escapes.test(user)) return false;
  const host = text.slice(at + 1);
  if (!hostCharacters.test(host) || hostEscapes.test(host)) return false;
  if (!host.startsWith('[')) return !host.includes(':') || /:[0-9]*$/.test(host);
  const close = host.lastIndexOf(']');
  return close > 0 && /^(?::[0-9]*)?$/.test(host.slice(close + 1));
}

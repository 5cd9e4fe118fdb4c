/**
 * URLs as Go's `net/url` reads and writes them, since expressions see its parts and its words for what is no URL. The WHATWG
 * parser of the platform corrects what Go refuses, so it cannot stand in.
 *
 * Inside, a text is the string of its UTF-8 bytes (one character a byte): Go escapes and compares bytes.
 */
import { quote } from './go-text.ts';

export interface GoUrl {
  readonly scheme: string;
  /** What follows the scheme where that does not start with a slash: `mailto:joe` has `joe`. */
  readonly opaque: string;
  /** `user:password`, unescaped; undefined where there is no `@`. */
  readonly userInfo: string | undefined;
  /** Two slashes were written before the host, if there was one: `file:///x` has them, `file:/x` has not. */
  readonly slashes: boolean;
  /** With its port: `[::1]:80`. */
  readonly host: string;
  /** Escaped as it was written if that is a valid spelling, else as Go escapes it. */
  readonly escapedPath: string;
  /** As Go escapes it, however it was written: equal paths have equal texts. */
  readonly plainPath: string;
  /** Undecoded, without the question mark. */
  readonly rawQuery: string;
  /** A question mark was written, with nothing behind it. */
  readonly emptyQuery: boolean;
  readonly fragment: string;
  /** As `escapedPath`. */
  readonly escapedFragment: string;
}

/** Not a URL: `parse "x": invalid URI for request`. */
export class UrlError extends Error {
  override readonly name: string = 'UrlError';
}

/** A URL with a fragment, if any; throws `UrlError`. */
export function parseUrl(text: string): GoUrl {
  const bytes = toBytes(text);
  const hash = bytes.indexOf('#');
  const url = parsed(hash < 0 ? bytes : bytes.slice(0, hash), { request: false });
  if (hash < 0) return url;
  const written = bytes.slice(hash + 1);
  const plain = named(bytes, () => unescaped(written, 'fragment'));
  const escapedFragment = validFragment.test(written) ? written : plain.replace(inFragment, percentEncoded);
  return { ...url, fragment: fromBytes(plain), escapedFragment };
}

/** The URL as Go writes it. */
export function urlText(url: GoUrl): string {
  const { scheme, opaque, userInfo, host, escapedPath: path, rawQuery, fragment } = url;
  const user = userInfo === undefined ? '' : `${escaped(userInfo, /[^A-Za-z0-9\-_.~$&+,;=:]/g)}@`;
  const authority = user + escaped(host, /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/g);
  let text = scheme === '' ? '' : `${scheme}:`;
  if (opaque !== '') text += opaque;
  else {
    if (authority !== '' || (scheme !== '' && url.slashes && path !== '')) text += `//${authority}`;
    if (host !== '' && path !== '' && !path.startsWith('/')) text += '/';
    // Or the beginning of the path would be read as a scheme.
    if (text === '' && cut(path, '/')[0].includes(':')) text = './';
    text += path;
  }
  if (rawQuery !== '' || url.emptyQuery) text += `?${rawQuery}`;
  return fragment === '' ? text : `${text}#${url.escapedFragment}`;
}

/** A path as Go escapes it. */
export function escapePath(path: string): string {
  return escaped(path, inPath);
}

/** Whether the text is an absolute URI or an absolute path. */
export function isRequestUri(text: string): boolean {
  try {
    checkRequestUri(text);
    return true;
  } catch {
    return false;
  }
}

/** Throws `UrlError` unless the text is an absolute URI or an absolute path, as in a request line. */
export function checkRequestUri(text: string): void {
  parsed(toBytes(text), { request: true });
}

/** `example.com` of `example.com:80`, `::1` of `[::1]:80`. */
export function hostName(host: string): string {
  const withoutPort = splitPort(host).host;
  return /^\[.*\]$/s.test(withoutPort) ? withoutPort.slice(1, -1) : withoutPort;
}

/** `80` of `example.com:80`; empty where there is none. */
export function hostPort(host: string): string {
  return splitPort(host).port;
}

/** The pairs of a query in order, malformed ones left out. */
export function queryPairs(rawQuery: string): Map<string, string[]> {
  const pairs = new Map<string, string[]>();
  for (const part of toBytes(rawQuery).split('&')) {
    if (part === '' || part.includes(';')) continue;
    const [key, value] = cut(part, '=');
    try {
      const name = fromBytes(unescaped(key, 'query'));
      const found = pairs.get(name) ?? [];
      pairs.set(name, [...found, fromBytes(unescaped(value ?? '', 'query'))]);
    } catch {
      // Go drops a pair that it cannot decode, and keeps the others.
    }
  }
  return pairs;
}

/** One text for every spelling of a URL that Go prints alike. */
export function urlIdentity(url: GoUrl): string {
  return JSON.stringify([
    url.scheme,
    url.opaque,
    url.userInfo ?? null,
    url.host,
    url.escapedPath,
    url.rawQuery,
    url.fragment,
  ]);
}

type Part = 'path' | 'host' | 'zone' | 'user' | 'query' | 'fragment';

const toBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
const fromBytes = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8');

function cut(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** Gives an error the name of the URL it is about. */
function named<T>(bytes: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new UrlError(`parse ${quote(fromBytes(bytes))}: ${(error as Error).message}`);
  }
}

function parsed(bytes: string, context: { readonly request: boolean }): GoUrl {
  return named(bytes, () => parseBytes(bytes, context.request));
}

const nothing: GoUrl = {
  scheme: '',
  opaque: '',
  userInfo: undefined,
  slashes: false,
  host: '',
  escapedPath: '',
  plainPath: '',
  rawQuery: '',
  emptyQuery: false,
  fragment: '',
  escapedFragment: '',
};

function parseBytes(bytes: string, request: boolean): GoUrl {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that Go refuses
  if (/[\x00-\x1f\x7f]/.test(bytes)) throw new UrlError('net/url: invalid control character in URL');
  if (bytes === '' && request) throw new UrlError('empty url');
  if (bytes === '*') return { ...nothing, escapedPath: '*', plainPath: '*' };
  if (bytes.startsWith(':')) throw new UrlError('missing protocol scheme');
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:)/.exec(bytes)?.[0] ?? '';
  const [hierarchy, rawQuery = ''] = cut(scheme === '' ? bytes : bytes.slice(scheme.length + 1), '?');
  const emptyQuery = rawQuery === '' && bytes.endsWith('?');
  const url = { ...nothing, scheme: scheme.toLowerCase(), rawQuery: fromBytes(rawQuery), emptyQuery };
  if (!hierarchy.startsWith('/')) {
    if (scheme !== '') return { ...url, opaque: fromBytes(hierarchy) };
    if (request) throw new UrlError('invalid URI for request');
    if (cut(hierarchy, '/')[0].includes(':')) throw new UrlError('first path segment in URL cannot contain colon');
  }
  const hasAuthority = hierarchy.startsWith('//') && (scheme !== '' || (!request && !hierarchy.startsWith('///')));
  if (!hasAuthority) return { ...url, ...paths(hierarchy) };
  const slash = hierarchy.indexOf('/', 2);
  const authority = hierarchy.slice(2, slash < 0 ? undefined : slash);
  return { ...url, slashes: true, ...parseAuthority(authority), ...paths(slash < 0 ? '' : hierarchy.slice(slash)) };
}

function parseAuthority(authority: string): Pick<GoUrl, 'userInfo' | 'host'> {
  const at = authority.lastIndexOf('@');
  const host = fromBytes(parseHost(authority.slice(at + 1)));
  if (at < 0) return { userInfo: undefined, host };
  const userInfo = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(userInfo)) throw new UrlError('net/url: invalid userinfo');
  return { userInfo: fromBytes(unescaped(userInfo, 'user')), host };
}

function parseHost(host: string): string {
  const open = host.lastIndexOf('[');
  const colon = host.indexOf(':');
  if (open < 0) {
    if (colon >= 0) checkPort(host.slice(colon));
    return unescaped(host, 'host');
  }
  if (open > 0) throw new UrlError('invalid IP-literal');
  const close = host.lastIndexOf(']');
  if (close < 0) throw new UrlError("missing ']' in host");
  checkPort(host.slice(close + 1));
  const zone = host.slice(0, close).indexOf('%25');
  if (zone < 0) return unescaped(host, 'host');
  return unescaped(host.slice(0, zone), 'host') + unescaped(host.slice(zone, close), 'zone') + host.slice(close);
}

function checkPort(port: string): void {
  if (!/^(:[0-9]*)?$/.test(port)) throw new UrlError(`invalid port ${quote(fromBytes(port))} after host`);
}

function splitPort(host: string): { readonly host: string; readonly port: string } {
  const colon = host.lastIndexOf(':');
  if (colon < 0 || !/^[0-9]*$/.test(host.slice(colon + 1))) return { host, port: '' };
  return { host: host.slice(0, colon), port: host.slice(colon + 1) };
}

/** The spelling that was written where no other could be meant, else Go's own escapes. */
function paths(path: string): Pick<GoUrl, 'escapedPath' | 'plainPath'> {
  const plainPath = unescaped(path, 'path').replace(inPath, percentEncoded);
  return { escapedPath: validPath.test(path) ? path : plainPath, plainPath };
}

const validPath = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9A-Fa-f]{2})*$/;
const validFragment = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/?]|%[0-9A-Fa-f]{2})*$/;
/** What Go escapes. */
const inPath = /[^A-Za-z0-9\-_.~$&+,/:;=@]/g;
const inFragment = /[^A-Za-z0-9\-_.~$&+,/:;=?@!()*]/g;

const escaped = (text: string, which: RegExp) => toBytes(text).replace(which, percentEncoded);

const percentEncoded = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** Characters that a host may hold unescaped. */
const hostCharacter = /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"\x80-\xff]/;

function unescaped(text: string, part: Part): string {
  const inHost = part === 'host' || part === 'zone';
  return text.replace(/%(?:([0-9A-Fa-f]{2})|.?.?)|[^%]/gs, (found, hex: string | undefined) => {
    if (!found.startsWith('%')) {
      if (inHost && !hostCharacter.test(found)) throw new UrlError(`invalid character ${quote(found)} in host name`);
      return found === '+' && part === 'query' ? ' ' : found;
    }
    if (hex === undefined) throw new UrlError(`invalid URL escape ${quote(fromBytes(found))}`);
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    const allowed = part === 'zone' ? character === ' ' || hostCharacter.test(character) : character >= '\x80';
    if (inHost && found !== '%25' && !allowed) throw new UrlError(`invalid URL escape ${quote(found)}`);
    return character;
  });
}

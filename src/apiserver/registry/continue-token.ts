/**
 * Where the next page of a list begins, in upstream's form: unpadded base64url of `{"v":"meta.k8s.io/v1","rv":7,"start":"ns/a\0"}`.
 * A revision of -1 goes on at the newest state, for clients whose own has been compacted away.
 */
import { badRequest } from '../../apimachinery/status.ts';

export interface ContinueToken {
  /** The page's consistent revision, or -1. */
  readonly revision: number;
  /** The first key that may be on the page, below the list's prefix. */
  readonly start: string;
  /** Of a list of a past that paging itself would not reach back to. Upstream's tokens never say so. */
  readonly isPast?: boolean;
}

const version = 'meta.k8s.io/v1';

export function encodeContinue({ revision, start, isPast = false }: ContinueToken): string {
  const past = isPast ? { past: true } : {};
  return Buffer.from(JSON.stringify({ v: version, rv: revision, start, ...past })).toString('base64url');
}

/** Throws 400. */
export function decodeContinue(text: string): ContinueToken {
  const token = parse(text);
  if (token.v !== version) {
    throw refused(`continue key is not valid: server does not recognize this encoded version ${String(token.v ?? '')}`);
  }
  if (typeof token.rv !== 'number' || token.rv === 0)
    throw refused('continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  const { start } = token;
  if (typeof start !== 'string' || start === '')
    throw refused('continue key is not valid: encoded start key empty (version meta.k8s.io/v1)');
  // Nobody gets out of the list's own part of the store.
  const segments = start.replace(/^\//, '').split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw refused(`continue key is not valid: ${start}`);
  }
  return { revision: token.rv, start: segments.join('/'), isPast: token.past === true };
}

function parse(text: string): {
  readonly v?: unknown;
  readonly rv?: unknown;
  readonly start?: unknown;
  readonly past?: unknown;
} {
  const illegal = /[^A-Za-z0-9_-]/.exec(text);
  if (illegal) throw refused(`continue key is not valid: illegal base64 data at input byte ${illegal.index}`);
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Falls through: both are the same mistake to the client.
  }
  throw refused('continue key is not valid: unexpected end of JSON input');
}

function refused(what: string): Error {
  return badRequest(`invalid continue token: ${what}`);
}

/**
 * An answer of what is behind a proxy, so that a browser stays within the proxy: redirects and links of pages that lead to the backend itself
 * lead through the proxy again, and which other pages may read the answer is not for the backend to say. The rules are upstream's; a page
 * is rewritten while it goes by, compressed as it was.
 */
import { posix } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline, Readable } from 'node:stream';
import { type GoUrl, parseUrl, urlText } from '../../apimachinery/go-url.ts';
import { internalError, messageOf, statusError } from '../../apimachinery/status.ts';
import { joinedChunks } from '../encoding/list-encoding.ts';
import type { ApiResponse, Chunk } from '../request.ts';

export interface ProxyPlace {
  /** Of the request. */
  readonly method: string;
  /** With its port: links there lead to the backend, as do those to the proxy itself. */
  readonly backendHost: string;
  readonly requestHost: string;
  /** The escaped path below which the backend's own paths are found. */
  readonly prefix: string;
  /** Where that path is; absent: where the page came from. */
  readonly origin?: { readonly scheme: string; readonly host: string } | undefined;
}

/** Throws 500 where the answer makes no sense. */
export async function rewrittenAnswer(response: ApiResponse, place: ProxyPlace): Promise<ApiResponse> {
  const headers = withoutOrigins(response.headers);
  const { location, 'content-type': contentType = '', 'content-encoding': encoding = '' } = headers;
  if (location) return { ...response, headers: { ...headers, location: redirected(location, place) } };
  const { body } = response;
  const isPage = contentType.split(';')[0]?.trim() === 'text/html';
  if (!isPage || body.kind !== 'stream' || !['', 'gzip', 'deflate'].includes(encoding)) return { ...response, headers };
  const { 'content-length': length, ...others } = headers;
  void length;
  if (place.method === 'HEAD') return { ...response, headers: others };
  const chunks = await withLinksRewritten(joinedChunks(body.chunks), place, encoding);
  return { ...response, headers: others, body: { ...body, chunks } };
}

const originHeaders: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
]);

/** Which web pages may call this server is for this server to say. */
function withoutOrigins(headers: ApiResponse['headers']): ApiResponse['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !originHeaders.has(name)));
}

function redirected(location: string, place: ProxyPlace): string {
  let url: GoUrl;
  try {
    url = parseUrl(location);
  } catch (error) {
    throw internalError(`error trying to parse Location header: ${messageOf(error)}`);
  }
  return throughProxy(url, place) ?? urlText(url);
}

function linkThroughProxy(link: string, place: ProxyPlace): string | undefined {
  let url: GoUrl;
  try {
    url = parseUrl(link);
  } catch {
    // Whatever it is, it leads nowhere.
    return undefined;
  }
  const text = throughProxy(url, place);
  return text === link ? undefined : text;
}

/** Undefined for what leads elsewhere, and for what is relative to the page that it stands on. */
function throughProxy(url: GoUrl, { backendHost, requestHost, prefix, origin }: ProxyPlace): string | undefined {
  const { host, plainPath } = url;
  const isElsewhere = host !== '' && host !== backendHost && host !== requestHost;
  if (isElsewhere || !plainPath.startsWith('/')) return undefined;
  const here = host === requestHost && !origin ? url : { ...url, ...(origin ?? { scheme: '', host: '' }) };
  if (plainPath.startsWith(prefix)) return urlText(here);
  const joined = posix.join(prefix, plainPath).replace(/\/+$/, '');
  return urlText({ ...here, escapedPath: plainPath.endsWith('/') ? `${joined}/` : joined });
}

/** Resolves when the first of it is there, so that a page which cannot be unpacked is a failure and no half page. */
async function withLinksRewritten(
  page: AsyncIterable<Uint8Array>,
  place: ProxyPlace,
  encoding: string,
): Promise<AsyncIterable<Chunk>> {
  const { withLinks } = await import('./page-links.ts');
  const rewrite = (bytes: AsyncIterable<Uint8Array>) => withLinks(bytes, (link) => linkThroughProxy(link, place));
  if (encoding === '') return rewrite(page);
  const { createDeflateRaw, createGunzip, createGzip, createInflateRaw } = await import('node:zlib');
  const [unpack, pack]: readonly [Transform, Transform] =
    encoding === 'gzip' ? [createGunzip(), createGzip()] : [createInflateRaw(), createDeflateRaw({ level: 9 })];
  // What goes wrong is told to whoever reads the end.
  pipeline(Readable.from(page), unpack, rewrite, pack, () => {});
  const rest = pack[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  const first = await rest.next().catch((error: unknown) => {
    const message = messageOf(error);
    throw statusError({ code: 500, reason: '', message: goWords[message] ?? message }, { cause: error });
  });
  return first.done ? empty() : resumed(first.value, rest);
}

/** What upstream says of broken packages, typing error included. */
const goWords: Readonly<Record<string, string>> = {
  'incorrect header check': 'errorf making gzip reader: gzip: invalid header',
  'incorrect data check': 'gzip: invalid checksum',
  'unexpected end of file': 'unexpected EOF',
};

async function* empty(): AsyncGenerator<Uint8Array> {}

async function* resumed(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    yield* { [Symbol.asyncIterator]: () => rest };
  } finally {
    await rest.return?.();
  }
}

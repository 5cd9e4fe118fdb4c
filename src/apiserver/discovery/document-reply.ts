/**
 * Answers made of documents that the server keeps encoded: discovery and OpenAPI. All but the old forms of discovery carry an ETag, so a
 * client that has the document already is told so in a few bytes.
 */

import { formOfV2, type OpenApi } from '../openapi/openapi.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import type { Discovery } from './discovery.ts';

/** An encoded document; `etag` is quoted, as the header has it. */
export interface KeptDocument {
  readonly body: Buffer;
  readonly contentType: string;
  readonly etag: string;
}

/** The answer to `GET /api`, `/apis` and the paths of groups and versions below; undefined when there is nothing at the path. */
export function discoveryReply(request: ApiRequest, discovery: Discovery): ApiResponse | undefined {
  const document = discovery.document(withoutSlash(request.path), request.headers.accept);
  if (!document) return undefined;
  // As upstream, which lets clients and caches between keep the aggregated form alone.
  if (document.contentType.includes(';as=')) return documentReply(request, document, { 'cache-control': 'public' });
  const { body, contentType } = document;
  return { status: 200, headers: { 'content-type': contentType }, body: { kind: 'bytes', chunks: [body] } };
}

/** The answer to `GET /openapi/...`; undefined when there is nothing at the path. `nowMs` dates what may be kept for good. */
export function openApiReply(request: ApiRequest, openApi: OpenApi, nowMs: number): ApiResponse | undefined {
  const path = withoutSlash(request.path);
  const { accept } = request.headers;
  const vary = path === '/openapi/v2' ? 'Accept-Encoding, Accept' : 'Accept';
  if (path === '/openapi/v2' && formOfV2(accept) === undefined) {
    return { status: 406, headers: { vary }, body: { kind: 'none' } };
  }
  const document = openApi.document(path, accept);
  if (!document) return undefined;
  const asked = request.query.get('hash');
  const common = { vary, 'accept-ranges': 'bytes' };
  if (asked === null || !path.startsWith('/openapi/v3/')) return documentReply(request, document, common);
  const hash = document.etag.slice(1, -1);
  if (asked !== hash) return { status: 301, headers: { location: `${path}?hash=${hash}` }, body: { kind: 'none' } };
  const yearMs = 365 * 24 * 3600 * 1000;
  const expires = new Date(nowMs + yearMs).toUTCString();
  return documentReply(request, document, { ...common, 'cache-control': 'public, immutable', expires });
}

/** 200 with the document, or 304 when the client names its ETag. */
function documentReply(
  request: ApiRequest,
  { body, contentType, etag }: KeptDocument,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  const known = request.headers['if-none-match']?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
  const common = { vary: 'Accept', ...headers, etag };
  if (known) return { status: 304, headers: common, body: { kind: 'none' } };
  return { status: 200, headers: { ...common, 'content-type': contentType }, body: { kind: 'bytes', chunks: [body] } };
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

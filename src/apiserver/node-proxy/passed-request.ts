/** What of a request goes on to the server behind this one: its headers but for those between neighbours, its query, its body as it comes. */
import { forwardedHeaders } from '../../serving/upgrade.ts';
import type { ApiRequest } from '../request.ts';

/** Credentials, and headers that were meant for this server, are left out. */
export function passedHeaders({ headers, body }: ApiRequest): Record<string, string | string[]> {
  const { connection, upgrade, expect, ...rest } = forwardedHeaders(headers);
  void upgrade;
  void expect;
  for (const name of [connection ?? []].flat().join(',').split(',')) delete rest[name.trim().toLowerCase()];
  const length = body.kind === 'bytes' ? headers['content-length'] : undefined;
  return length === undefined ? rest : { ...rest, 'content-length': length };
}

export function passedBody({ body }: ApiRequest): Uint8Array | AsyncIterable<Uint8Array> | undefined {
  if (body.kind === 'none') return undefined;
  if (body.kind === 'value') return Buffer.from(JSON.stringify(body.value));
  return body.pieces?.() ?? pieceOf(body.read(Number.MAX_SAFE_INTEGER));
}

async function* pieceOf(bytes: Promise<Uint8Array>): AsyncIterable<Uint8Array> {
  yield await bytes;
}

/** Without question mark. */
export function searchOf({ search, query }: ApiRequest): string {
  return search ?? query.toString();
}

export function hostOf({ headers }: ApiRequest): string {
  return headers.host ?? headers[':authority'] ?? '';
}

/**
 * Lists from cached bytes: the items follow each other, not encoded and not even copied. As in upstream's typed lists, items go without
 * `kind` and `apiVersion`, but for those of custom resources, which have no type. A long list is written in pieces, with a turn of the loop between them, so that nobody else has to wait for it.
 */
import type { Clock } from '../../base/clock.ts';
import type { Chunk } from '../request.ts';
import type { ServedResource } from '../served-resource.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { Envelope } from '../watch-cache/encoded-object.ts';

export interface ListPage {
  readonly entries: readonly CacheEntry[];
  readonly revision: number;
  readonly continue: string | undefined;
  readonly remainingItemCount: number | undefined;
}

const pieceSize = 64 * 1024;

/** Metadata of an untyped list say also that there is no more. */
export function listMetadata(page: ListPage, { untyped = false } = {}): Record<string, unknown> {
  return {
    ...(untyped ? { continue: page.continue ?? '' } : {}),
    resourceVersion: String(page.revision),
    ...(page.continue ? { continue: page.continue } : {}),
    ...(page.remainingItemCount ? { remainingItemCount: page.remainingItemCount } : {}),
  };
}

/** The pieces of a list, in parts; each but the last has about `pieceSize` bytes. */
export function* encodeList(resource: ServedResource, envelope: Envelope, page: ListPage): Generator<Buffer[], void> {
  const untyped = resource.custom !== undefined;
  const skipped = untyped ? 1 : 1 + envelope.typeMetaLength;
  const metadata = JSON.stringify(listMetadata(page, { untyped }));
  const head = `{"kind":"${resource.listKind}","apiVersion":"${resource.apiVersion}","metadata":${metadata},"items":[`;
  let parts: Buffer[] = [Buffer.from(head)];
  let size = head.length;
  let separator = openItem;
  for (const entry of page.entries) {
    const bytes = entry.bytesIn(resource, envelope);
    parts.push(separator, bytes.subarray(skipped));
    size += bytes.length;
    separator = nextItem;
    if (size < pieceSize) continue;
    yield parts;
    parts = [];
    size = 0;
  }
  parts.push(listEnd);
  yield parts;
}

const openItem = Buffer.from('{');
const nextItem = Buffer.from(',{');
const listEnd = Buffer.from(']}\n');

/** The pieces with a turn of the loop before each. */
export async function* paced(pieces: Iterable<Chunk>, clock: Clock): AsyncGenerator<Chunk, void, undefined> {
  for (const piece of pieces) {
    yield piece;
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
}

export function partsOf(chunk: Chunk): readonly Uint8Array[] {
  return chunk instanceof Uint8Array ? [chunk] : chunk;
}

/** Each chunk in one piece, for who cannot take it in parts. */
export async function* joinedChunks(chunks: AsyncIterable<Chunk>): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) yield chunk instanceof Uint8Array ? chunk : Buffer.concat(chunk);
}

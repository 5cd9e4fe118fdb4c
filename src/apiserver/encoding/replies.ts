/**
 * Answers made of cached objects. Whole objects in JSON are the cached bytes; a component of the same process gets the frozen
 * object; everything else (Tables, metadata only, YAML, pretty JSON) is made for this one answer.
 */

import type { Column } from '../../api/kind.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { statusError } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { ApiResponse, ResponseBody } from '../request.ts';
import type { ServedResource } from '../served-resource.ts';
import { type IncludeObject, partialMetadata, partialMetadataList, type TableRow, tableOf } from '../table/table.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { Envelope } from '../watch-cache/encoded-object.ts';
import { encodeList, type ListPage, listMetadata, paced } from './list-encoding.ts';
import { ListMessages } from './list-messages.ts';
import { encodeIn, reformat } from './media-types.ts';
import type { Output, Transform } from './negotiation.ts';
import { wrapped } from './protobuf.ts';

export interface ReplyContext {
  readonly output: Output;
  readonly resource: ServedResource;
  readonly envelope: Envelope;
  readonly includeObject: IncludeObject;
  readonly clock: Clock;
  /** Of a Table, where the answer is not an object of the resource. */
  readonly columns?: readonly Column<KubeObject>[];
}

export interface ReplyOptions {
  readonly status?: number;
  readonly warnings?: readonly string[];
}

/** One object out of the cache. */
export function replyWithEntry(context: ReplyContext, entry: CacheEntry, options: ReplyOptions = {}): ApiResponse {
  const { output, resource, envelope } = context;
  if (output.format.name === 'object') return objectReply(entry.objectIn(resource), options);
  if (output.transform) {
    const rows = [{ served: entry.objectIn(resource), hub: entry.object() }];
    return encodedReply(context, transformOne(context, output.transform, rows[0]!), options);
  }
  if (output.format.name === 'protobuf') {
    const object = () => entry.objectIn(resource);
    return bytesReply(output, [wrapped(envelope, entry.messageIn(resource))], { ...options, object });
  }
  const bytes = entry.bytesIn(resource, envelope);
  return bytesReply(output, [reformat(output.format, bytes, output.pretty)], options);
}

/** An object that stands in no cache: the outcome of a dry run, a Scale, a Status. `hub` is its form in the hub version. */
export function replyWithObject(
  context: ReplyContext,
  object: KubeObject,
  options: ReplyOptions & { readonly hub?: KubeObject } = {},
): ApiResponse {
  const { output } = context;
  if (output.format.name === 'object') return objectReply(object, options);
  if (!output.transform || !options.hub) return encodedReply(context, object, options);
  return encodedReply(context, transformOne(context, output.transform, { served: object, hub: options.hub }), options);
}

export function replyWithList(context: ReplyContext, page: ListPage): ApiResponse {
  const { output, resource, envelope, clock } = context;
  if (output.format.name === 'object') {
    const items = page.entries.map((entry) => entry.objectIn(resource));
    return objectReply(Object.freeze({ ...listHead(resource, page), items }), {});
  }
  if (output.transform) return encodedReply(context, transformList(context, output.transform, page), {});
  if (output.format.name === 'protobuf') return replyWithMessages(context, page);
  const pieces = encodeList(resource, envelope, page);
  if (output.format.name !== 'json' || output.pretty) {
    const json = Buffer.concat([...pieces].flat());
    const object = () => JSON.parse(json.toString()) as unknown;
    return bytesReply(output, [reformat(output.format, json, output.pretty)], { object });
  }
  const first = pieces.next();
  const second = first.done ? first : pieces.next();
  if (second.done) return bytesReply(output, first.value ?? [], {});
  const rest = (function* () {
    yield first.value as Buffer[];
    yield second.value as Buffer[];
    yield* pieces;
  })();
  return { status: 200, headers: headersOf(output, {}), body: { kind: 'stream', chunks: paced(rest, clock) } };
}

function listHead(resource: ServedResource, page: ListPage) {
  return {
    kind: resource.listKind,
    apiVersion: resource.apiVersion,
    metadata: listMetadata(page, { untyped: resource.custom !== undefined }),
  };
}

/** A long list needs turns of the loop already to learn its length, which stands before everything else. */
function replyWithMessages({ output, resource, clock }: ReplyContext, page: ListPage): ApiResponse {
  const messages = new ListMessages(resource, page);
  const items = () => page.entries.map((entry) => entry.objectIn(resource));
  const object = () => ({ ...listHead(resource, page), items: items() });
  if (messages.encodeSome()) return bytesReply(output, [...messages.pieces()].flat(), { object });
  const chunks = (async function* () {
    do await new Promise<void>((resolve) => clock.soon(resolve));
    while (!messages.encodeSome());
    yield* paced(messages.pieces(), clock);
  })();
  return { status: 200, headers: headersOf(output, {}), body: { kind: 'stream', chunks, object } };
}

/**
 * `299 - "text"` for each: what clients print as `Warning: text`. Told once, without those that no header can hold, and cut short
 * where together they are too long.
 */
export function warningHeader(warnings: readonly string[]): Readonly<Record<string, string>> {
  const told = [...new Set(warnings)].filter((text) => text !== '' && !/\p{Cc}/u.test(text));
  if (told.length === 0) return {};
  return {
    warning: shortened(told)
      .map((text) => `299 - "${escapeWarning(text)}"`)
      .join(', '),
  };
}

function transformOne(context: ReplyContext, transform: Transform, row: TableRow): object {
  if (transform.as === 'PartialObjectMetadata') return partialMetadata(row.served, transform.version);
  if (transform.as === 'PartialObjectMetadataList') {
    throw wrongTransform(transform, `is not a list (${goTypeOf(context.resource, '')})`);
  }
  const { resourceVersion } = row.served.metadata;
  return table(context, transform, [row], { metadata: resourceVersion === undefined ? {} : { resourceVersion } });
}

function transformList(context: ReplyContext, transform: Transform, page: ListPage): object {
  const { resource } = context;
  const metadata = listMetadata(page);
  if (transform.as === 'Table') {
    const rows = page.entries.map((entry) => ({ served: entry.objectIn(resource), hub: entry.object() }));
    return table(context, transform, rows, { metadata });
  }
  if (transform.as === 'PartialObjectMetadata') {
    throw wrongTransform(transform, `is a list (${goTypeOf(resource, 'List')})`);
  }
  const items = page.entries.map((entry) => partialMetadata(entry.objectIn(resource), transform.version));
  return partialMetadataList(items, transform.version, metadata);
}

/** 406: metadata of one object was asked for where there are many, or the other way round. */
function wrongTransform({ as }: Transform, what: string): Error {
  const message = `you requested ${as}, but the requested object ${what}`;
  return statusError({ code: 406, reason: 'NotAcceptable', message });
}

/** What upstream's messages call an object: `*core.Pod`, `*apps.DeploymentList`. */
function goTypeOf({ row, custom }: ServedResource, suffix: '' | 'List'): string {
  if (custom) return `*unstructured.Unstructured${suffix}`;
  const group = row.group.split('.')[0]!;
  const packages: Readonly<Record<string, string>> = { '': 'core', events: 'core', internal: 'apiserverinternal' };
  return `*${packages[group] ?? group}.${row.kind}${suffix}`;
}

/** The Table of these objects as this client wants it. */
export function table(
  { resource, columns, includeObject, clock }: ReplyContext,
  transform: Transform,
  rows: readonly TableRow[],
  told: { readonly metadata: object; readonly headers?: boolean },
): object {
  return tableOf(columns ? { columns } : resource.stored?.behaviour, rows, {
    ...told,
    version: transform.version,
    includeObject,
    nowMs: clock.now(),
  });
}

function objectReply(object: unknown, { status = 200 }: ReplyOptions): ApiResponse {
  return { status, headers: {}, body: { kind: 'object', object } };
}

function encodedReply({ output }: ReplyContext, object: unknown, options: ReplyOptions): ApiResponse {
  return bytesReply(output, [encodeIn(output.format, object, output.pretty)], { ...options, object: () => object });
}

function bytesReply(
  output: Output,
  chunks: readonly Buffer[],
  options: ReplyOptions & { readonly object?: (() => unknown) | undefined },
): ApiResponse {
  const body: ResponseBody = { kind: 'bytes', chunks, object: options.object };
  return { status: options.status ?? 200, headers: headersOf(output, options), body };
}

function headersOf(output: Output, { warnings = [] }: ReplyOptions): Readonly<Record<string, string>> {
  return { 'content-type': output.format.mediaType, ...warningHeader(warnings) };
}

const mostCharacters = 4096;
const mostOfOne = 256;

function shortened(warnings: readonly string[]): readonly string[] {
  const whole = warnings.reduce((sum, text) => sum + [...text].length, 0);
  if (whole <= mostCharacters) return warnings;
  const kept: string[] = [];
  let length = 0;
  for (const text of warnings) {
    if (length >= mostCharacters) break;
    const start = [...text].slice(0, mostOfOne);
    length += start.length;
    kept.push(start.join(''));
  }
  return kept;
}

function escapeWarning(text: string): string {
  return text.replace(/["\\]/g, '\\$&');
}

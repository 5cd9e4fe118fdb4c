/**
 * Which form an answer takes: the client's Accept header against what this server writes. A clause may ask for a transformation
 * (`application/json;as=Table;v=v1;g=meta.k8s.io`); clauses that cannot be met are passed over for the next, and when none is left
 * the answer is 406.
 */
import { notAcceptable } from '../../apimachinery/status.ts';
import type { ApiRequest } from '../request.ts';
import { type OutputFormat, objectMediaType, outputFormats } from './media-types.ts';

/** Objects made into something else on their way out. */
export interface Transform {
  readonly as: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  readonly version: 'v1' | 'v1beta1';
}

export interface Output {
  readonly format: OutputFormat;
  readonly pretty: boolean;
  readonly transform: Transform | undefined;
}

export interface NegotiationOptions {
  /** Whether Table and PartialObjectMetadata are offered here; what is not stored has metadata but no columns. */
  readonly transforms?: boolean | 'metadata';
  /** Whether the answer is a stream of events. */
  readonly stream?: boolean;
  /** Whether whole objects have a protobuf form; custom ones have none. Default true. */
  readonly protobuf?: boolean;
}

/** Throws 406 when the client accepts nothing that this server writes. */
export function negotiate(
  request: ApiRequest,
  { transforms = false, stream = false, protobuf = true }: NegotiationOptions = {},
): Output {
  const { accept } = request.headers;
  if (accept === objectMediaType) return inProcess;
  const clauses = accept === undefined || accept === '' ? [anything] : parseAccept(accept);
  for (const clause of clauses) {
    for (const format of outputFormats) {
      if (!matches(clause, format)) continue;
      const transform = transformOf(clause, transforms);
      if (transform === 'unknown' || !isServed(clause, format)) continue;
      // A Table has no protobuf form.
      if (format.name === 'protobuf' && (transform ? transform.as === 'Table' : !protobuf)) continue;
      if (stream && format.streamMediaType === undefined) throw notAcceptable(streamMediaTypes);
      return { format, transform, pretty: format.name === 'json' && (isPretty(clause) || wantsPretty(request)) };
    }
  }
  throw notAcceptable(outputFormats.map((format) => format.mediaType));
}

const streamMediaTypes = outputFormats
  .filter((format) => format.streamMediaType !== undefined)
  .map(({ mediaType }) => `${mediaType};stream=watch`);

/** One media range of an Accept header. */
export interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

const anything: Clause = { type: '*', subtype: '*', parameters: new Map(), quality: 1 };
const inProcess: Output = {
  format: { name: 'object', mediaType: objectMediaType, streamMediaType: objectMediaType },
  pretty: false,
  transform: undefined,
};

/** In the order in which upstream tries them: see `goesBefore`. What is no media range is passed over. */
export function parseAccept(header: string): Clause[] {
  const sorted: Clause[] = [];
  for (const text of header.split(',')) {
    const clause = parseClause(text);
    if (!clause) continue;
    let at = sorted.length;
    while (at > 0 && goesBefore(clause, sorted[at - 1]!)) at--;
    sorted.splice(at, 0, clause);
  }
  return sorted;
}

/** Higher quality first, but what is named before what is meant by `*`, whatever its quality; a quality of 0 excludes nothing. */
function goesBefore(a: Clause, b: Clause): boolean {
  return a.quality > b.quality || (a.type !== '*' && b.type === '*') || (a.subtype !== '*' && b.subtype === '*');
}

function parseClause(text: string): Clause | undefined {
  const [range = '', ...rest] = text.split(';');
  const [type = '', subtype = '', ...more] = range.split('/').map((part) => part.trim());
  if (more.length > 0 || (subtype === '' && type !== '*')) return undefined;
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [name = '', value = '', ...others] = part.split('=');
    if (value !== '' && others.length === 0) parameters.set(name.trim(), value.trim());
  }
  const quality = parameters.get('q');
  return { type, subtype: subtype || '*', parameters, quality: quality === undefined ? 1 : Number(quality) || 0 };
}

function matches({ type, subtype }: Clause, { mediaType }: OutputFormat): boolean {
  if (type === '*' && subtype === '*') return true;
  const [offeredType, offeredSubtype] = mediaType.split('/');
  return type === offeredType && (subtype === '*' || subtype === offeredSubtype);
}

/** `;stream=watch` may be said of every form that a watch can have, whether a watch is asked for or not; of versions there is one. */
function isServed({ parameters }: Clause, format: OutputFormat): boolean {
  const stream = parameters.get('stream') ?? '';
  const version = parameters.get('sv') ?? '';
  return (
    (stream === '' || (stream === 'watch' && format.streamMediaType !== undefined)) &&
    (version === '' || version === 'v1')
  );
}

function isPretty({ parameters }: Clause): boolean {
  return parameters.get('pretty') === '1';
}

const transformations: ReadonlySet<string> = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

function transformOf({ parameters }: Clause, allowed: boolean | 'metadata'): Transform | undefined | 'unknown' {
  const as = parameters.get('as') ?? '';
  const version = parameters.get('v');
  if (as === '' && version === undefined && !parameters.has('g')) return undefined;
  const known = transformations.has(as) && parameters.get('g') === 'meta.k8s.io';
  if (!allowed || (allowed === 'metadata' && as === 'Table')) return 'unknown';
  if (!known || (version !== 'v1' && version !== 'v1beta1')) return 'unknown';
  return { as: as as Transform['as'], version };
}

/** What Go's parser of booleans takes for true. */
const goTruths: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const peopleReading = /^(curl|Wget|Mozilla\/5\.0)/;

/** Whether whoever asks will read it with their own eyes, or says so. */
export function wantsPretty({ query, headers }: ApiRequest): boolean {
  const pretty = query.get('pretty');
  return pretty ? goTruths.has(pretty) : peopleReading.test(headers['user-agent'] ?? '');
}

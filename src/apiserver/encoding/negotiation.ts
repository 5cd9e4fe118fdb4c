/**
 * Which form an answer takes: the client's Accept header against what this server writes. A clause may ask for a transformation
 * (`application/json;as=Table;v=v1;g=meta.k8s.io`); clauses that cannot be met are passed over for the next, and when none is left
 * the answer is 406.
 */
import { notAcceptable } from '../../apimachinery/status.ts';
import type { ApiRequest } from '../request.ts';
import { isTrue } from '../request-info.ts';
import { type OutputFormat, objectMediaType, outputFormats } from './media-types.ts';
import { noProtobuf } from './protobuf.ts';

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
  const offered = stream ? streamFormats : outputFormats;
  const clauses = accept === undefined || accept.trim() === '' ? [anything] : parseAccept(accept);
  let refusal: Error | undefined;
  for (const clause of clauses) {
    const format = offered.find((candidate) => matches(clause, candidate));
    if (!format) continue;
    const transform = transformOf(clause, transforms);
    if (transform === 'unknown' || !streamIsKnown(clause, format)) continue;
    // A Table has no protobuf form.
    if (transform?.as === 'Table' && format.name === 'protobuf') continue;
    if (!protobuf && !transform && format.name === 'protobuf') {
      refusal = noProtobuf();
      continue;
    }
    return { format, transform, pretty: format.name === 'json' && wantsPretty(request) };
  }
  throw refusal ?? notAcceptable(offered.map((format) => format.mediaType));
}

const streamFormats = outputFormats.filter((format) => format.streamMediaType !== undefined);

interface Clause {
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

/** Sorted by quality; among equals the order of the header. */
function parseAccept(header: string): Clause[] {
  return header
    .split(',')
    .map(parseClause)
    .filter((clause) => clause.quality > 0)
    .sort((a, b) => b.quality - a.quality);
}

function parseClause(text: string): Clause {
  const [range = '', ...rest] = text.split(';');
  const [type = '', subtype = ''] = range.trim().toLowerCase().split('/');
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const equals = part.indexOf('=');
    if (equals > 0) parameters.set(part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim());
  }
  const quality = parameters.get('q');
  return { type, subtype, parameters, quality: quality === undefined ? 1 : Number(quality) || 0 };
}

function matches({ type, subtype }: Clause, { mediaType }: OutputFormat): boolean {
  if (type === '*' && subtype === '*') return true;
  const [offeredType, offeredSubtype] = mediaType.split('/');
  return type === offeredType && (subtype === '*' || subtype === offeredSubtype);
}

/** `;stream=watch` may be said of every form that a watch can have, whether a watch is asked for or not. */
function streamIsKnown({ parameters }: Clause, format: OutputFormat): boolean {
  const stream = parameters.get('stream') ?? '';
  return stream === '' || (stream === 'watch' && format.streamMediaType !== undefined);
}

const transformations: ReadonlySet<string> = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

function transformOf({ parameters }: Clause, allowed: boolean | 'metadata'): Transform | undefined | 'unknown' {
  const as = parameters.get('as');
  if (as === undefined) return undefined;
  const version = parameters.get('v');
  const known = transformations.has(as) && parameters.get('g') === 'meta.k8s.io';
  if (!allowed || (allowed === 'metadata' && as === 'Table')) return 'unknown';
  if (!known || (version !== 'v1' && version !== 'v1beta1')) return 'unknown';
  return { as: as as Transform['as'], version };
}

const peopleReading = /^(curl|Wget|Mozilla\/5\.0)/;

function wantsPretty({ query, headers }: ApiRequest): boolean {
  const pretty = query.get('pretty');
  return pretty === null ? peopleReading.test(headers['user-agent'] ?? '') : isTrue(pretty);
}

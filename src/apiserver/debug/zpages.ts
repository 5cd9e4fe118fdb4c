/**
 * `/statusz` and `/flagz`: what runs here, and with which flags. As text for people, who are told not to rely on its form, and as JSON or
 * YAML for whoever names the kind and its version in the Accept header.
 */

import { notAcceptable } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { encodeIn, type OutputFormat, outputFormats } from '../encoding/media-types.ts';
import { type Clause, parseAccept, wantsPretty } from '../encoding/negotiation.ts';
import { warningHeader } from '../encoding/replies.ts';
import { textResponse } from '../pages.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { serverVersion } from '../version.ts';

const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
const component = 'apiserver';
const group = 'config.k8s.io';
/** The newest first; of the others a client is warned. */
const versions = ['v1beta1', 'v1alpha1'];

export interface ZpagesOptions {
  readonly clock: Clock;
  /** When the server was started, on the clock's wall. */
  readonly startedMs: number;
  readonly startedMonotonicMs: number;
  /** Paths worth looking at. */
  readonly paths: readonly string[];
  /** By name; absent: there were none. */
  readonly flags?: ReadonlyMap<string, unknown> | undefined;
}

interface Page {
  /** As in the path: `statusz`. */
  readonly name: string;
  readonly kind: string;
  lines(): readonly string[];
  /** What the object has beside its kind and name. */
  fields(): object;
}

export function zpages(options: ZpagesOptions): ReadonlyMap<string, Handler> {
  const flags = flagTexts(options.flags ?? new Map());
  const status: Page = {
    name: 'statusz',
    kind: 'Statusz',
    lines: () => statusLines(options),
    fields: () => statusFields(options),
  };
  const flagPage: Page = {
    name: 'flagz',
    kind: 'Flagz',
    lines: () => flags.map(([name, value]) => `${name}=${value}`),
    fields: () => ({ flags: Object.fromEntries(flags) }),
  };
  return new Map([status, flagPage].map((page) => [`/${page.name}`, async (request) => answer(page, request)]));
}

/** Throws 406 for what is neither text nor this kind in a version of it. */
function answer(page: Page, request: ApiRequest): ApiResponse {
  const { accept = '' } = request.headers;
  for (const clause of accept === '' ? [] : parseAccept(accept)) {
    if (isText(clause)) return text(page);
    const format = structured.find(({ mediaType }) => mediaType === `${clause.type}/${clause.subtype}`);
    const version = clause.parameters.get('v') ?? '';
    const named = clause.parameters.get('g') === group && clause.parameters.get('as') === page.kind;
    if (format && named && versions.includes(version)) return object(page, { format, version }, request);
  }
  if (accept === '') return text(page);
  throw notAcceptable([...structured.map(({ mediaType }) => mediaType), 'text/plain']);
}

const structured = outputFormats.filter(({ name }) => name === 'json' || name === 'yaml');

function isText({ type, subtype }: Clause): boolean {
  return (type === '*' && subtype === '*') || (type === 'text' && (subtype === 'plain' || subtype === '*'));
}

function text({ name, lines }: Page): ApiResponse {
  return textResponse(200, `\n${[`${component} ${name}`, warning, '', ...lines()].join('\n')}\n`);
}

function object(
  { name, kind, fields }: Page,
  { format, version }: { readonly format: OutputFormat; readonly version: string },
  request: ApiRequest,
): ApiResponse {
  const content = { kind, apiVersion: `${group}/${version}`, metadata: { name: component }, ...fields() };
  const deprecated = version === versions[0] ? [] : [deprecation(name)];
  return {
    status: 200,
    headers: {
      'content-type': `${format.mediaType};g=${group};v=${version};as=${kind}`,
      ...warningHeader(deprecated),
    },
    body: { kind: 'bytes', chunks: [encodeIn(format, content, format.name === 'json' && wantsPretty(request))] },
  };
}

const deprecation = (name: string) => `This version of the ${name} endpoint is deprecated. Please use a newer version.`;

function upSeconds({ clock, startedMonotonicMs }: ZpagesOptions): number {
  return Math.floor((clock.monotonic() - startedMonotonicMs) / 1000);
}

const { gitVersion, goVersion, emulationMajor, emulationMinor } = serverVersion;
const binaryVersion = gitVersion.replace(/^v/, '');
const emulationVersion = `${emulationMajor}.${emulationMinor}`;

function statusLines(options: ZpagesOptions): readonly string[] {
  const seconds = upSeconds(options);
  const two = (value: number) => String(value).padStart(2, '0');
  const up = `${Math.floor(seconds / 3600)} hr ${two(Math.floor(seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
  return [
    `Started: ${new Date(options.startedMs).toUTCString()}`,
    `Up: ${up}`,
    `Go version: ${goVersion}`,
    `Binary version: ${binaryVersion}`,
    `Emulation version: ${emulationVersion}`,
    `Paths: ${options.paths.join(' ')}`,
  ];
}

function statusFields(options: ZpagesOptions): object {
  return {
    startTime: new Date(options.startedMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    uptimeSeconds: upSeconds(options),
    goVersion,
    binaryVersion,
    emulationVersion,
    paths: options.paths,
  };
}

function flagTexts(flags: ReadonlyMap<string, unknown>): readonly (readonly [name: string, value: string])[] {
  return [...flags].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => [name, flagText(value)]);
}

/** As Go's flags print themselves. */
function flagText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  return Object.entries(value)
    .map(([key, item]) => `${key}=${String(item)}`)
    .join(',');
}

/**
 * The media types this server reads and writes, in the order of preference.
 */

import { jsonText, parseJson } from '../../apimachinery/exact-json.ts';
import { unsupportedMediaType } from '../../apimachinery/status.ts';
import { yamlLibrary } from '../../base/lazy-module.ts';
import { encodeAny } from './json.ts';
import { encodeProtobuf } from './protobuf.ts';

export type InputFormat = 'json' | 'yaml' | 'protobuf';

export interface OutputFormat {
  readonly name: 'json' | 'yaml' | 'protobuf' | 'object';
  readonly mediaType: string;
  /** The media type of a watch; undefined when none can be written in it. */
  readonly streamMediaType: string | undefined;
}

/** What a component of the same process asks for: the object itself, frozen. */
export const objectMediaType = 'application/vnd.coracle.object';

const protobufMediaType = 'application/vnd.kubernetes.protobuf';

export const outputFormats: readonly OutputFormat[] = [
  { name: 'json', mediaType: 'application/json', streamMediaType: 'application/json' },
  { name: 'yaml', mediaType: 'application/yaml', streamMediaType: undefined },
  { name: 'protobuf', mediaType: protobufMediaType, streamMediaType: `${protobufMediaType};stream=watch` },
];

const inputFormats: Readonly<Record<string, InputFormat>> = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  [protobufMediaType]: 'protobuf',
};

/** The form of a request's body; JSON when the client does not say. Throws 415. */
export function inputFormat(contentType: string | undefined): InputFormat {
  if (contentType === undefined || contentType === '') return 'json';
  const format = isWellFormed(contentType) ? inputFormats[mediaTypeOf(contentType)] : undefined;
  if (!format) throw unsupportedMediaType(Object.keys(inputFormats));
  return format;
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const parameter = new RegExp(`^\\s*;\\s*(${token})\\s*=\\s*(?:${token}|"(?:[^"\\\\]|\\\\.)*")`);

/** Parameters may follow, each once, and a semicolon may end them; what else follows makes the whole worthless. */
function isWellFormed(contentType: string): boolean {
  const semicolon = contentType.indexOf(';');
  let rest = semicolon < 0 ? '' : contentType.slice(semicolon);
  const names = new Set<string>();
  for (let found = parameter.exec(rest); found; found = parameter.exec(rest)) {
    const name = found[1]!.toLowerCase();
    if (names.has(name)) return false;
    names.add(name);
    rest = rest.slice(found[0].length);
  }
  return /^\s*;?\s*$/.test(rest);
}

/** `application/json; charset=utf-8` is `application/json`. */
export function mediaTypeOf(header: string): string {
  const semicolon = header.indexOf(';');
  return (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase();
}

/** An object of any kind in the client's form. Throws 406 for what has no such form. */
export function encodeIn(format: OutputFormat, object: unknown, pretty: boolean): Buffer {
  if (format.name === 'protobuf') return encodeProtobuf(object as object);
  const json = encodeAny(object);
  return format.name === 'json' && !pretty ? json : reformat(format, json, pretty);
}

/** Canonical JSON in another form of text. */
export function reformat(format: OutputFormat, json: Buffer, pretty: boolean): Buffer {
  if (format.name === 'yaml')
    return Buffer.from(yamlLibrary().stringify(parseJson(json.toString()), { version: '1.1', lineWidth: 0 }));
  return pretty ? Buffer.from(`${jsonText(parseJson(json.toString()), 2)}\n`) : json;
}

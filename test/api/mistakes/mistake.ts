/** A request that is wrong, what the server says to it, and the words that several of them share. */
import { type Asked, json } from '../wire.ts';

export interface Mistake extends Asked {
  readonly name: string;
  readonly code: number;
  /** Absent: upstream gives none. */
  readonly reason?: string;
  readonly message: string | RegExp;
  /** Fields of the causes, where there are several. */
  readonly causes?: readonly string[];
}

export const collection = '/api/v1/namespaces/default/configmaps';
export const deploymentsPath = '/apis/apps/v1/namespaces/default/deployments';
export const podsPath = '/api/v1/namespaces/default/pods';
export const bodyLimit = 3 * 1024 * 1024;

export const post = (body: string | Buffer, path = collection, headers: Asked['headers'] = json): Asked => ({
  method: 'POST',
  path,
  headers: headers ?? json,
  body,
});
export const put = (body: string, path = `${collection}/a`): Asked => ({ method: 'PUT', path, headers: json, body });
export const patch = (headers: Asked['headers'], body: string, query = ''): Asked => ({
  method: 'PATCH',
  path: `${collection}/a${query}`,
  headers: headers ?? {},
  body,
});
export const remove = (body: string, query = ''): Asked => ({
  method: 'DELETE',
  path: `${collection}/a${query}`,
  headers: json,
  body,
});
export const list = (query: Readonly<Record<string, string>>, path = collection): Asked => ({
  path: `${path}?${new URLSearchParams(query)}`,
});
export const continueAt = (token: object) => Buffer.from(JSON.stringify(token)).toString('base64url');
export const configMap = (name: string, rest = '') =>
  `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}"}${rest}}`;

export const unrecognized = (problem: string, body: string) =>
  `the object provided is unrecognized (must be of type ConfigMap): ${problem} (${body})`;
export const noJson = (problem: string, body: string) =>
  unrecognized(`couldn't get version/kind; json parse error: ${problem}`, body);
export const hex = (text: string) => Buffer.from(text).toString('hex');
export const unfit = (problem: string) => `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${problem}`;
export const kindStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
export const scheme = 'pkg/api/legacyscheme/scheme.go:30';
export const bad = { code: 400, reason: 'BadRequest' } as const;
export const invalid = { code: 422, reason: 'Invalid' } as const;
export const notFound = { code: 404, reason: 'NotFound' } as const;
export const refusedMethod = {
  code: 405,
  reason: 'MethodNotAllowed',
  message: 'the server does not allow this method on the requested resource',
} as const;
export const noResource = { ...notFound, message: 'the server could not find the requested resource' } as const;
/** Go's words for text that is no number. */
export const parsing = (what: string, why = 'invalid syntax') => `strconv.ParseUint: parsing "${what}": ${why}`;

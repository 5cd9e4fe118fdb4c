/**
 * What a URL means: upstream's grammar of resource paths, the old `watch` prefix and `proxy` rests included. Purely textual:
 * whether the resource exists is for the registry to say. Verbs are those RBAC knows.
 */
import { UndecidedError } from './failure.ts';
import type { ApiRequest, RequestInfo } from './request.ts';

const verbOfMethod: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Below a namespace these are subresources of the namespace itself, not resources in it. */
const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);

/** What stands after the group and version. */
interface ResourcePart {
  verb: string;
  namespace: string;
  resource: string;
  name: string;
  subresource: string;
  rest: readonly string[];
}

/** Throws where upstream finds a URL without sense (`/api/v1/watch`). */
export function parseRequestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const segments = segmentsOf(path);
  const grouped = segments[0] === 'apis';
  const prefixLength = grouped ? 3 : 2;
  if (segments.length < 3 || (!grouped && segments[0] !== 'api') || segments.length <= prefixLength) {
    return nonResource(method, path);
  }
  const named = segments.slice(prefixLength);
  if (named.length < 2 && (named[0] === 'watch' || named[0] === 'proxy')) {
    const reason = `failed to create RequestInfo: unable to determine kind and namespace from url, ${path}`;
    throw new UndecidedError({ path, query }, reason);
  }
  const part = parseResourcePart(method, named);
  const info = {
    isResource: true,
    path,
    group: grouped ? segments[1]! : '',
    version: segments[prefixLength - 1]!,
    namespace: part.namespace,
    resource: part.resource,
    subresource: part.subresource,
    rest: part.rest,
  };
  return { ...info, ...refineVerb(part, query) };
}

function nonResource(method: string, path: string): RequestInfo {
  return {
    isResource: false,
    verb: method.toLowerCase(),
    path,
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    rest: [],
  };
}

function segmentsOf(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === '/') start++;
  while (end > start && path[end - 1] === '/') end--;
  return start === end ? [] : path.slice(start, end).split('/');
}

function parseResourcePart(method: string, segments: readonly string[]): ResourcePart {
  let parts = segments;
  let verb = verbOfMethod[method] ?? '';
  let special = false;
  if (parts[0] === 'watch' || parts[0] === 'proxy') {
    special = parts[0] === 'proxy';
    verb = parts[0];
    parts = parts.slice(1);
  }
  let namespace = '';
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = parts[1]!;
    if (parts.length > 2 && !namespaceSubresources.has(parts[2]!)) parts = parts.slice(2);
  }
  return {
    verb,
    namespace,
    resource: parts[0] ?? '',
    name: parts[1] ?? '',
    subresource: special ? '' : (parts[2] ?? ''),
    rest: parts.slice(special ? 2 : 3),
  };
}

/** Without a name a `get` is a list or a watch, and a `delete` empties a collection. */
function refineVerb(
  part: ResourcePart,
  query: URLSearchParams,
): Pick<RequestInfo, 'verb' | 'name' | 'fieldSelector' | 'labelSelector'> {
  let { verb, name } = part;
  if (name === '' && verb === 'get') verb = isTrue(query.get('watch')) ? 'watch' : 'list';
  else if (name === '' && verb === 'delete') verb = 'deletecollection';
  if (verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection') return { verb, name };
  const fieldSelector = query.get('fieldSelector') ?? undefined;
  const labelSelector = query.get('labelSelector') ?? undefined;
  if (name === '' && fieldSelector !== undefined) name = singleName(fieldSelector);
  return { verb, name, fieldSelector, labelSelector };
}

/** `metadata.name=x` asks for one object, which authorization may allow by name. */
function singleName(fieldSelector: string): string {
  const match = /(?:^|,)metadata\.name==?([^,!=]+)(?:,|$)/.exec(fieldSelector);
  return match?.[1] ?? '';
}

/** Query parameters that switch something on: absent, `0` and `false` are off, as upstream reads them. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** Whether the client wants what is streamed in messages of a WebSocket; the answer then has the status 101. */
export function asksWebSocket({ upgrade }: ApiRequest): boolean {
  return upgrade?.request.headers.upgrade?.toLowerCase() === 'websocket';
}

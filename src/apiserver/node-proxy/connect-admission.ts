/**
 * Admission of connections: what a client asks for with `exec`, `attach`, `portforward` or `proxy` is an object to admission plugins
 * (`PodExecOptions` and its kin), made of the query and the path; what they make of it is what is then connected.
 */
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import { badRequest } from '../../apimachinery/status.ts';
import type { AdmissionAttributes } from '../admission/admission.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { ApiRequest, Handler, RequestInfo } from '../request.ts';
import { isTrue } from '../request-info.ts';

export type ConnectKind =
  | 'PodExecOptions'
  | 'PodAttachOptions'
  | 'PodPortForwardOptions'
  | 'PodProxyOptions'
  | 'ServiceProxyOptions'
  | 'NodeProxyOptions';

type Read = (query: URLSearchParams, name: string) => unknown;

const flag: Read = (query, name) => isTrue(query.get(name)) || undefined;
const text: Read = (query, name) => query.get(name) || undefined;
const words: Read = (query, name) => (query.has(name) ? query.getAll(name) : undefined);
const numbers: Read = (query, name) => words(query, name) && query.getAll(name).map(Number);

const streams = { stdin: flag, stdout: flag, stderr: flag, tty: flag, container: text };

/** The fields of each kind in their order. A proxy's path is none of the query's. */
const fields: Readonly<Record<ConnectKind, Readonly<Record<string, Read>>>> = {
  PodExecOptions: { ...streams, command: words },
  PodAttachOptions: streams,
  PodPortForwardOptions: { ports: numbers },
  PodProxyOptions: {},
  ServiceProxyOptions: {},
  NodeProxyOptions: {},
};

/** Whoever connects has passed authorization; the plugins have the next word. */
export function admittedConnection(kind: ConnectKind, admission: () => AdmissionChain, connect: Handler): Handler {
  return async (request, info) => {
    const { group, version, resource, subresource } = info;
    const address = { group, version, resource };
    const chain = admission();
    if (!chain.handles('CONNECT', address, subresource)) return connect(request, info);
    if (request.query.has('dryRun')) throw badRequest('dryRun is not supported');
    const options = optionsOf(kind, request, info);
    const attributes: AdmissionAttributes = {
      operation: 'CONNECT',
      resource: address,
      kind: { group: '', version: 'v1', kind },
      subresource,
      namespace: info.namespace,
      name: info.name,
      user: request.user!,
      dryRun: false,
      options: undefined,
      object: options,
      oldObject: undefined,
      signal: request.signal,
      // An upgraded connection has no place for warnings.
      warn() {},
      annotate: (key, value, level) => request.audit?.annotate(key, value, level),
    };
    await chain.admit(attributes);
    await chain.validate(attributes);
    // A request of a socket reads its query when it is first asked for, and has no place to set one.
    const query = queryOf(kind, options, request.query);
    return connect(Object.defineProperty(request, 'query', { value: query }), info);
  };
}

type Options = Readonly<Record<string, unknown>>;

function optionsOf(kind: ConnectKind, { query }: ApiRequest, { rest }: RequestInfo): Draft<KubeObject> {
  const options: Record<string, unknown> = { kind, apiVersion: 'v1' };
  for (const [name, read] of Object.entries(fields[kind])) {
    const value = read(query, name);
    if (value !== undefined) options[name] = value;
  }
  if (kind.endsWith('ProxyOptions') && rest.length > 0) options.path = `/${rest.join('/')}`;
  // Options are no objects of their own and have no metadata.
  return options as unknown as Draft<KubeObject>;
}

function queryOf(kind: ConnectKind, object: Draft<KubeObject>, before: URLSearchParams): URLSearchParams {
  const options = object as unknown as Options;
  const query = new URLSearchParams(before);
  for (const name of Object.keys(fields[kind])) {
    query.delete(name);
    const value = options[name];
    for (const one of value === undefined ? [] : [value].flat()) query.append(name, String(one));
  }
  return query;
}

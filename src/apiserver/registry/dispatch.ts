/**
 * From a request's meaning to the code that answers: which resource, which verb, which subresource. Knows upstream's two ways of not
 * finding something, and its way of refusing a method.
 */
import { quote } from '../../apimachinery/go-text.ts';
import { badRequest, genericServerResponse, methodNotSupported, notFound } from '../../apimachinery/status.ts';
import { onFirstCall } from '../../base/lazy-module.ts';
import { negotiate } from '../encoding/negotiation.ts';
import { warningHeader } from '../encoding/replies.ts';
import { WarnedError } from '../failure.ts';
import { notFoundAt } from '../pages.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo } from '../request.ts';
import { type ServedResources, subresourceOf } from '../resources.ts';
import type { ServedResource } from '../served-resource.ts';
import { create } from './create.ts';
import { createOperation, type Operation, type RegistryEnvironment } from './operation.ts';
import { get, list } from './read.ts';
import { update } from './update.ts';
import { watch } from './watch.ts';

export type OperationHandler = (operation: Operation) => Promise<ApiResponse>;

const verbs: Readonly<Record<string, OperationHandler>> = {
  get,
  list,
  watch,
  create,
  update,
  patch: onFirstCall(async () => (await import('./patch.ts')).patch),
  delete: onFirstCall(async () => (await import('./delete.ts')).deleteOne),
  deletecollection: onFirstCall(async () => (await import('./delete-collection.ts')).deleteCollection),
};

/** Read-only, and of every resource that is stored; a subresource of ours (ADR 7), which no discovery lists. */
const historyPart = 'history';
const history = onFirstCall(async () => (await import('./history.ts')).history);

/** Subresources that are the object itself under other rules of update. */
const updatedParts: ReadonlySet<string> = new Set(['status', 'approval', 'finalize', 'ephemeralcontainers', 'resize']);

export interface DispatcherOptions {
  readonly resources: ServedResources;
  readonly environment: RegistryEnvironment;
  /** By `group/version/resource` or `group/version/resource/subresource`: they answer instead of the registry. */
  readonly handlers: ReadonlyMap<string, Handler>;
  /** Subresources with an operation of their own (`scale`, `binding`, `eviction`), by the same key and verb. */
  readonly operations: ReadonlyMap<string, Readonly<Record<string, OperationHandler>>>;
  /** Those of custom resources, by the subresource's name and verb. */
  readonly customOperations: Readonly<Record<string, Readonly<Record<string, OperationHandler>>>>;
}

/** Answers requests for resources. Throws 404 and 405 in upstream's words. */
export function createDispatcher(options: DispatcherOptions): Handler {
  const { resources, environment, handlers, operations, customOperations } = options;
  return async (request, info) => {
    const resource = resources.find(info.group, info.version, info.resource);
    if (!resource) return notFoundAt(resources, info.path)(request, info);
    if (resource.custom && !isInScope(info, resource)) return notFoundAt(resources, info.path)(request, info);
    const key = handlerKey(info);
    const handler = handlers.get(key);
    // Proxies hand on whatever method they are called with.
    if (!handler || info.subresource !== 'proxy') checkWarned(request, info, resource);
    if (handler) return warned(resource, [], handler(request, info));
    const own = resource.custom ? customOperations[info.subresource] : operations.get(key);
    const run = own?.[info.verb] ?? registryVerb(info);
    if (!run || !resource.stored) throw refusedMethod(request);
    const output = negotiate(request, {
      transforms: info.subresource === '' || info.subresource === 'scale' || updatedParts.has(info.subresource),
      stream: info.verb === 'watch',
      protobuf: resource.custom === undefined,
    });
    const operation = createOperation(environment, { request, info, resource, output });
    return warned(resource, operation.warnings, run(operation));
  };
}

/** A client is warned of what it uses whether it gets what it wants or not; `warnings` are those of the operation. */
async function warned(
  { deprecation }: ServedResource,
  warnings: readonly string[],
  running: Promise<ApiResponse>,
): Promise<ApiResponse> {
  const deprecated = deprecation === undefined ? [] : [deprecation];
  let response: ApiResponse;
  try {
    response = await running;
  } catch (error) {
    const all = [...deprecated, ...warnings];
    throw all.length === 0 ? error : new WarnedError(error, all);
  }
  if (deprecation === undefined) return response;
  const headers = [warningHeader(deprecated).warning, response.headers.warning].filter(Boolean);
  return { ...response, headers: { ...response.headers, warning: headers.join(', ') } };
}

function handlerKey({ group, version, resource, subresource }: RequestInfo): string {
  return subresource === '' ? `${group}/${version}/${resource}` : `${group}/${version}/${resource}/${subresource}`;
}

function registryVerb({ subresource, verb }: RequestInfo): OperationHandler | undefined {
  if (subresource === '') return verbs[verb];
  if (subresource === historyPart) return verb === 'get' ? history : undefined;
  if (!updatedParts.has(subresource)) return undefined;
  return verb === 'get' || verb === 'update' || verb === 'patch' ? verbs[verb] : undefined;
}

/** Who uses a deprecated custom resource is told so, even where there is nothing. */
function checkWarned(request: ApiRequest, info: RequestInfo, resource: ServedResource): void {
  try {
    checkAddress(request, info, resource);
  } catch (error) {
    throw resource.custom && resource.deprecation !== undefined
      ? new WarnedError(error, [resource.deprecation])
      : error;
  }
}

/** Whether a path with or without a namespace can be one of this custom resource at all. */
function isInScope({ namespace, verb }: RequestInfo, { row }: ServedResource): boolean {
  if (!row.namespaced) return namespace === '';
  return namespace !== '' || verb === 'list' || verb === 'watch';
}

/** Throws 404 or 405 for what has no route: a missing namespace, a create with a name, an unknown subresource. */
function checkAddress(request: ApiRequest, info: RequestInfo, resource: ServedResource): void {
  const { row } = resource;
  const missing = () => genericServerResponse({ code: 404, method: request.method });
  if (!resource.custom) checkRoute(request, info, missing);
  if (info.subresource !== '' && !isHistory(info, resource)) {
    const subresource = subresourceOf(resource, info.subresource);
    if (!subresource) throw resource.custom ? notFound(row, info.name) : missing();
    if (!subresource.verbs.includes(info.verb)) {
      throw resource.custom ? methodNotSupported(row, info.verb) : refusedMethod(request);
    }
  }
  const named = info.name !== '' && info.verb !== 'list' && info.verb !== 'watch' && info.verb !== 'deletecollection';
  const ofNamespace = row.resource === 'namespaces' && row.group === '';
  if (row.namespaced ? named && info.namespace === '' : info.namespace !== '' && !ofNamespace) throw missing();
  if (row.namespaced && info.namespace === '' && !row.verbs.includes('list')) throw missing();
  if (info.subresource === '' && info.verb === 'create' && info.name !== '') throw refusedMethod(request);
  if (row.namespaced && info.verb === 'create' && info.namespace === '' && resource.stored)
    throw refusedMethod(request);
  if (info.name === '' && (info.verb === 'update' || info.verb === 'patch')) throw refusedMethod(request);
  if (named && resource.stored) checkName(info.name);
  if (info.subresource !== '' || row.verbs.includes(info.verb)) return;
  throw info.verb === 'watch' && row.verbs.includes('list') ? methodNotSupported(row, 'watch') : refusedMethod(request);
}

/** What upstream has routes for: no HEAD, no other method below `watch`, nothing below a subresource but what a proxy hands on. */
function checkRoute({ method }: ApiRequest, { verb, subresource, rest }: RequestInfo, missing: () => Error): void {
  if (verb === 'proxy' || (rest.length > 0 && subresource !== 'proxy')) throw missing();
  if (method === 'HEAD' || (verb === 'watch' && method !== 'GET')) throw genericServerResponse({ code: 405, method });
}

/** Throws for a name that could be no part of a path: nothing is ever stored under it. */
function checkName(name: string): void {
  const problem =
    name === '.' || name === '..' ? `may not be '${name}'` : name.includes('%') ? "may not contain '%'" : undefined;
  if (problem) throw badRequest(`Name parameter invalid: ${quote(name)}: ${problem}`);
}

function isHistory({ subresource, verb }: RequestInfo, { stored }: ServedResource): boolean {
  return subresource === historyPart && verb === 'get' && stored !== undefined;
}

function refusedMethod(request: ApiRequest): Error {
  return genericServerResponse({ code: 405, method: request.method });
}

/**
 * How code names a kind of thing: a `ResourceType<T>` is the constant that ties a URL (`/apis/apps/v1/deployments`), a kind
 * (`Deployment`) and a TypeScript type together. The built-in ones are derived into `api/gen/`; a custom resource's is made with
 * `customResource()`.
 */
import type { KubeObject } from './meta.ts';

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface ResourceType<T = KubeObject> extends GroupVersionResource, GroupVersionKind {
  readonly namespaced: boolean;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
  /** Carries `T` for the compiler; never present at run time. */
  readonly type?: T;
}

/** `v1` or `apps/v1`: the text of an object's apiVersion. */
export function apiVersionOf(gv: { readonly group: string; readonly version: string }): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`;
}

/** The reverse of `apiVersionOf`: `apps/v1` is group `apps`, version `v1`; `v1` is the core group. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** `pods` or `deployments.apps`: how messages and RBAC name a resource. */
export function groupResource(gr: { readonly group: string; readonly resource: string }): string {
  return gr.group === '' ? gr.resource : `${gr.resource}.${gr.group}`;
}

/**
 * URL path of a resource, collection or object: `resourcePath(pods, {namespace: 'a', name: 'b', subresource: 'log'})` is
 * `/api/v1/namespaces/a/pods/b/log`. Without a namespace a namespaced resource's path spans all namespaces.
 */
export function resourcePath(
  type: GroupVersionResource & { readonly namespaced: boolean },
  at: {
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
    readonly subresource?: string | undefined;
  } = {},
): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : '';
  const name = at.name === undefined ? '' : `/${encodeURIComponent(at.name)}`;
  const subresource = at.subresource ? `/${at.subresource}` : '';
  return `${root}${scope}/${type.resource}${name}${subresource}`;
}

/** A descriptor for a custom resource or a resource of an aggregated server. */
export function customResource<T extends KubeObject = KubeObject>(
  gvk: GroupVersionKind,
  naming: { readonly resource: string; readonly namespaced: boolean; readonly singular?: string },
): ResourceType<T> {
  return {
    ...gvk,
    resource: naming.resource,
    namespaced: naming.namespaced,
    singular: naming.singular ?? gvk.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: ['status'],
  };
}

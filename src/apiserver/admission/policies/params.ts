/**
 * The parameters of a policy's binding: objects of any kind that the server serves, by name or by labels. They are read from the server
 * itself, in this process, so that a parameter counts from the moment it is written.
 */
import type { ParamKind, ParamRef } from '../../../api/gen/admissionregistration-v1.ts';
import { labelMatcherOf } from '../../../apimachinery/labels.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { apiVersionOf, customResource, parseApiVersion, type ResourceType } from '../../../apimachinery/resource.ts';
import { isNotFound } from '../../../apimachinery/status.ts';
import type { Client } from '../../../client/client.ts';
import type { ServedResources } from '../../resources.ts';

export interface ParamContext {
  readonly client: Client;
  readonly resources: Pick<ServedResources, 'all'>;
}

export type ParamType = ResourceType<KubeObject>;

/** Throws where the kind is not served. */
export function paramTypeOf({ resources }: ParamContext, { apiVersion = '', kind = '' }: ParamKind): ParamType {
  for (const { row } of resources.all()) {
    if (row.kind === kind && apiVersionOf(row) === apiVersion && row.storageVersion !== undefined) {
      return customResource(row, { resource: row.resource, namespaced: row.namespaced });
    }
  }
  const { group, version } = parseApiVersion(apiVersion);
  throw new Error(`failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`);
}

/** One evaluation for each: undefined where the policy has no parameters or the binding names none. Throws what is wrong with the reference. */
export async function paramsOf(
  { client }: ParamContext,
  type: ParamType | undefined,
  reference: ParamRef | undefined,
  requestNamespace: string,
): Promise<readonly (KubeObject | undefined)[]> {
  if (!type || !reference) return [undefined];
  const namespace = paramNamespace(type, reference, requestNamespace);
  const found = await find(client, type, { reference, namespace });
  if (found.length === 0 && reference.parameterNotFoundAction === 'Deny') {
    throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return found;
}

function paramNamespace(type: ParamType, { namespace = '' }: ParamRef, requestNamespace: string): string | undefined {
  if (!type.namespaced) {
    if (namespace === '') return undefined;
    throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  }
  const wanted = namespace || requestNamespace;
  if (wanted !== '') return wanted;
  throw new Error('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
}

async function find(
  client: Client,
  type: ParamType,
  { reference, namespace }: { readonly reference: ParamRef; readonly namespace: string | undefined },
): Promise<readonly KubeObject[]> {
  const { name, selector } = reference;
  if (name) {
    if (selector) throw new Error('paramRef.name and paramRef.selector are mutually exclusive');
    try {
      return [await client.get(type, { name, namespace })];
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }
  if (!selector) throw new Error('one of name or selector must be provided');
  const { items } = await client.list(type, { namespace, labelSelector: labelMatcherOf(selector).toString() });
  // Items of a list do not say what they are.
  return items.map((item) => ({ ...item, apiVersion: apiVersionOf(type), kind: type.kind }));
}

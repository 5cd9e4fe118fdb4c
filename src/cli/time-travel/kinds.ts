/** Which resource a person means by `deploy`, `deployments.apps` or `Deployment`, as kubectl would understand it. */
import { statusError } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';

export interface NamedResource {
  /** `deployments` */
  readonly name: string;
  readonly group: string;
  readonly namespaced: boolean;
  /** Of the collection in all namespaces: `/apis/apps/v1/deployments`. */
  pathIn(namespace: string | undefined): string;
}

interface DiscoveredGroups {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly DiscoveredResource[];
    }[];
  }[];
}

interface DiscoveredResource {
  readonly resource: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
  readonly responseKind?: { readonly kind?: string };
  readonly scope: string;
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Rejects in kubectl's words when there is no such resource. */
export async function findResource(client: Client, text: string): Promise<NamedResource> {
  const [wanted = '', ...rest] = text.toLowerCase().split('.');
  const wantedGroup = rest.join('.');
  const documents = await Promise.all(
    ['/api', '/apis'].map((path) => client.raw({ method: 'GET', path, accept: aggregated })),
  );
  for (const { metadata, versions } of documents.flatMap((document) => (document as DiscoveredGroups).items)) {
    const group = metadata?.name ?? '';
    if (wantedGroup !== '' && wantedGroup !== group) continue;
    // The preferred version stands first.
    const [preferred] = versions;
    const found = preferred?.resources?.find((resource) => namesOf(resource).includes(wanted));
    if (preferred && found)
      return named(found, group, group === '' ? '/api/v1' : `/apis/${group}/${preferred.version}`);
  }
  throw statusError({ code: 404, reason: 'NotFound', message: `the server doesn't have a resource type "${text}"` });
}

function namesOf({ resource, singularResource, shortNames = [], responseKind }: DiscoveredResource): string[] {
  return [resource, singularResource, ...shortNames, responseKind?.kind?.toLowerCase()].filter(
    (name) => name !== undefined,
  );
}

function named({ resource, scope }: DiscoveredResource, group: string, root: string): NamedResource {
  const namespaced = scope === 'Namespaced';
  return {
    name: resource,
    group,
    namespaced,
    pathIn: (namespace) =>
      namespaced && namespace !== undefined ? `${root}/namespaces/${namespace}/${resource}` : `${root}/${resource}`,
  };
}

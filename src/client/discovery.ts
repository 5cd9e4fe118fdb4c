/**
 * What the API server serves, as controllers that work on every kind need it: one preferred version per resource, with its verbs.
 * Groups whose server does not answer are reported beside the rest, so that a broken extension does not stop the others.
 */

import type { APIGroupList, APIResourceList, APIVersions } from '../apimachinery/gen/meta-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { parseApiVersion, type ResourceType } from '../apimachinery/resource.ts';
import { messageOf } from '../apimachinery/status.ts';
import type { Client } from './client.ts';

export interface DiscoveryFailure {
  /** `metrics.k8s.io/v1beta1`. */
  readonly groupVersion: string;
  readonly message: string;
}

export interface Discovered {
  /** Each resource in its preferred version. */
  readonly preferred: readonly ResourceType[];
  /** Each resource in every version. */
  readonly all: readonly ResourceType[];
  readonly failures: readonly DiscoveryFailure[];
}

interface AggregatedResource {
  readonly resource: string;
  readonly responseKind?: { readonly kind: string };
  readonly scope: string;
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly { readonly subresource: string }[];
}

interface AggregatedVersion {
  readonly version: string;
  readonly freshness?: string;
  readonly resources?: readonly AggregatedResource[];
}

interface AggregatedList {
  readonly kind: string;
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly AggregatedVersion[];
  }[];
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

/** Rejects when the server cannot be asked at all. */
export async function discover(client: Client, signal?: AbortSignal): Promise<Discovered> {
  const [core, groups] = await Promise.all([
    client.raw({ method: 'GET', path: '/api', accept: aggregated, signal }),
    client.raw({ method: 'GET', path: '/apis', accept: aggregated, signal }),
  ]);
  if (isAggregated(core) && isAggregated(groups)) return fromAggregated([...core.items, ...groups.items]);
  return await fromGroups(client, core as APIVersions, groups as APIGroupList, signal);
}

function isAggregated(document: unknown): document is AggregatedList {
  return (document as Partial<AggregatedList>)?.kind === 'APIGroupDiscoveryList';
}

function fromAggregated(items: AggregatedList['items']): Discovered {
  const failures: DiscoveryFailure[] = [];
  const all: ResourceType[] = [];
  for (const { metadata, versions } of items) {
    const group = metadata?.name ?? '';
    for (const { version, freshness, resources } of versions) {
      if (freshness === 'Stale') {
        failures.push({ groupVersion: groupVersion(group, version), message: 'stale GroupVersion discovery' });
        continue;
      }
      for (const resource of resources ?? []) {
        all.push({
          group,
          version,
          resource: resource.resource,
          kind: resource.responseKind?.kind ?? '',
          namespaced: resource.scope === 'Namespaced',
          singular: resource.singularResource,
          shortNames: resource.shortNames ?? [],
          categories: resource.categories ?? [],
          verbs: resource.verbs,
          subresources: (resource.subresources ?? []).map(({ subresource }) => subresource),
        });
      }
    }
  }
  return { preferred: firstOfEach(all), all, failures };
}

/** One document a group version: what servers without aggregated discovery answer. */
async function fromGroups(
  client: Client,
  core: APIVersions,
  groups: APIGroupList,
  signal?: AbortSignal,
): Promise<Discovered> {
  const versions = [
    ...core.versions.map((version) => ({ groupVersion: version, path: `/api/${version}` })),
    ...groups.groups.flatMap((group) =>
      preferredFirst(group.versions, group.preferredVersion?.version).map((version) => ({
        groupVersion: version.groupVersion,
        path: `/apis/${version.groupVersion}`,
      })),
    ),
  ];
  const failures: DiscoveryFailure[] = [];
  const all: ResourceType[] = [];
  const answers = await Promise.allSettled(versions.map(({ path }) => client.raw({ method: 'GET', path, signal })));
  answers.forEach((answer, index) => {
    const of = versions[index]!.groupVersion;
    if (answer.status === 'rejected') failures.push({ groupVersion: of, message: messageOf(answer.reason) });
    else all.push(...resourcesOf(of, answer.value as APIResourceList));
  });
  return { preferred: firstOfEach(all), all, failures };
}

function preferredFirst<V extends { readonly version: string }>(
  versions: readonly V[],
  preferred: string | undefined,
): readonly V[] {
  return [...versions].sort((a, b) => Number(b.version === preferred) - Number(a.version === preferred));
}

function resourcesOf(of: string, { resources }: APIResourceList): ResourceType[] {
  const { group, version } = parseApiVersion(of);
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map((resource) => ({
      group: resource.group || group,
      version: resource.version || version,
      resource: resource.name,
      kind: resource.kind,
      namespaced: resource.namespaced,
      singular: resource.singularName,
      shortNames: resource.shortNames ?? [],
      categories: resource.categories ?? [],
      verbs: resource.verbs,
      subresources: resources.flatMap(({ name }) =>
        name.startsWith(`${resource.name}/`) ? [name.slice(resource.name.length + 1)] : [],
      ),
    }));
}

/** Versions come preferred first. */
function firstOfEach(all: readonly ResourceType[]): ResourceType[] {
  const found = new Map<string, ResourceType>();
  for (const type of all) {
    const key = `${type.group}/${type.resource}`;
    if (!found.has(key)) found.set(key, type);
  }
  return [...found.values()];
}

function groupVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

export function supports(type: ResourceType<KubeObject>, ...verbs: readonly string[]): boolean {
  return verbs.every((verb) => type.verbs.includes(verb));
}

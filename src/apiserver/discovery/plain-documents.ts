/** The plain discovery documents, one per path. Key order and what is left out when empty are upstream's. */
import type { DiscoveredGroup, DiscoveredResource, DiscoveredVersion } from './discovered.ts';

/** `/api`. */
export function versionsDocument(core: DiscoveredGroup | undefined, serverAddress: string): object {
  return {
    kind: 'APIVersions',
    versions: core?.versions.map((version) => version.version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

/** `/apis`. */
export function groupListDocument(groups: readonly DiscoveredGroup[]): object {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupBody) };
}

/** `/apis/GROUP`. */
export function groupDocument(group: DiscoveredGroup): object {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(group) };
}

/** `/api/v1`, `/apis/GROUP/VERSION`. The core one has no apiVersion: it is older than that habit. */
export function resourceListDocument(version: DiscoveredVersion): object {
  return {
    kind: 'APIResourceList',
    ...(version.group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: version.apiVersion,
    resources: version.resources.flatMap(resourceEntries),
  };
}

function groupBody(group: DiscoveredGroup) {
  const versions = group.versions.map(({ apiVersion, version }) => ({ groupVersion: apiVersion, version }));
  return { name: group.name, versions, preferredVersion: versions[0] };
}

/** The resource, then its subresources by name. */
function resourceEntries(resource: DiscoveredResource): object[] {
  const { shortNames, categories, storageVersionHash } = resource;
  const entry = {
    name: resource.resource,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: resource.verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(storageVersionHash === undefined ? {} : { storageVersionHash }),
  };
  const subresources = resource.subresources.map((subresource) => ({
    name: `${resource.resource}/${subresource.name}`,
    singularName: '',
    namespaced: resource.namespaced,
    ...(subresource.group === undefined ? {} : { group: subresource.group }),
    ...(subresource.version === undefined ? {} : { version: subresource.version }),
    kind: subresource.kind,
    verbs: subresource.verbs,
  }));
  return [entry, ...subresources];
}

/** Aggregated discovery: every group, version and resource in one `APIGroupDiscoveryList`. v2 and v2beta1 differ in name only. */
import type { DiscoveredGroup, DiscoveredResource, DiscoveredVersion } from './discovered.ts';

export type AggregatedVersion = 'v2' | 'v2beta1';

export function aggregatedList(groups: readonly DiscoveredGroup[], version: AggregatedVersion): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: group.name === '' ? {} : { name: group.name },
      versions: group.versions.map(versionEntry),
    })),
  };
}

function versionEntry(version: DiscoveredVersion): object {
  return {
    version: version.version,
    ...(version.resources.length > 0 ? { resources: version.resources.map(resourceEntry) } : {}),
    freshness: version.stale ? 'Stale' : 'Current',
  };
}

/** Group and version of a built-in kind are empty where they are those of the list it stands in. */
function resourceEntry(resource: DiscoveredResource): object {
  const { shortNames, categories, subresources } = resource;
  const { group = '', version = '' } = resource.tellsWholeKinds ? resource : {};
  return {
    resource: resource.resource,
    responseKind: { group, version, kind: resource.kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0
      ? {
          subresources: subresources.map((subresource) => ({
            subresource: subresource.name,
            responseKind: {
              group: subresource.group ?? group,
              version: subresource.version ?? version,
              kind: subresource.kind,
            },
            verbs: subresource.verbs,
          })),
        }
      : {}),
  };
}

/** Answers of a `MemoryApi` that are longer than what leads to them. */
import type { ResourceRow } from '../apimachinery/schema.ts';
import { conflict, statusError } from '../apimachinery/status.ts';

/** Aggregated discovery of what is served by default: of the core group, or of all others. */
export function discoveryList(all: readonly ResourceRow[], core: boolean): unknown {
  const groups = new Map<string, Map<string, ResourceRow[]>>();
  for (const row of all) {
    if ((row.group === '') !== core || !row.enabledByDefault) continue;
    const versions = groups.get(row.group) ?? new Map<string, ResourceRow[]>();
    versions.set(row.version, [...(versions.get(row.version) ?? []), row]);
    groups.set(row.group, versions);
  }
  const items = [...groups].map(([name, versions]) => ({
    metadata: { name },
    versions: [...versions].map(([version, rows]) => ({
      version,
      freshness: 'Current',
      resources: rows.map((row) => ({
        resource: row.resource,
        responseKind: { group: row.group, version, kind: row.kind },
        scope: row.namespaced ? 'Namespaced' : 'Cluster',
        singularResource: row.singular,
        verbs: row.verbs,
      })),
    })),
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}

/** Upstream names the kind here, where it names the resource elsewhere. */
export function otherUid(
  { group, kind }: ResourceRow,
  name: string,
  { wanted, found }: { readonly wanted: string; readonly found: string },
): Error {
  return conflict(
    { group, resource: kind },
    name,
    `the UID in the precondition (${wanted}) does not match the UID in record (${found}). The object might have been deleted and then recreated`,
  );
}

export function terminatingNamespace(row: ResourceRow, name: string, namespace: string): Error {
  const message = `${row.resource} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  return statusError({
    code: 403,
    reason: 'Forbidden',
    message,
    details: { name, kind: row.resource, causes: [cause] },
  });
}

/** What servers behind this one add to it: see `aggregation/`. Absent while there is none. */
import type { DiscoveredResource, VersionRank } from './discovery/discovered.ts';
import type { RemoteOpenApi } from './openapi/joined-documents.ts';
import type { DocumentedResource } from './openapi/operations.ts';
import type { Handler } from './request.ts';

export interface RemoteApis {
  /** Who answers at a path in this server's stead. */
  handler(path: string): Handler | undefined;
  /** Another object after each change of what it tells. */
  readonly discovered: DiscoveredApis;
  /** Another object after each change of what it tells. */
  readonly openApi: RemoteOpenApi;
  /** Of what is discovered, what this server's own tables describe; changes only with `openApi`. */
  readonly documented?: readonly DocumentedResource[] | undefined;
}

export interface DiscoveredApis {
  readonly resources: readonly DiscoveredResource[];
  /** Of remote group versions, and of those of this server that were given another place. */
  readonly ranks: readonly VersionRank[];
}

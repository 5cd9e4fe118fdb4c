/** What discovery tells of: groups, their versions, the resources in them. */
import type { ResourceRow } from '../../apimachinery/schema.ts';

/** A resource as discovery shows it; rows of the kind tables are such, and custom resources are made into such. */
export type DiscoveredResource = Pick<
  ResourceRow,
  | 'group'
  | 'version'
  | 'resource'
  | 'kind'
  | 'singular'
  | 'namespaced'
  | 'shortNames'
  | 'categories'
  | 'verbs'
  | 'subresources'
> & {
  readonly storageVersionHash?: string | undefined;
  /** Whether its kinds are told with group and version even where those are the list's own, as of custom resources. */
  readonly tellsWholeKinds?: boolean;
  /** Of a custom resource: paths of fields by which its objects can be selected, as `spec.colour`. */
  readonly selectable?: readonly string[];
};

/** A group version that is known by more than its resources: its rank, or that its server cannot be reached. */
export interface VersionRank {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** The resources are from the past: their server does not answer. */
  readonly stale?: boolean | undefined;
}

/** One served group version with its resources in order. */
export interface DiscoveredVersion extends VersionRank {
  readonly apiVersion: string;
  readonly resources: readonly DiscoveredResource[];
}

/** A group with its versions, the preferred one first. */
export interface DiscoveredGroup {
  readonly name: string;
  readonly versions: readonly DiscoveredVersion[];
}

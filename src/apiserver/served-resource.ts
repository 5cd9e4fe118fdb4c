/**
 * What the parts of the server know of a resource that is served: what its versions have in common, and what is one version's own. Types
 * alone; `resources.ts` makes those of the tables, `custom-resources/` the others.
 */
import type { Conversion } from '../api/conversion.ts';
import type { KindBehaviour } from '../api/kind.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import type { ResourceRow, SelectorRow } from '../apimachinery/schema.ts';
import type { CustomPart } from './custom-part.ts';
import type { ResourceCodec } from './encoding/resource-codec.ts';
import type { Source } from './watch-cache/source.ts';

/** What all served versions of one resource have in common. */
export interface StoredKind {
  /** `pods`, `deployments.apps`: of the hub version. */
  readonly name: string;
  /** Where the objects lie: `/registry/pods/`. */
  readonly prefix: string;
  readonly namespaced: boolean;
  readonly hub: ResourceRow;
  readonly hubApiVersion: string;
  /** Of the hub version. */
  readonly codec: ResourceCodec;
  readonly behaviour: KindBehaviour;
  /** Facts on field selectors of the hub version. */
  readonly selectors: SelectorRow | undefined;
  readonly keepsStatus: boolean;
  /** Defined by a CustomResourceDefinition. */
  readonly custom: boolean;
  /** Stands before the store where what it keeps takes more than decoding: see `custom-resources/conversion/`. */
  readonly source?: (<V>(source: Source<V>) => Source<V>) | undefined;
  /** What is stored after this revision is in today's form; absent: as for all resources. */
  readonly trustedAfter?: number | undefined;
  /** Every served version, by apiVersion. */
  readonly versions: ReadonlyMap<string, ServedResource>;
  /** Values that field selectors compare, under the hub version's names. */
  selectableFields(object: KubeObject): Readonly<Record<string, string>>;
}

/** One resource in one served version. */
export interface ServedResource {
  readonly row: ResourceRow;
  readonly apiVersion: string;
  readonly listKind: string;
  readonly codec: ResourceCodec;
  /** Absent for resources without storage: reviews and the like. */
  readonly stored: StoredKind | undefined;
  /** Between this version and the hub; absent for the hub itself. */
  readonly conversion: Conversion | undefined;
  readonly selectors: SelectorRow | undefined;
  /** What clients are warned of, if anything. */
  readonly deprecation: string | undefined;
  /** What only a custom resource has; absent for those of the tables. */
  readonly custom?: CustomPart | undefined;
}

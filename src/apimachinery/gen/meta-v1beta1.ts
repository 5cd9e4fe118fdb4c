/** Types of meta/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type * as metaV1 from './meta-v1.ts';

export interface PartialObjectMetadataList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly metaV1.PartialObjectMetadata[];
}

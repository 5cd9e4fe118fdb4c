/** Types of apidiscovery/v2. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface APIGroupDiscovery {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly versions?: readonly APIVersionDiscovery[] | undefined;
}

export interface APIGroupDiscoveryList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly APIGroupDiscovery[];
}

export interface APIResourceDiscovery {
  readonly resource: string;
  readonly responseKind?: metaV1.GroupVersionKind | undefined;
  readonly scope: string;
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  readonly subresources?: readonly APISubresourceDiscovery[] | undefined;
}

export interface APISubresourceDiscovery {
  readonly subresource: string;
  readonly responseKind?: metaV1.GroupVersionKind | undefined;
  readonly acceptedTypes?: readonly metaV1.GroupVersionKind[] | undefined;
  readonly verbs: readonly string[];
}

export interface APIVersionDiscovery {
  readonly version: string;
  readonly resources?: readonly APIResourceDiscovery[] | undefined;
  readonly freshness?: string | undefined;
}

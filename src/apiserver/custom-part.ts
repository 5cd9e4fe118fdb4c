/** What a served custom resource has beyond what the built-in ones have: see `custom-resources/`. */
import type { DiscoveredResource } from './discovery/discovered.ts';
import type { Scalable } from './subresources/scalable.ts';

export interface CustomPart {
  /** Its entry in discovery; undefined while its definition is not established. */
  readonly discovered: DiscoveredResource | undefined;
  /** `openAPIV3Schema` of its version. */
  readonly publishedSchema: Readonly<Record<string, unknown>>;
  /** Whether the definition is being deleted, so that nothing may be created any more. */
  readonly terminating: boolean;
  /** Where its objects keep what a Scale shows; absent where they have none. */
  readonly scalable: Scalable | undefined;
}

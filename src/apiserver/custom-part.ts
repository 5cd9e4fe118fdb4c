/** What a served custom resource has beyond what the built-in ones have: see `custom-resources/`. */
import type { DiscoveredResource } from './discovery/discovery.ts';
import type { OperationHandler } from './registry/dispatch.ts';

export interface CustomPart {
  /** Its entry in discovery; undefined while its definition is not established. */
  readonly discovered: DiscoveredResource | undefined;
  /** `openAPIV3Schema` of its version. */
  readonly publishedSchema: Readonly<Record<string, unknown>>;
  /** Whether the definition is being deleted, so that nothing may be created any more. */
  readonly terminating: boolean;
  /** Subresources with an operation of their own (`scale`), by name and verb. */
  readonly operations: Readonly<Record<string, Readonly<Record<string, OperationHandler>>>>;
}

/**
 * The admission chain: after authorization and before storage, mutating plugins in upstream's order, then validating ones. A
 * plugin refuses by throwing a `StatusError` (usually `forbidden`).
 */

import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import type { GroupVersionKind, GroupVersionResource } from '../../apimachinery/resource.ts';
import type { UserInfo } from '../request.ts';
import type { ServedResource } from '../served-resource.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionAttributes {
  readonly operation: Operation;
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
  /** The resource, whose objects are known in several versions; absent where the object is of a kind of its own (Binding, Scale, reviews). */
  readonly served?: ServedResource | undefined;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty for a creation with generateName. */
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Create, update, patch or delete options; for CONNECT the request's query options. */
  readonly options: unknown;
  /** The new object, to be changed in place by mutating plugins; undefined for DELETE. */
  readonly object: Draft<KubeObject> | undefined;
  /** The stored object of UPDATE and DELETE. */
  readonly oldObject: KubeObject | undefined;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
  /** Adds a `Warning` header for the client. */
  warn(message: string): void;
  /** Adds a line to the request's audit event; `Request`: only where its level tells bodies too. */
  annotate?(key: string, value: string, level?: 'Metadata' | 'Request'): void;
}

/**
 * Mutating plugins run once, and all of them a second time when one of those that call others (webhooks, policies) changed the object after
 * others had seen it.
 */
export interface AdmissionRound {
  readonly isSecond: boolean;
  /** Asks for the second round. */
  runAgain(): void;
  /** What a plugin remembers of the first round, by its name. */
  readonly memory: Map<string, unknown>;
}

export interface AdmissionPlugin {
  /** Upstream's name, e.g. `NodeRestriction`. */
  readonly name: string;
  handles(operation: Operation, resource: GroupVersionResource, subresource: string): boolean;
  /** `admit` changes nothing within spec or status, but puts another in their place if need be: they may be the stored object's own. */
  readonly replacesParts?: true;
  admit?(attributes: AdmissionAttributes, round: AdmissionRound): Promise<void> | void;
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
}

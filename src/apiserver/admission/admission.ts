/**
 * The admission chain: after authorization and before storage, mutating plugins in upstream's order, then validating ones. A
 * plugin refuses by throwing a `StatusError` (usually `forbidden`).
 */

import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import type { GroupVersionKind, GroupVersionResource } from '../../apimachinery/resource.ts';
import type { UserInfo } from '../request.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionAttributes {
  readonly operation: Operation;
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
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
  /** Adds a `Warning` header for the client. */
  warn(message: string): void;
}

export interface AdmissionPlugin {
  /** Upstream's name, e.g. `NodeRestriction`. */
  readonly name: string;
  handles(operation: Operation, resource: GroupVersionResource, subresource: string): boolean;
  admit?(attributes: AdmissionAttributes): Promise<void> | void;
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
}

/** Subresources that are more than a part of their object, by `group/version/resource/subresource` and verb. */
import type { OperationHandler } from '../registry/dispatch.ts';
import { bindPod } from './binding.ts';
import { evictPod } from './eviction.ts';
import { getScale, patchScale, updateScale } from './scale.ts';

type Verbs = Readonly<Record<string, OperationHandler>>;

const scale: Verbs = { get: getScale, update: updateScale, patch: patchScale };

export const builtinOperations: ReadonlyMap<string, Verbs> = new Map([
  ['apps/v1/deployments/scale', scale],
  ['apps/v1/replicasets/scale', scale],
  ['apps/v1/statefulsets/scale', scale],
  ['/v1/replicationcontrollers/scale', scale],
  ['/v1/pods/binding', { create: bindPod }],
  ['/v1/pods/eviction', { create: evictPod }],
]);

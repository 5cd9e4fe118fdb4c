/** Subresources that are more than a part of their object, by `group/version/resource/subresource` and verb. */
import { onFirstCall } from '../../base/lazy-module.ts';
import type { OperationHandler } from '../registry/dispatch.ts';

type Verbs = Readonly<Record<string, OperationHandler>>;

const scale: Verbs = {
  get: onFirstCall(async () => (await import('./scale.ts')).getScale),
  update: onFirstCall(async () => (await import('./scale.ts')).updateScale),
  patch: onFirstCall(async () => (await import('./scale.ts')).patchScale),
};
const binding: Verbs = { create: onFirstCall(async () => (await import('./binding.ts')).bindPod) };
const eviction: Verbs = { create: onFirstCall(async () => (await import('./eviction.ts')).evictPod) };

export const builtinOperations: ReadonlyMap<string, Verbs> = new Map([
  ['apps/v1/deployments/scale', scale],
  ['apps/v1/replicasets/scale', scale],
  ['apps/v1/statefulsets/scale', scale],
  ['/v1/replicationcontrollers/scale', scale],
  ['/v1/pods/binding', binding],
  ['/v1/pods/eviction', eviction],
]);

/** Subresources that are more than a part of their object, by `group/version/resource/subresource` and verb. */
import { onFirstCall } from '../../base/lazy-module.ts';
import type { OperationHandler } from '../registry/dispatch.ts';

type Verbs = Readonly<Record<string, OperationHandler>>;

const scaleOf = (resource: string): Verbs => {
  const verb = (name: 'get' | 'update' | 'patch') =>
    onFirstCall(async () => {
      const { scaleVerbs, workloadScale } = await import('./scale.ts');
      return scaleVerbs(workloadScale(resource))[name];
    });
  return { get: verb('get'), update: verb('update'), patch: verb('patch') };
};
const customScale = (name: 'get' | 'update' | 'patch') =>
  onFirstCall(async () => (await import('./scale.ts')).customScaleVerbs[name]);
const binding: Verbs = { create: onFirstCall(async () => (await import('./binding.ts')).bindPod) };
const eviction: Verbs = { create: onFirstCall(async () => (await import('./eviction.ts')).evictPod) };

export const builtinOperations: ReadonlyMap<string, Verbs> = new Map([
  ['apps/v1/deployments/scale', scaleOf('deployments')],
  ['apps/v1/replicasets/scale', scaleOf('replicasets')],
  ['apps/v1/statefulsets/scale', scaleOf('statefulsets')],
  ['/v1/replicationcontrollers/scale', scaleOf('replicationcontrollers')],
  ['/v1/pods/binding', binding],
  ['/v1/pods/eviction', eviction],
]);

/** Those of custom resources, by the subresource's name: the version that is asked for says which it has. */
export const customOperations: Readonly<Record<string, Verbs>> = {
  scale: { get: customScale('get'), update: customScale('update'), patch: customScale('patch') },
};

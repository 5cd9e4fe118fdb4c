/** Subresources that are more than a part of their object, by `group/version/resource/subresource` and verb. */
import type { OperationHandler } from '../registry/dispatch.ts';
import { bindPod } from './binding.ts';
import { evictPod } from './eviction.ts';
import { scaleVerbs, workloadScale } from './scale.ts';

type Verbs = Readonly<Record<string, OperationHandler>>;

const scaleOf = (resource: string): Verbs => ({ ...scaleVerbs(workloadScale(resource)) });

export const builtinOperations: ReadonlyMap<string, Verbs> = new Map([
  ['apps/v1/deployments/scale', scaleOf('deployments')],
  ['apps/v1/replicasets/scale', scaleOf('replicasets')],
  ['apps/v1/statefulsets/scale', scaleOf('statefulsets')],
  ['/v1/replicationcontrollers/scale', scaleOf('replicationcontrollers')],
  ['/v1/pods/binding', { create: bindPod }],
  ['/v1/pods/eviction', { create: evictPod }],
]);

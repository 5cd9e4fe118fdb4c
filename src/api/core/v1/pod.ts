/** Pods: containers that live and die together on one node. */
import type { FieldError } from '../../../apimachinery/field-error.ts';
import { loaderFrom } from '../../../base/load-on-use.ts';
import { type Pod, pods } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { podColumns, podRowConditions } from './pod-columns.ts';
import { defaultPod } from './pod-defaults.ts';
import type { validatePodResize } from './pod-resize-validation.ts';
import { isPodTerminal } from './pod-status.ts';
import { validatePodStatusUpdate } from './pod-status-validation.ts';
import { prepareEphemeralContainers, preparePod, prepareResize, prepareStatus } from './pod-strategy.ts';
import { validateEphemeralContainersUpdate, validatePod, validatePodUpdate } from './pod-validation.ts';

const load = loaderFrom(import.meta.url);

export const podBehaviour: KindBehaviour<Pod> = {
  resource: pods,
  validates: 'spec and annotations',
  // A claim is made for such a volume, and called after both.
  validatesName: ({ spec }) => spec.volumes?.some(({ ephemeral }) => ephemeral) === true,
  defaults: defaultPod,
  defaultsByMember: true,
  prepareForCreate: preparePod,
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  countsGeneration: true,
  subresources: {
    status: { prepareForUpdate: prepareStatus, validateUpdate: validatePodStatusUpdate },
    ephemeralcontainers: {
      prepareForUpdate: prepareEphemeralContainers,
      validateUpdate: validateEphemeralContainersUpdate,
    },
    resize: { prepareForUpdate: prepareResize, validateUpdate: validateResize },
  },
  columns: podColumns,
  rowConditions: podRowConditions,
  gracePeriodSeconds,
};

/** Only a Pod that may still be running somewhere is given time to end. */
function gracePeriodSeconds(pod: Pod, requested: number | undefined): number {
  if (!pod.spec.nodeName || isPodTerminal(pod)) return 0;
  const seconds = requested ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

/** Few Pods are ever resized. */
function validateResize(pod: Pod, previous: Pod): readonly FieldError[] {
  return load<typeof validatePodResize>('pod-resize-validation.ts', 'validatePodResize')(pod, previous);
}

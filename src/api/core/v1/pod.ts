/** Pods: containers that live and die together on one node. */
import { type Pod, pods } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { podColumns, podRowConditions } from './pod-columns.ts';
import { defaultPod } from './pod-defaults.ts';
import { validatePodResize } from './pod-resize-validation.ts';
import { isPodTerminal } from './pod-status.ts';
import { prepareEphemeralContainers, preparePod, prepareResize, prepareStatus } from './pod-strategy.ts';
import {
  validateEphemeralContainersUpdate,
  validatePod,
  validatePodStatusUpdate,
  validatePodUpdate,
} from './pod-validation.ts';

export const podBehaviour: KindBehaviour<Pod> = {
  resource: pods,
  defaults: defaultPod,
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
    resize: { prepareForUpdate: prepareResize, validateUpdate: validatePodResize },
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

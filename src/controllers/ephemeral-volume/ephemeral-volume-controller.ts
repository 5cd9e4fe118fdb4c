/**
 * Makes the claims that Pods describe in their own `ephemeral` volumes. A claim of the right name that is not the Pod's own is left
 * alone, and the Pod waits: taking it over could show one Pod another's data.
 */
import { isPodTerminating } from '../../api/core/v1/pod-status.ts';
import { type Pod, persistentVolumeClaims, pods as podType } from '../../api/gen/core-v1.ts';
import { controllerReference, isControlledBy, keyOf } from '../../apimachinery/meta.ts';
import { isAlreadyExists, isNamespaceTerminating, messageOf } from '../../apimachinery/status.ts';
import { subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { withKind } from '../common/events.ts';

export interface EphemeralVolumeOptions {
  readonly workers?: number | undefined;
}

const hasEphemeral = ({ spec }: Pod) => spec.volumes?.some(({ ephemeral }) => ephemeral) ?? false;

export async function runEphemeralVolumeController(
  context: ComponentContext,
  options: EphemeralVolumeOptions = {},
): Promise<void> {
  const { client, informers } = context;
  const pods = informers.of(podType);
  const claims = informers.of(persistentVolumeClaims);
  const events = context.eventRecorder('ephemeral_volume');
  const controller = createController(context, {
    name: 'ephemeral-volume-controller',
    queue: 'ephemeral_volume',
    workers: options.workers ?? 5,
    waitFor: [pods, claims],
    about: (key) => subjectOfKey(podType, key),
    async reconcile(key: string) {
      const pod = pods.get(key);
      if (!pod || isPodTerminating(pod)) return;
      const { namespace, name: podName } = pod.metadata;
      for (const { name: volume, ephemeral } of pod.spec.volumes ?? []) {
        const template = ephemeral?.volumeClaimTemplate;
        if (!template) continue;
        const name = `${podName}-${volume}`;
        const present = claims.get(`${namespace}/${name}`);
        if (present && isControlledBy(present, pod)) continue;
        try {
          if (present)
            throw new Error(
              `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`,
            );
          const ownerReferences = [controllerReference(pod, podType)];
          const { annotations, labels } = template.metadata ?? {};
          await client.create(persistentVolumeClaims, {
            metadata: { namespace, name, annotations, labels, ownerReferences },
            spec: template.spec,
          });
        } catch (error) {
          if (isNamespaceTerminating(error) || isAlreadyExists(error)) return;
          const message = `ephemeral volume ${volume}: ${messageOf(error)}`;
          events.record(withKind(podType, pod), 'Warning', 'EphemeralVolumeCreationFailed', message);
          throw error;
        }
      }
    },
  });
  controller.watchMapped(pods, (pod, previous) => (previous === undefined && hasEphemeral(pod) ? [keyOf(pod)] : []));
  // A claim that was in the way has gone.
  controller.watchOwned(claims, podType);
  await controller.run();
}

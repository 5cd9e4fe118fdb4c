/**
 * Wakes the keys of the Services that a Pod's change concerns. Services are looked up by one label of their selector, so that a
 * Pod's change never costs a pass over all Services.
 */
import type { Pod, Service } from '../../api/gen/core-v1.ts';
import { labelMatcherOfSet } from '../../apimachinery/labels.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import type { Controller } from '../../reconcile/controller.ts';
import type { Informer } from '../../reconcile/informer.ts';

const bySelectorPart = 'controllers/service-selector-part';

export function watchServicePods(
  controller: Controller,
  services: Informer<Service>,
  pods: Informer<Pod>,
  matters: (pod: Pod, previous: Pod) => boolean,
): void {
  services.addIndex(bySelectorPart, ({ metadata, spec }) => {
    const [first] = Object.entries(spec?.selector ?? {});
    return first ? [`${metadata.namespace}/${first[0]}=${first[1]}`] : [];
  });
  const wake = ({ metadata }: Pod) => {
    for (const [label, value] of Object.entries(metadata.labels ?? {})) {
      for (const service of services.byIndex(bySelectorPart, `${metadata.namespace}/${label}=${value}`)) {
        if (labelMatcherOfSet(service.spec?.selector ?? {}).matches(metadata.labels))
          controller.enqueue(keyOf(service));
      }
    }
  };
  pods.onChange({
    added: wake,
    updated: (pod, previous) => {
      if (!matters(pod, previous)) return;
      wake(pod);
      if (pod.metadata.labels !== previous.metadata.labels) wake(previous);
    },
    deleted: wake,
  });
}

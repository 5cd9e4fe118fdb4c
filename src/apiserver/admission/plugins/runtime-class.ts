/** RuntimeClass: a Pod's class must exist, and adds its overhead, node selector and tolerations to the Pod. */

import { semanticallyEqual } from '../../../api/equality.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { type RuntimeClass, runtimeClasses } from '../../../api/gen/node-v1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { isNotFound } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';
import { mergeTolerations } from '../tolerations.ts';

export function runtimeClass(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(runtimeClasses);

  async function classOf(attributes: AdmissionAttributes): Promise<RuntimeClass | undefined> {
    const name = (attributes.object as Draft<Pod>).spec.runtimeClassName;
    if (name === undefined || name === null) return undefined;
    try {
      return informer.get(name) ?? (await context.client.get(runtimeClasses, { name }));
    } catch (error) {
      throw isNotFound(error) ? refusal(attributes, `pod rejected: RuntimeClass ${quote(name)} not found`) : error;
    }
  }

  return {
    name: 'RuntimeClass',
    handles: handling(['CREATE'], '', 'pods'),
    async admit(attributes) {
      const { spec } = attributes.object as Draft<Pod>;
      const found = await classOf(attributes);
      const overhead = found?.overhead?.podFixed;
      if (found?.overhead) {
        if (Object.keys(spec.overhead ?? {}).length > 0 && !semanticallyEqual(spec.overhead, overhead)) {
          throw refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
        }
        spec.overhead = { ...overhead };
      }
      if (!found?.scheduling) return;
      for (const [key, value] of Object.entries(found.scheduling.nodeSelector ?? {})) {
        const own = spec.nodeSelector?.[key];
        if (own !== undefined && own !== value) {
          const ofClass = `runtimeClass.scheduling.nodeSelector[${key}] = ${value}`;
          throw refusal(attributes, `conflict: ${ofClass}; pod.spec.nodeSelector[${key}] = ${own}`);
        }
        spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
      }
      spec.tolerations = mergeTolerations(spec.tolerations ?? [], found.scheduling.tolerations ?? []);
    },
    async validate(attributes) {
      const { spec } = attributes.object as Pod;
      const found = await classOf(attributes);
      if (found?.overhead) {
        if (semanticallyEqual(spec.overhead, found.overhead.podFixed)) return;
        throw refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
      }
      if (spec.overhead) {
        throw refusal(attributes, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
      }
    },
  };
}

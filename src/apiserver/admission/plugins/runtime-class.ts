/** RuntimeClass: a Pod's class must exist, and adds its overhead, node selector and tolerations to the Pod. */

import { semanticallyEqual } from '../../../api/equality.ts';
import type { Pod, Toleration } from '../../../api/gen/core-v1.ts';
import { type RuntimeClass, runtimeClasses } from '../../../api/gen/node-v1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { isNotFound } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

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

/** Both lists, without those that another one already covers. */
function mergeTolerations(own: readonly Toleration[], added: readonly Toleration[]): Draft<Toleration>[] {
  const all = [...own, ...added];
  const kept = all.filter(
    (candidate, i) =>
      !all.some((other, j) => j !== i && covers(other, candidate) && (j < i || !covers(candidate, other))),
  );
  return kept.map((toleration) => ({ ...toleration }));
}

function covers(wide: Toleration, narrow: Toleration): boolean {
  if (semanticallyEqual(wide, narrow)) return true;
  const sameKey = wide.key === narrow.key || (!wide.key && wide.operator === 'Exists');
  const sameEffect = !wide.effect || wide.effect === narrow.effect;
  const longEnough =
    wide.tolerationSeconds === undefined ||
    (narrow.tolerationSeconds !== undefined && wide.tolerationSeconds >= narrow.tolerationSeconds);
  const sameValue =
    wide.operator === 'Exists' ||
    ((narrow.operator ?? 'Equal') === 'Equal' && (wide.value ?? '') === (narrow.value ?? ''));
  return sameKey && sameEffect && longEnough && sameValue;
}

/**
 * PodTolerationRestriction: what a namespace's Pods tolerate without saying so, and what they may tolerate at all, by annotations of the
 * namespace or by the configuration. Off by default.
 */

import { computeQosClass } from '../../../api/core/v1/quality-of-service.ts';
import { wellKnownTaints } from '../../../api/core/v1/tolerations.ts';
import { namespaces, type Pod, type Toleration } from '../../../api/gen/core-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { internalError, isNotFound, messageOf, statusError } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext, whenReady } from '../plugin-context.ts';
import { mergeTolerations, withinTolerations } from '../tolerations.ts';

const defaultsAnnotation = 'scheduler.alpha.kubernetes.io/defaultTolerations';
const allowedAnnotation = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';

/** `Configuration` of podtolerationrestriction.admission.k8s.io/v1alpha1. */
export interface PodTolerationRestrictionConfiguration {
  readonly default?: readonly Toleration[];
  readonly whitelist?: readonly Toleration[];
}

export function podTolerationRestriction(context: PluginContext, configuration?: unknown): AdmissionPlugin {
  const cluster = (configuration ?? {}) as PodTolerationRestrictionConfiguration;
  const informer = context.informers.of(namespaces);

  /** Undefined where the namespace does not say, which is not the same as nothing. */
  async function ofNamespace(attributes: AdmissionAttributes, key: string): Promise<readonly Toleration[] | undefined> {
    await whenReady(context, informer, attributes);
    const name = attributes.namespace;
    const namespace = informer.get(name) ?? (await context.client.get(namespaces, { name }).catch(passOnOrInternal));
    const text = namespace.metadata.annotations?.[key];
    return text === undefined ? undefined : tolerationsOf(text);
  }

  async function check(attributes: AdmissionAttributes): Promise<void> {
    const { tolerations = [] } = (attributes.object as Pod).spec;
    if (tolerations.length === 0) return;
    const own = await ofNamespace(attributes, allowedAnnotation);
    if (withinTolerations(tolerations, own ?? cluster.whitelist ?? [])) return;
    throw statusError({
      code: 500,
      reason: '',
      message: `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${own ? 'namespace' : 'cluster'} whitelist`,
    });
  }

  return {
    name: 'PodTolerationRestriction',
    handles: handling(['CREATE', 'UPDATE'], '', 'pods'),
    async admit(attributes) {
      const { spec } = attributes.object as Draft<Pod>;
      const added: Toleration[] = [];
      if (attributes.operation === 'CREATE') {
        added.push(...((await ofNamespace(attributes, defaultsAnnotation)) ?? cluster.default ?? []));
      }
      // A Pod that asks for anything is not the first to go when memory is short.
      if (computeQosClass(spec as Pod['spec']) !== 'BestEffort') {
        added.push({ key: wellKnownTaints.memoryPressure, operator: 'Exists', effect: 'NoSchedule' });
      }
      if (added.length > 0) spec.tolerations = mergeTolerations(spec.tolerations ?? [], added);
      await check(attributes);
    },
    validate: check,
  };
}

function passOnOrInternal(error: unknown): never {
  throw isNotFound(error) ? error : internalError(messageOf(error), { cause: error });
}

function tolerationsOf(text: string): readonly Toleration[] {
  if (text === '') return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw statusError({ code: 500, reason: '', message: messageOf(error) });
  }
  if (Array.isArray(value)) return value as readonly Toleration[];
  const message = 'json: cannot unmarshal object into Go value of type []v1.Toleration';
  throw statusError({ code: 500, reason: '', message });
}

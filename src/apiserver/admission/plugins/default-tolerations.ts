/**
 * DefaultTolerationSeconds: a Pod stays on a node that is not ready or unreachable for a while (300 s unless configured), unless it
 * says itself how it takes that. ExtendedResourceToleration: a Pod that asks for a device tolerates the taint named like it.
 */
import type { Pod, Toleration } from '../../../api/gen/core-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { allContainers } from '../../authorization/pod-references.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { isResource } from '../plugin-context.ts';

export interface DefaultTolerationOptions {
  /** `--default-not-ready-toleration-seconds`; default 300. */
  readonly notReadySeconds?: number | undefined;
  /** `--default-unreachable-toleration-seconds`; default 300. */
  readonly unreachableSeconds?: number | undefined;
}

export function defaultTolerationSeconds(options: DefaultTolerationOptions = {}): AdmissionPlugin {
  const defaults: readonly (readonly [string, number])[] = [
    ['node.kubernetes.io/not-ready', options.notReadySeconds ?? 300],
    ['node.kubernetes.io/unreachable', options.unreachableSeconds ?? 300],
  ];
  return {
    name: 'DefaultTolerationSeconds',
    replacesParts: true,
    handles: onPods,
    admit(attributes) {
      const pod = attributes.object as Draft<Pod>;
      const { spec } = pod;
      const given: readonly Toleration[] = spec.tolerations ?? [];
      const missing = defaults.filter(([key]) => !given.some((toleration) => toleratesNoExecute(toleration, key)));
      if (missing.length === 0) return;
      const added = missing.map(
        ([key, tolerationSeconds]) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }) as const,
      );
      pod.spec = { ...spec, tolerations: [...(spec.tolerations ?? []), ...added] };
    },
  };
}

export function extendedResourceToleration(): AdmissionPlugin {
  return {
    name: 'ExtendedResourceToleration',
    handles: onPods,
    admit(attributes) {
      const pod = attributes.object as Draft<Pod>;
      const asked = allContainers(pod as Pod).flatMap((container) => Object.keys(container.resources?.requests ?? {}));
      for (const key of [...new Set(asked)].filter(isExtendedResource).sort()) {
        const toleration = { key, operator: 'Exists', effect: 'NoSchedule' } as const;
        const present = pod.spec.tolerations?.some(
          (t) => t.key === key && t.operator === 'Exists' && t.effect === 'NoSchedule',
        );
        if (!present) pod.spec.tolerations = [...(pod.spec.tolerations ?? []), toleration];
      }
    },
  };
}

const onPods: AdmissionPlugin['handles'] = (operation, resource, subresource) =>
  (operation === 'CREATE' || operation === 'UPDATE') && subresource === '' && isResource(resource, '', 'pods');

function toleratesNoExecute(toleration: Toleration, key: string): boolean {
  return (!toleration.key || toleration.key === key) && (!toleration.effect || toleration.effect === 'NoExecute');
}

/** A resource of a vendor's domain, as device plugins announce them. */
function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

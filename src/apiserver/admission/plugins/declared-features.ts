/**
 * The check of NodeDeclaredFeatureValidator: a Pod on a node is changed only in ways that the node says it can follow, for nodes may be
 * older than the server.
 */
import { isSidecar } from '../../../api/core/v1/pod-status.ts';
import { semanticallyEqual } from '../../../api/equality.ts';
import { nodes, type Pod, type PodSpec, type ResourceRequirements } from '../../../api/gen/core-v1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { parseQuantity } from '../../../apimachinery/quantity.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

/** By name, whether an update asks for it. What else nodes declare matters only to where Pods are scheduled. */
const features: Readonly<Record<string, (next: PodSpec, stored: PodSpec) => boolean>> = {
  InPlacePodLevelResourcesVerticalScaling: (next, stored) => !sameResources(next.resources, stored.resources),
  InPlacePodVerticalScalingInitContainers: (next, stored) =>
    (stored.initContainers ?? []).some((container, index) => {
      return !isSidecar(container) && !sameResources(next.initContainers?.[index]?.resources, container.resources);
    }),
};

/** Amounts are the same however they are written. */
function sameResources(next: ResourceRequirements = {}, stored: ResourceRequirements = {}): boolean {
  const lists = ['limits', 'requests'] as const;
  return (
    semanticallyEqual(next.claims, stored.claims) &&
    lists.every((list) => sameAmounts(next[list] ?? {}, stored[list] ?? {}))
  );
}

function sameAmounts(next: Readonly<Record<string, string>>, stored: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(next);
  if (names.length !== Object.keys(stored).length) return false;
  return names.every(
    (name) => Object.hasOwn(stored, name) && parseQuantity(next[name]!).equals(parseQuantity(stored[name]!)),
  );
}

export function declaredFeaturesCheck(context: PluginContext): (attributes: AdmissionAttributes) => Promise<void> {
  const informer = context.informers.of(nodes);
  return async (attributes) => {
    await whenReady(context, informer, attributes);
    const { spec } = attributes.object as Pod;
    const stored = (attributes.oldObject as Pod).spec;
    const needed = Object.keys(features).filter((name) => features[name]!(spec, stored));
    if (needed.length === 0) return;
    const nodeName = quote(spec.nodeName ?? '');
    const node = informer.get(spec.nodeName ?? '');
    if (!node) throw refusal(attributes, `node ${nodeName} not found`);
    const missing = needed.filter((name) => !node.status?.declaredFeatures?.includes(name));
    if (missing.length === 0) return;
    const why = `pod update requires features ${missing.join(', ')} which are not available on node ${nodeName}`;
    throw refusal(attributes, why);
  };
}

/** LimitPodHardAntiAffinityTopology and PodTopologyLabels: how wide Pods may keep others away, and which zone and region they are told of. */
import { type Binding, nodes, type Pod } from '../../../api/gen/core-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { handling, isResource, type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

/** Off by default: required anti-affinity over anything wider than a node makes scheduling slow. */
export function limitPodHardAntiAffinityTopology(): AdmissionPlugin {
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    handles: handling(['CREATE', 'UPDATE'], '', 'pods'),
    validate(attributes) {
      const terms =
        (attributes.object as Pod).spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
      const wide = terms.find((term) => term.topologyKey !== 'kubernetes.io/hostname');
      if (!wide) return;
      throw refusal(
        attributes,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${wide.topologyKey} but only key kubernetes.io/hostname is allowed`,
      );
    },
  };
}

const topologyLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

/** A Pod carries the zone and region of its node, so that the downward API can tell them. */
export function podTopologyLabels(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(nodes);
  return {
    name: 'PodTopologyLabels',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' && isResource(resource, '', 'pods') && (subresource === '' || subresource === 'binding'),
    admit(attributes) {
      const object = attributes.object!;
      const nodeName =
        attributes.subresource === 'binding' ? bindingNode(object) : (object as Draft<Pod>).spec.nodeName;
      if (!nodeName) return undefined;
      const copy = () => {
        const labels = informer.get(nodeName)?.metadata.labels ?? {};
        const found = topologyLabels
          .filter((key) => labels[key] !== undefined)
          .map((key) => [key, labels[key]!] as const);
        if (found.length > 0) object.metadata.labels = { ...object.metadata.labels, ...Object.fromEntries(found) };
      };
      const ready = whenReady(context, informer, attributes);
      return ready ? ready.then(copy) : copy();
    },
  };
}

function bindingNode(object: unknown): string | undefined {
  const { target } = object as Binding;
  return target?.kind === 'Node' ? target.name : undefined;
}

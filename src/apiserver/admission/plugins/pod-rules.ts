/**
 * Small plugins that look at Pods alone: AlwaysPullImages, LimitPodHardAntiAffinityTopology, PodTopologyLabels, PodResizeValidator,
 * NodeDeclaredFeatureValidator.
 */
import { type Binding, nodes, type Pod } from '../../../api/gen/core-v1.ts';
import { errorText, notSupported, path } from '../../../apimachinery/field-error.ts';
import { aggregate } from '../../../apimachinery/go-text.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { onFirstCall } from '../../../base/lazy-module.ts';
import { allContainers } from '../../authorization/pod-references.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { handling, isResource, type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

/** Off by default: nobody runs an image from a node's disk that he could not pull himself. */
export function alwaysPullImages(): AdmissionPlugin {
  /** An update that brings no new image changes no policy either, so that old Pods can still be updated. */
  const bringsImages = ({ object, oldObject, operation }: AdmissionAttributes) => {
    if (operation === 'CREATE') return true;
    const before = new Set(allContainers(oldObject as Pod).map((container) => container.image));
    return allContainers(object as Pod).some((container) => !before.has(container.image));
  };
  return {
    name: 'AlwaysPullImages',
    handles: handling(['CREATE', 'UPDATE'], '', 'pods', ['', 'ephemeralcontainers']),
    admit(attributes) {
      if (!bringsImages(attributes)) return;
      const pod = attributes.object as Draft<Pod>;
      for (const container of allContainers(pod as Pod) as Draft<Pod>['spec']['containers'])
        container.imagePullPolicy = 'Always';
      for (const volume of pod.spec.volumes ?? []) if (volume.image) volume.image.pullPolicy = 'Always';
    },
    validate(attributes) {
      if (!bringsImages(attributes)) return;
      const { spec } = attributes.object as Pod;
      const lists = ['initContainers', 'containers', 'ephemeralContainers'] as const;
      const problems = [
        ...lists.flatMap((list) =>
          (spec[list] ?? []).map(
            (container, i) =>
              [path('spec', list).index(i).child('imagePullPolicy'), container.imagePullPolicy] as const,
          ),
        ),
        ...(spec.volumes ?? []).flatMap((volume, i) =>
          volume.image
            ? [[path('spec', 'volumes').index(i).child('image', 'pullPolicy'), volume.image.pullPolicy] as const]
            : [],
        ),
      ].filter(([, policy]) => policy !== 'Always');
      if (problems.length === 0) return;
      throw refusal(
        attributes,
        aggregate(problems.map(([at, policy]) => errorText(notSupported(at, policy ?? '', ['Always'])))),
      );
    },
  };
}

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

/** A Pod that runs grows only to what its node has. Few are ever resized: the check is loaded for the first. */
export function podResizeValidator(context: PluginContext): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    handles: handling(['UPDATE'], '', 'pods', ['resize']),
    validate: onFirstCall(async () => (await import('./pod-resize.ts')).resizeCheck(context)),
  };
}

/** A Pod on a node changes only as the node can follow. Few specs ever change: the check is loaded for the first. */
export function nodeDeclaredFeatureValidator(context: PluginContext): AdmissionPlugin {
  const check = onFirstCall(async () => (await import('./declared-features.ts')).declaredFeaturesCheck(context));
  return {
    name: 'NodeDeclaredFeatureValidator',
    handles: handling(['UPDATE'], '', 'pods', ['', 'resize']),
    validate(attributes) {
      const { spec, metadata } = attributes.object as Pod;
      const isSameSpec = metadata.generation === attributes.oldObject?.metadata.generation;
      return spec.nodeName && !isSameSpec ? check(attributes) : undefined;
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

/** PodResizeValidator and NodeDeclaredFeatureValidator: what may change in a Pod that is on a node. Their checks are loaded for the first change. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { onFirstCall } from '../../../base/lazy-module.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext } from '../plugin-context.ts';

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

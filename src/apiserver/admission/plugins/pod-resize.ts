/** The check of PodResizeValidator: a Pod that runs grows only to what its node has, and only where nodes can do that. */
import { amountsOf, podRequests } from '../../../api/core/v1/pod-resources.ts';
import { type Node, nodes, type Pod } from '../../../api/gen/core-v1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { StatusError } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export function resizeCheck(context: PluginContext): (attributes: AdmissionAttributes) => Promise<void> {
  const informer = context.informers.of(nodes);
  return async (attributes) => {
    const pod = attributes.object as Pod;
    const { nodeName } = pod.spec;
    if (!nodeName || pod.metadata.generation === attributes.oldObject?.metadata.generation) return;
    await whenReady(context, informer, attributes);
    const node = informer.get(nodeName);
    if (!node) throw refusal(attributes, `node ${quote(nodeName)} not found`);
    const system = node.metadata.labels?.['kubernetes.io/os'] ?? 'linux';
    if (system !== 'linux') {
      const why = `pod resize is only supported on linux nodes, node ${quote(nodeName)} is ${quote(system)}`;
      throw refused(attributes, why, 'UnsupportedPlatform');
    }
    const lacks = lacking(pod, node);
    if (lacks.length === 0) return;
    throw refused(attributes, `node didn't have enough allocatable resources: ${lacks.join('; ')}`, 'NodeCapacity');
  };
}

function lacking(pod: Pod, node: Node): string[] {
  const [requests, allocatable] = [podRequests(pod), amountsOf(node.status?.allocatable)];
  return ['cpu', 'memory'].flatMap((resource) => {
    const [asked, there] = [requests[resource] ?? 0, allocatable[resource] ?? 0];
    return asked > there ? [`${resource}, requested: ${asked}, allocatable: ${there}`] : [];
  });
}

/** With a cause that programs can read. */
function refused(attributes: AdmissionAttributes, why: string, reason: string): StatusError {
  const { status } = refusal(attributes, why);
  return new StatusError({ ...status, details: { ...status.details, causes: [{ reason }] } });
}

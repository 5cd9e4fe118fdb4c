/**
 * Deletes Pods that do not tolerate their Node's NoExecute taints, at once or when their toleration's seconds have passed.
 * Disruption budgets do not hold it back; deletion is graceful, so on a Node that is out of reach the Pod stays Terminating.
 */
import { type Node, nodes as nodeType, type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { indexByNode, podsOnNode } from '../common/node-pods.ts';
import { equalOnWire } from '../common/wire-equality.ts';
import { planEviction, type Schedule } from './plan.ts';

export async function runTaintEvictionController(context: ComponentContext): Promise<void> {
  const { client, clock, informers } = context;
  const nodes = informers.of(nodeType);
  const pods = informers.of(podType);
  indexByNode(pods);
  const name = 'taint-eviction-controller';
  const events = context.eventRecorder(name);
  const schedules = new Map<string, Schedule>();

  async function reconcile(key: string): Promise<ReconcileResult | undefined> {
    const pod = pods.get(key);
    const node = pod?.spec.nodeName ? nodes.get(pod.spec.nodeName) : undefined;
    const before = schedules.get(key);
    const schedule = pod && planEviction(pod, node?.spec.taints, before, clock.now());
    if (!schedule) {
      schedules.delete(key);
      if (before) explain({ metadata: { namespace: key.split('/')[0], name: key.split('/')[1] } }, []);
      if (pod && before && !pod.metadata.deletionTimestamp && before.podUid === pod.metadata.uid) {
        events.record(withKind(podType, pod), 'Normal', 'TaintManagerEviction', `Cancelling deletion of Pod ${key}`);
      }
      return undefined;
    }
    schedules.set(key, schedule);
    const waitMs = schedule.dueAtMs - clock.now();
    if (waitMs > 0) {
      explain(pod, [scheduled(pod, schedule)]);
      return { againAfterMs: waitMs };
    }
    events.record(withKind(podType, pod), 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${key}`);
    await evict(pod);
    schedules.delete(key);
    explain(pod, []);
    return undefined;
  }

  const explain = (pod: KubeObject, notes: readonly CauseNote[]) =>
    context.causes.replace(name, subjectOf(podType, pod), notes);

  async function evict(pod: Pod): Promise<void> {
    const { namespace, name: podName = '', uid } = pod.metadata;
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
      lastTransitionTime: formatTime(clock.now()),
    };
    try {
      const body = { metadata: { uid }, status: { conditions: [condition] } };
      await client.patch(podType, { namespace, name: podName }, { type: 'strategic', body }, { subresource: 'status' });
      await client.delete(podType, { namespace, name: podName });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  const controller = createController(context, {
    name,
    workers: 8,
    waitFor: [nodes, pods],
    reconcile,
  });
  follow(controller, { nodes, pods }, schedules);
  await controller.run();
}

function scheduled({ spec: { nodeName = '' } }: Pod, { dueAtMs }: Schedule): CauseNote {
  const message = `Node ${nodeName} has a NoExecute taint that the Pod tolerates only for a time: then it is deleted`;
  return { reason: 'EvictionScheduled', message, untilMs: dueAtMs, waitsFor: [{ kind: 'Node', name: nodeName }] };
}

/** Wakes the Pods of Nodes whose NoExecute taints change, and Pods that land on or change under such taints. */
function follow(
  controller: Controller,
  { nodes, pods }: { readonly nodes: Informer<Node>; readonly pods: Informer<Pod> },
  schedules: Map<string, Schedule>,
): void {
  const isTainted = (node: Node | undefined) =>
    node?.spec.taints?.some(({ effect }) => effect === 'NoExecute') ?? false;
  const wakePods = (node: Node) => {
    for (const pod of podsOnNode(pods, node.metadata.name ?? '')) controller.enqueue(keyOf(pod));
  };
  nodes.onChange({
    added: (node) => {
      if (isTainted(node)) wakePods(node);
    },
    updated: (node, previous) => {
      if (!equalOnWire(node.spec.taints, previous.spec.taints) && (isTainted(node) || isTainted(previous)))
        wakePods(node);
    },
    deleted: wakePods,
  });
  const wakePod = (pod: Pod) => {
    const { nodeName } = pod.spec;
    if (nodeName && (schedules.has(keyOf(pod)) || isTainted(nodes.get(nodeName)))) controller.enqueue(keyOf(pod));
  };
  pods.onChange({
    added: wakePod,
    updated: (pod, previous) => {
      const same =
        pod.spec.nodeName === previous.spec.nodeName &&
        pod.metadata.deletionTimestamp === previous.metadata.deletionTimestamp &&
        equalOnWire(pod.spec.tolerations, previous.spec.tolerations);
      if (!same) wakePod(pod);
    },
    deleted: wakePod,
  });
}

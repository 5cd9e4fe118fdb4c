/**
 * What holds an object up, kind by kind: from its conditions, its status and the objects around it. Each explainer says only what it
 * knows; Events and what components say themselves are added by `why.ts`.
 */
import {
  type DaemonSet,
  type Deployment,
  type ReplicaSet,
  replicaSets,
  type StatefulSet,
} from '../../api/gen/apps-v1.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import {
  type Namespace,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  pods,
} from '../../api/gen/core-v1.ts';
import { storageClasses } from '../../api/gen/storage-v1.ts';
import { findCondition, isConditionTrue } from '../../apimachinery/conditions.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { controllerOf, type KubeObject } from '../../apimachinery/meta.ts';
import type { Finding, Reason, Subject } from './explanation.ts';
import type { Facts } from './facts.ts';

export type Explainer = (object: never, facts: Facts) => Promise<Finding>;

interface ConditionLike {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | null | undefined;
}

const well = (state = 'is well'): Finding => ({ state, well: true, reasons: [] });
const held = (state: string, reasons: readonly (Reason | undefined)[]): Finding => ({
  state,
  well: false,
  reasons: reasons.filter((reason) => reason !== undefined),
});

function conditionReason(condition: ConditionLike | undefined, because?: readonly Subject[]): Reason | undefined {
  if (!condition) return undefined;
  const { type, reason, message, lastTransitionTime } = condition;
  const text = [reason, message].filter(Boolean).join(': ') || `${type} is ${condition.status}`;
  return { text, source: `condition ${type}`, since: lastTransitionTime ?? undefined, because };
}

const podSubject = ({ metadata }: Pod): Subject => ({
  kind: 'pod',
  namespace: metadata.namespace,
  name: metadata.name ?? '',
});

/** Why something that is being deleted is still there; the first thing to be told of any object. */
export function finalizersOf({ metadata }: KubeObject): Reason[] {
  return (metadata.finalizers ?? []).map((finalizer) => ({
    text: `the finalizer ${finalizer} is not taken off yet`,
    source: 'metadata.finalizers',
    since: metadata.deletionTimestamp,
  }));
}

async function explainPod(pod: Pod, facts: Facts): Promise<Finding> {
  const { metadata, spec, status } = pod;
  const node = spec.nodeName ? await facts.get(nodes, { name: spec.nodeName }) : undefined;
  if (metadata.deletionTimestamp) return held('is Terminating', [...finalizersOf(pod), endingOnNode(pod, node)]);
  if (status?.phase === 'Succeeded') return well('has succeeded');
  if (status?.phase === 'Failed') {
    const text = [status.reason, status.message].filter(Boolean).join(': ') || exitText(pod) || 'a container failed';
    return held('has failed', [{ text, source: 'status' }]);
  }
  if (!spec.nodeName) return held('is Pending: it has no node', [...gates(pod), await unscheduled(pod, facts)]);
  const containers = containerReasons(pod);
  const nodeReason = isConditionTrue(node?.status?.conditions, 'Ready')
    ? undefined
    : nodeIsNotReady(spec.nodeName, node);
  if (status?.phase === 'Pending') return held(`is Pending on node ${spec.nodeName}`, [...containers, nodeReason]);
  const ready = findCondition(status?.conditions, 'Ready');
  if (ready?.status === 'True') return well('is Running and Ready');
  return held('is Running, and not Ready', [...containers, conditionReason(ready), nodeReason]);
}

function endingOnNode({ metadata, spec }: Pod, node: Node | undefined): Reason | undefined {
  const since = metadata.deletionTimestamp;
  if (!spec.nodeName)
    return { text: 'it was never on a node: the Pod garbage collector removes it', source: 'spec.nodeName', since };
  const because = [{ kind: 'node', name: spec.nodeName }];
  if (!node) {
    const text = `its node ${spec.nodeName} is gone: the Pod garbage collector removes it within a minute or two`;
    return { text, source: 'spec.nodeName', since };
  }
  if (!isConditionTrue(node.status?.conditions, 'Ready')) {
    const text = `node ${spec.nodeName} does not answer, and until it is known that the Pod has stopped it stays: delete the Node, or taint it node.kubernetes.io/out-of-service, once the machine is surely off`;
    return { text, source: 'node', since, because };
  }
  const grace = metadata.deletionGracePeriodSeconds ?? 0;
  return { text: `its node ends it; its containers have ${grace}s for that`, source: 'grace period', since };
}

function gates({ spec }: Pod): Reason[] {
  return (spec.schedulingGates ?? []).map(({ name }) => ({
    text: `the scheduling gate ${name} is not taken off yet`,
    source: 'spec.schedulingGates',
  }));
}

async function unscheduled(pod: Pod, facts: Facts): Promise<Reason | undefined> {
  const condition = findCondition(pod.status?.conditions, 'PodScheduled');
  const { namespace } = pod.metadata;
  const claims: Subject[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const name = volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral && `${pod.metadata.name}-${volume.name}`);
    if (!name) continue;
    const claim = await facts.get(persistentVolumeClaims, { namespace, name });
    if (claim?.status?.phase !== 'Bound') claims.push({ kind: 'persistentvolumeclaim', namespace, name });
  }
  const nominated = pod.status?.nominatedNodeName;
  const reason =
    conditionReason(condition, claims) ??
    ({ text: `no scheduler has looked at it yet; it asks for ${pod.spec.schedulerName}`, source: 'status' } as Reason);
  return nominated ? { ...reason, text: `${reason.text} Others make room for it on node ${nominated}.` } : reason;
}

function containerReasons({ status }: Pod): Reason[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.flatMap(({ name, state, lastState, ready, restartCount }): Reason[] => {
    const source = `container ${name}`;
    const last = lastState?.terminated;
    const before = last
      ? `; it ended before with exit code ${last.exitCode}${last.reason ? ` (${last.reason})` : ''}`
      : '';
    if (state?.waiting) {
      const { reason = 'waiting', message } = state.waiting;
      return [{ text: `${reason}${message ? `: ${message}` : ''}${before}`, source }];
    }
    if (state?.running && !ready) {
      const restarts = restartCount > 0 ? `, restarted ${restartCount} times` : '';
      return [
        {
          text: `it runs and does not pass its readiness probe${restarts}${before}`,
          source,
          since: state.running.startedAt,
        },
      ];
    }
    return [];
  });
}

function exitText({ status }: Pod): string | undefined {
  const ended = status?.containerStatuses?.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return ended && `container ${ended.name} ended with exit code ${ended.state?.terminated?.exitCode}`;
}

function nodeIsNotReady(name: string, node: Node | undefined): Reason {
  const text = node ? `node ${name} is not Ready` : `there is no node ${name}`;
  return { text, source: 'node', because: node ? [{ kind: 'node', name }] : [] };
}

async function explainNode(node: Node): Promise<Finding> {
  const ready = findCondition(node.status?.conditions, 'Ready');
  const taints = (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  const tainted: Reason | undefined =
    taints.length === 0
      ? undefined
      : { text: `its taints keep Pods away: ${taints.join(', ')}`, source: 'spec.taints' };
  if (ready?.status !== 'True') {
    const silent: Reason = { text: 'no kubelet has reported yet', source: 'status' };
    const state = ready?.status === 'Unknown' ? 'is not heard of' : 'is NotReady';
    return held(state, [conditionReason(ready) ?? silent, tainted]);
  }
  const pressing = (node.status?.conditions ?? []).filter(({ type, status }) => type !== 'Ready' && status === 'True');
  const reasons = [...pressing.map((condition) => conditionReason(condition)), tainted];
  if (node.spec?.unschedulable) return held('is Ready, and cordoned: no new Pods come to it', reasons);
  return reasons.some(Boolean) ? held('is Ready, and not for every Pod', reasons) : well('is Ready');
}

async function explainNamespace(namespace: Namespace): Promise<Finding> {
  if (!namespace.metadata.deletionTimestamp) return well('is Active');
  const telling = (namespace.status?.conditions ?? []).filter(({ status }) => status === 'True');
  const waits: Reason[] = (namespace.spec?.finalizers ?? []).map((finalizer) => ({
    text: `what is in it is being removed; the finalizer ${finalizer} stays until nothing is left`,
    source: 'spec.finalizers',
    since: namespace.metadata.deletionTimestamp,
  }));
  return held('is Terminating', [
    ...telling.map((condition) => conditionReason(condition)),
    ...finalizersOf(namespace),
    ...waits,
  ]);
}

async function explainClaim(claim: PersistentVolumeClaim, facts: Facts): Promise<Finding> {
  if (claim.metadata.deletionTimestamp) return held('is Terminating', finalizersOf(claim));
  if (claim.status?.phase === 'Bound') return well(`is bound to ${claim.spec?.volumeName}`);
  if (claim.status?.phase === 'Lost')
    return held('has lost its volume', [
      { text: `there is no volume ${claim.spec?.volumeName} any more`, source: 'status' },
    ]);
  return held('is Pending', [await unbound(claim, facts)]);
}

async function unbound({ spec, metadata }: PersistentVolumeClaim, facts: Facts): Promise<Reason> {
  const source = 'storage class';
  const name = spec?.storageClassName;
  if (spec?.volumeName)
    return { text: `it waits for the volume ${spec.volumeName} to become its own`, source: 'spec.volumeName' };
  if (!name) return { text: 'it names no class, and no volume without a class fits it', source };
  const found = await facts.get(storageClasses, { name });
  if (!found) return { text: `there is no StorageClass ${name}, and no volume of that class fits it`, source };
  const selected = metadata.annotations?.['volume.kubernetes.io/selected-node'];
  if (found.volumeBindingMode === 'WaitForFirstConsumer' && !selected)
    return { text: `class ${name} gives volumes only once a Pod that uses the claim is scheduled`, source };
  if (found.provisioner === 'kubernetes.io/no-provisioner')
    return { text: `class ${name} makes no volumes by itself, and none that is there fits`, source };
  return { text: `the provisioner ${found.provisioner} has not made a volume yet`, source };
}

async function explainVolume(volume: PersistentVolume): Promise<Finding> {
  if (volume.metadata.deletionTimestamp) return held('is Terminating', finalizersOf(volume));
  const { phase = 'Pending', reason, message } = volume.status ?? {};
  if (phase === 'Bound' || phase === 'Available') return well(`is ${phase}`);
  const text =
    phase === 'Released'
      ? `its claim is gone and its policy is ${volume.spec?.persistentVolumeReclaimPolicy}: nobody gets it as it is`
      : [reason, message].filter(Boolean).join(': ');
  return held(`is ${phase}`, [{ text, source: 'status' }]);
}

async function explainDeployment(deployment: Deployment, facts: Facts): Promise<Finding> {
  const { spec, status, metadata } = deployment;
  if (spec?.paused)
    return held('is paused', [{ text: 'changes are not rolled out until it is resumed', source: 'spec.paused' }]);
  const desired = spec?.replicas ?? 1;
  const whole = status?.observedGeneration === metadata.generation && status?.updatedReplicas === desired;
  if (whole && (status?.availableReplicas ?? 0) === desired && status?.replicas === desired)
    return well('is rolled out');
  const sets = (await facts.list(replicaSets, metadata.namespace)).filter(
    (set) => controllerOf(set)?.uid === metadata.uid,
  );
  const newest = sets.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
  const because = newest ? await unwellPods(newest, facts) : [];
  const conditions = (status?.conditions ?? []).filter(({ type, status: is }) =>
    type === 'ReplicaFailure' ? is === 'True' : is !== 'True',
  );
  const counts = `${status?.updatedReplicas ?? 0} of ${desired} Pods are of the newest template, ${status?.availableReplicas ?? 0} are available`;
  return held('is not rolled out', [
    { text: counts, source: 'status', because },
    ...conditions.map((condition) => conditionReason(condition)),
  ]);
}

function revisionOf(set: ReplicaSet): number {
  return Number(set.metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0);
}

interface PodOwner extends KubeObject {
  readonly spec?: { readonly selector?: Parameters<typeof labelMatcherOf>[0] } | undefined;
}

/** At most three, so that the answer can be read. */
async function unwellPods({ metadata, spec }: PodOwner, facts: Facts): Promise<readonly Subject[]> {
  const own = (await facts.list(pods, metadata.namespace)).filter(
    (pod) => controllerOf(pod)?.uid === metadata.uid && labelMatcherOf(spec?.selector).matches(pod.metadata.labels),
  );
  const unwell = own.filter(
    ({ metadata: { deletionTimestamp }, status }) => deletionTimestamp || !isConditionTrue(status?.conditions, 'Ready'),
  );
  return unwell.slice(0, 3).map(podSubject);
}

async function explainReplicas(object: ReplicaSet | StatefulSet, facts: Facts): Promise<Finding> {
  const { spec, status } = object;
  const desired = spec?.replicas ?? 1;
  if ((status?.readyReplicas ?? 0) === desired && status?.replicas === desired && !isUpdating(object)) return well();
  const text = `${status?.replicas ?? 0} of ${desired} Pods are there, ${status?.readyReplicas ?? 0} are Ready`;
  const failure = findCondition(status?.conditions as readonly ConditionLike[] | undefined, 'ReplicaFailure');
  const because = await unwellPods(object, facts);
  return held('is not whole', [{ text, source: 'status', because }, conditionReason(failure)]);
}

function isUpdating({ status }: ReplicaSet | StatefulSet): boolean {
  return status !== undefined && 'updateRevision' in status && status.currentRevision !== status.updateRevision;
}

async function explainDaemonSet(set: DaemonSet, facts: Facts): Promise<Finding> {
  const { desiredNumberScheduled = 0, numberReady = 0, updatedNumberScheduled = 0 } = set.status ?? {};
  if (numberReady === desiredNumberScheduled && updatedNumberScheduled === desiredNumberScheduled) return well();
  const text = `${numberReady} of ${desiredNumberScheduled} nodes have a Ready Pod of it, ${updatedNumberScheduled} of the newest template`;
  return held('is not on all its nodes', [{ text, source: 'status', because: await unwellPods(set, facts) }]);
}

async function explainJob(job: Job, facts: Facts): Promise<Finding> {
  const ended = job.status?.conditions?.find(
    ({ type, status }) => status === 'True' && /^(Complete|Failed)$/.test(type),
  );
  if (ended?.type === 'Complete') return well('is complete');
  if (ended) return held('has failed', [conditionReason(ended)]);
  if (job.spec.suspend)
    return held('is suspended', [{ text: 'it makes no Pods until it is resumed', source: 'spec.suspend' }]);
  const { active = 0, succeeded = 0, failed = 0 } = job.status ?? {};
  const text = `${succeeded} Pods have succeeded, ${active} run, ${failed} failed`;
  return held('goes on', [{ text, source: 'status', because: await unwellPods(job, facts) }]);
}

/** By kind in lower case. */
export const explainers: Readonly<Record<string, Explainer>> = {
  pod: explainPod,
  node: explainNode,
  namespace: explainNamespace,
  persistentvolumeclaim: explainClaim,
  persistentvolume: explainVolume,
  deployment: explainDeployment,
  replicaset: explainReplicas,
  statefulset: explainReplicas,
  daemonset: explainDaemonSet,
  job: explainJob,
};

/** Of a kind that nobody knows more of: its conditions that are not as they should be, and what keeps it from going. */
export async function explainAny(object: KubeObject): Promise<Finding> {
  if (object.metadata.deletionTimestamp) return held('is Terminating', finalizersOf(object));
  const { status } = object as { readonly status?: { readonly conditions?: readonly ConditionLike[] } };
  const conditions = (status?.conditions ?? []).filter((condition) => condition.status === 'False');
  if (conditions.length === 0) return well('has nothing to say of itself');
  return held(
    'says that something is missing',
    conditions.map((condition) => conditionReason(condition)),
  );
}

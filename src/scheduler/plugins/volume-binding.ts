/**
 * Volumes decide where a Pod can run: a bound PersistentVolume's node affinity (and zone), and for claims that wait for their first
 * consumer, which volumes exist for a node or can be made there. Before binding the Pod it asks for those volumes (by claiming a
 * PersistentVolume or naming the node to the provisioner) and waits until every claim is bound.
 */
import { matchesNodeSelector } from '../../api/core/v1/node-affinity.ts';
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../api/gen/core-v1.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import type { Informer } from '../../reconcile/informer.ts';
import type { NodeInfo } from '../cluster-state.ts';
import type { Rejection, SchedulingPlugin } from '../framework.ts';

export interface VolumeSources {
  readonly client: Client;
  readonly clock: Clock;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly classes: Informer<StorageClass>;
  /** How long binding may take; upstream 600 s. */
  readonly bindTimeoutMs: number;
}

const selectedNode = 'volume.kubernetes.io/selected-node';
const noProvisioner = 'kubernetes.io/no-provisioner';

export function volumeBinding(sources: VolumeSources): SchedulingPlugin {
  const reject = (reason: string, resolvable = false): Rejection => ({
    plugin: 'VolumeBinding',
    reasons: [reason],
    resolvable,
  });
  return {
    name: 'VolumeBinding',
    helpedBy: ['VolumeChanged', 'NodeAdded', 'NodeChanged', 'PodRemoved'],
    prepare(pod) {
      const names = claimNames(pod);
      if (names.length === 0) return undefined;
      const bound: PersistentVolume[] = [];
      const waiting: PersistentVolumeClaim[] = [];
      for (const { name, ephemeral } of names) {
        const claim = sources.claims.get(`${pod.metadata.namespace}/${name}`);
        if (!claim)
          return reject(
            ephemeral
              ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
              : `persistentvolumeclaim "${name}" not found`,
          );
        if (claim.metadata.deletionTimestamp) return reject(`persistentvolumeclaim "${name}" is being deleted`);
        if (claim.status?.phase === 'Lost')
          return reject(
            `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName}"`,
          );
        const volume = claim.spec.volumeName ? sources.volumes.get(claim.spec.volumeName) : undefined;
        if (claim.spec.volumeName && isBound(claim)) {
          if (!volume) return reject('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');
          bound.push(volume);
        } else if (waitsForConsumer(claim, sources)) waiting.push(claim);
        else return reject('pod has unbound immediate PersistentVolumeClaims');
      }
      return {
        filter(node) {
          if (bound.some((volume) => !volumeFits(volume, node.node)))
            return reject("node(s) didn't match PersistentVolume's node affinity");
          return planFor(node.node, waiting, sources)
            ? undefined
            : reject("node(s) didn't find available persistent volumes to bind", false);
        },
        beforeBind: (node, signal) => bindVolumes(node, waiting, sources, signal),
      };
    },
  };
}

interface ClaimName {
  readonly name: string;
  /** Made for this Pod by the ephemeral volume controller. */
  readonly ephemeral: boolean;
}

function claimNames(pod: Pod): ClaimName[] {
  return (pod.spec.volumes ?? []).flatMap((volume): ClaimName[] => {
    if (volume.persistentVolumeClaim) return [{ name: volume.persistentVolumeClaim.claimName, ephemeral: false }];
    return volume.ephemeral ? [{ name: `${pod.metadata.name}-${volume.name}`, ephemeral: true }] : [];
  });
}

function isBound(claim: PersistentVolumeClaim): boolean {
  return claim.metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined;
}

function waitsForConsumer(claim: PersistentVolumeClaim, sources: VolumeSources): boolean {
  const storageClass = sources.classes.get(claim.spec.storageClassName ?? '');
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}

/** Node affinity, and the zone and region labels that older volumes carry instead (a label may list values joined by `__`). */
function volumeFits(volume: PersistentVolume, node: Node): boolean {
  const required = volume.spec.nodeAffinity?.required;
  if (required && !matchesNodeSelector(required, node)) return false;
  for (const key of ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']) {
    const wanted = volume.metadata.labels?.[key];
    if (wanted !== undefined && !wanted.split('__').includes(node.metadata.labels?.[key] ?? '')) return false;
  }
  return true;
}

type Step = { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume | undefined };

/** For every waiting claim a volume of this node, or provisioning (volume undefined). Undefined: not possible here. */
function planFor(
  node: Node,
  waiting: readonly PersistentVolumeClaim[],
  sources: VolumeSources,
): readonly Step[] | undefined {
  const taken = new Set<string>();
  const steps: Step[] = [];
  for (const claim of waiting) {
    const volume = smallestFor(claim, node, sources, taken);
    if (volume) taken.add(volume.metadata.name ?? '');
    else if (!canProvision(claim, node, sources)) return undefined;
    steps.push({ claim, volume });
  }
  return steps;
}

function canProvision(claim: PersistentVolumeClaim, node: Node, sources: VolumeSources): boolean {
  const storageClass = sources.classes.get(claim.spec.storageClassName ?? '');
  if (!storageClass?.provisioner || storageClass.provisioner === noProvisioner) return false;
  const chosen = claim.metadata.annotations?.[selectedNode];
  if (chosen !== undefined && chosen !== node.metadata.name) return false;
  const topologies = storageClass.allowedTopologies ?? [];
  if (topologies.length === 0) return true;
  return topologies.some((term) =>
    (term.matchLabelExpressions ?? []).every(({ key, values }) => values.includes(node.metadata.labels?.[key] ?? '')),
  );
}

function smallestFor(
  claim: PersistentVolumeClaim,
  node: Node,
  sources: VolumeSources,
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  const asked = amountOf('storage', claim.spec.resources?.requests?.storage ?? '0');
  const selector = labelMatcherOf(claim.spec.selector ?? {});
  let best: PersistentVolume | undefined;
  let bestSize = Number.POSITIVE_INFINITY;
  for (const volume of sources.volumes.list()) {
    const reference = volume.spec.claimRef;
    const ours = reference?.namespace === claim.metadata.namespace && reference?.name === claim.metadata.name;
    if (reference ? !ours : volume.status?.phase !== 'Available') continue;
    if (taken.has(volume.metadata.name ?? '') || volume.metadata.deletionTimestamp) continue;
    if ((volume.spec.storageClassName ?? '') !== (claim.spec.storageClassName ?? '')) continue;
    if ((volume.spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem')) continue;
    if (!(claim.spec.accessModes ?? []).every((mode) => volume.spec.accessModes?.includes(mode))) continue;
    if (!selector.matches(volume.metadata.labels) || !volumeFits(volume, node)) continue;
    const size = amountOf('storage', volume.spec.capacity?.storage ?? '0');
    if (size < asked || (!ours && size >= bestSize)) continue;
    best = volume;
    bestSize = size;
    if (ours) break;
  }
  return best;
}

async function bindVolumes(
  node: NodeInfo,
  waiting: readonly PersistentVolumeClaim[],
  sources: VolumeSources,
  signal: AbortSignal,
): Promise<void> {
  if (waiting.length === 0) return;
  const steps = planFor(node.node, waiting, sources);
  if (!steps) throw new Error(`volumes for node ${node.name} are no longer available`);
  for (const { claim, volume } of steps) {
    const { namespace, name, uid } = claim.metadata;
    if (volume) {
      if (volume.spec.claimRef?.uid === uid) continue;
      const claimRef = {
        kind: 'PersistentVolumeClaim',
        apiVersion: 'v1',
        namespace,
        name,
        uid,
        resourceVersion: claim.metadata.resourceVersion,
      };
      const annotations = { ...volume.metadata.annotations, 'pv.kubernetes.io/bound-by-controller': 'yes' };
      await sources.client.update(
        persistentVolumes,
        { ...volume, metadata: { ...volume.metadata, annotations }, spec: { ...volume.spec, claimRef } },
        { signal },
      );
    } else if (claim.metadata.annotations?.[selectedNode] !== node.name) {
      const body = { metadata: { annotations: { [selectedNode]: node.name } } };
      await sources.client.patch(
        persistentVolumeClaims,
        { namespace, name: name ?? '' },
        { type: 'merge', body },
        { signal },
      );
    }
  }
  await allBound(waiting, sources, signal);
}

/** Resolves when the informer shows every claim bound. */
function allBound(
  claims: readonly PersistentVolumeClaim[],
  sources: VolumeSources,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const keys = claims.map((claim) => `${claim.metadata.namespace}/${claim.metadata.name}`);
    const finish = (error?: unknown) => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      registration?.remove();
      if (error === undefined) resolve();
      else reject(error);
    };
    const onAbort = () => finish(signal.reason);
    const look = () => {
      const current = keys.map((key) => sources.claims.get(key));
      if (current.some((claim) => claim === undefined))
        finish(new Error('a persistentvolumeclaim was deleted while the Pod was bound'));
      else if (current.every((claim) => claim && isBound(claim))) finish();
    };
    const timer = sources.clock.after(sources.bindTimeoutMs, () =>
      finish(new Error('binding volumes: context deadline exceeded')),
    );
    signal.addEventListener('abort', onAbort, { once: true });
    const registration: { remove(): void } | undefined = sources.claims.onChange({ updated: look, deleted: look });
    look();
  });
}

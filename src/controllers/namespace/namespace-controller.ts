/**
 * Empties a Namespace that is being deleted and then lets it go. Pods go before everything else, since what they use must outlive
 * them. It knows no kind: discovery says what there is, and an object that a finalizer keeps is waited for, never forced.
 */
import { type Namespace, namespaces } from '../../api/gen/core-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isConflict, isMethodNotSupported, isNotFound, messageOf } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { discover, supports } from '../../client/discovery.ts';
import { type CauseNote, type CauseSubject, subjectOf, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { equalOnWire } from '../common/wire-equality.ts';
import { type DeletionProgress, planConditions } from './conditions.ts';

const namespaceFinalizer = 'kubernetes';
/** How long to wait for objects whose finalizers others must remove. */
const finalizerEstimateSeconds = 15;

export interface NamespaceControllerOptions {
  readonly workers?: number | undefined;
  /**
   * Time between the deletion and the first look, so that every API server of the cluster has learned that nothing may be created
   * there any more. Default 5 s; with a single API server 0 is safe.
   */
  readonly deletionGraceMs?: number | undefined;
}

export async function runNamespaceController(
  context: ComponentContext,
  options: NamespaceControllerOptions = {},
): Promise<void> {
  const graceMs = options.deletionGraceMs ?? 5000;
  const all = context.informers.of(namespaces);
  const controller = createController(context, {
    name: 'namespace-controller',
    queue: 'namespace',
    workers: options.workers ?? 10,
    waitFor: [all],
    reconcile: (key: string) => emptyNamespace(context, key),
    about: (key) => subjectOfKey(namespaces, key),
  });
  controller.watchMapped(all, ({ metadata }) => {
    if (metadata.deletionTimestamp) controller.enqueue(metadata.name ?? '', graceMs);
    return [];
  });
  await controller.run();
}

async function emptyNamespace(context: ComponentContext, name: string): Promise<ReconcileResult | undefined> {
  const { client } = context;
  let namespace = await getOrUndefined(client, name);
  if (!namespace?.metadata.deletionTimestamp || !hasFinalizer(namespace)) return undefined;
  if (namespace.status?.phase !== 'Terminating') {
    namespace = await client.updateStatus(namespaces, {
      ...namespace,
      status: { ...namespace.status, phase: 'Terminating' },
    });
  }
  const { progress, estimateSeconds, examples } = await deleteContent(client, name);
  namespace = await writeConditions(context, namespace, progress);
  const failed = [...progress.discoveryFailures.map(({ message }) => message), ...progress.deletionFailures];
  if (failed.length > 0) throw new Error(`deleting the content of namespace ${name}: ${failed.join(', ')}`);
  // Half the estimate and a second more, as upstream: early enough to notice, late enough not to press.
  if (estimateSeconds > 0) {
    const againAfterMs = (Math.floor(estimateSeconds / 2) + 1) * 1000;
    return { againAfterMs, causes: [contentRemains(progress, examples, context.clock.now() + againAfterMs)] };
  }
  await finalize(client, namespace);
  return undefined;
}

interface ContentDeletion {
  readonly progress: DeletionProgress;
  /** When to look again; 0: everything is gone. */
  readonly estimateSeconds: number;
  readonly examples: readonly CauseSubject[];
}

/** Of what is left, so many are named. */
const mostExamples = 3;

function contentRemains(
  { remaining }: DeletionProgress,
  waitsFor: readonly CauseSubject[],
  untilMs: number,
): CauseNote {
  const count = [...remaining.values()].reduce((sum, one) => sum + one, 0);
  const message = `${count === 1 ? 'an object is' : `${count} objects are`} left in it; it is looked at again then`;
  return { reason: 'ContentRemains', message, untilMs, waitsFor };
}

async function deleteContent(client: Client, namespace: string): Promise<ContentDeletion> {
  const { preferred, failures } = await discover(client);
  const types = preferred.filter((type) => type.namespaced && supports(type, 'delete'));
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const deletionFailures: string[] = [];
  const examples: CauseSubject[] = [];
  let estimateSeconds = 0;
  const empty = async (type: ResourceType) => {
    try {
      const left = await deleteAll(client, type, namespace);
      if (left.objects.length > 0) remaining.set(`${type.resource}.${type.group}`, left.objects.length);
      examples.push(...left.objects.slice(0, mostExamples).map((object) => subjectOf(type, object)));
      for (const [finalizer, count] of left.finalizers)
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + count);
      estimateSeconds = Math.max(estimateSeconds, left.estimateSeconds);
    } catch (error) {
      deletionFailures.push(messageOf(error));
    }
  };
  const isPods = (type: ResourceType) => type.group === '' && type.resource === 'pods';
  await Promise.all(types.filter(isPods).map(empty));
  if (remaining.size === 0) await Promise.all(types.filter((type) => !isPods(type)).map(empty));
  const progress = { discoveryFailures: failures, deletionFailures, remaining, finalizers };
  return { progress, estimateSeconds, examples: examples.slice(0, mostExamples) };
}

interface Remainder {
  readonly objects: readonly KubeObject[];
  readonly finalizers: ReadonlyMap<string, number>;
  readonly estimateSeconds: number;
}

async function deleteAll(client: Client, type: ResourceType, namespace: string): Promise<Remainder> {
  const before = await list(client, type, namespace);
  if (before.length === 0) return { objects: [], finalizers: new Map(), estimateSeconds: 0 };
  await deleteEach(client, type, namespace, before);
  const left = await list(client, type, namespace);
  const finalizers = new Map<string, number>();
  for (const { metadata } of left) {
    for (const finalizer of metadata.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
  }
  const grace = type.group === '' && type.resource === 'pods' ? longestGraceSeconds(before) : 0;
  if (left.length === 0) return { objects: [], finalizers, estimateSeconds: 0 };
  if (grace > 0) return { objects: left, finalizers, estimateSeconds: grace };
  if (finalizers.size > 0) return { objects: left, finalizers, estimateSeconds: finalizerEstimateSeconds };
  const named = `${type.group ? `${type.group}/` : ''}${type.version}, Resource=${type.resource}`;
  throw new Error(`unexpected items still remain in namespace: ${namespace} for gvr: ${named}`);
}

async function deleteEach(
  client: Client,
  type: ResourceType,
  namespace: string,
  items: readonly KubeObject[],
): Promise<void> {
  if (supports(type, 'deletecollection')) {
    try {
      await client.deleteCollection(type, { namespace, propagationPolicy: 'Background' });
      return;
    } catch (error) {
      if (!isMethodNotSupported(error) && !isNotFound(error)) throw error;
    }
  }
  for (const { metadata } of items) {
    try {
      await client.delete(type, { namespace, name: metadata.name ?? '' }, { propagationPolicy: 'Background' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Kinds that cannot be listed hold nothing that could be deleted. */
async function list(client: Client, type: ResourceType, namespace: string): Promise<readonly KubeObject[]> {
  if (!supports(type, 'list')) return [];
  try {
    return (await client.list(type, { namespace })).items;
  } catch (error) {
    if (isMethodNotSupported(error) || isNotFound(error)) return [];
    throw error;
  }
}

function longestGraceSeconds(pods: readonly KubeObject[]): number {
  return pods.reduce((longest, pod) => {
    const { spec, status } = pod as { spec?: { terminationGracePeriodSeconds?: number }; status?: { phase?: string } };
    if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return longest;
    return Math.max(longest, spec?.terminationGracePeriodSeconds ?? 0);
  }, 0);
}

async function writeConditions(
  context: ComponentContext,
  namespace: Namespace,
  progress: DeletionProgress,
): Promise<Namespace> {
  const conditions = planConditions(namespace.status?.conditions, progress, context.clock.now());
  if (equalOnWire(conditions, namespace.status?.conditions)) return namespace;
  return await context.client.updateStatus(namespaces, { ...namespace, status: { ...namespace.status, conditions } });
}

async function finalize(client: Client, namespace: Namespace): Promise<void> {
  let present: Namespace | undefined = namespace;
  for (let attempt = 0; present && hasFinalizer(present) && attempt < 5; attempt++) {
    const finalizers: readonly string[] = (present.spec?.finalizers ?? []).filter(
      (finalizer) => finalizer !== namespaceFinalizer,
    );
    try {
      await client.update(
        namespaces,
        { ...present, spec: { ...present.spec, finalizers } },
        { subresource: 'finalize' },
      );
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      present = await getOrUndefined(client, namespace.metadata.name ?? '');
    }
  }
}

async function getOrUndefined(client: Client, name: string): Promise<Namespace | undefined> {
  try {
    return await client.get(namespaces, { name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function hasFinalizer(namespace: Namespace): boolean {
  return namespace.spec?.finalizers?.includes(namespaceFinalizer) ?? false;
}

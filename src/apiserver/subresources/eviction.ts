/**
 * Eviction: a deletion that asks the disruption budgets first. A budget is charged before the Pod is deleted, so that two evictions at
 * the same time cannot both take the last place.
 */

import { withPodCondition } from '../../api/core/v1/pod-status.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Eviction, PodDisruptionBudget } from '../../api/gen/policy-v1.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';
import type { DeleteOptions } from '../../apimachinery/gen/meta-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { badRequest, forbidden, internalError, isConflict, notFound, statusError } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { prefixEnd } from '../../storage/store.ts';
import { replyWithObject } from '../encoding/replies.ts';
import { decodeBody } from '../registry/body.ts';
import { checkPreconditions, deleteObject } from '../registry/delete.ts';
import { admissionAttributes, keyOf, type Operation } from '../registry/operation.ts';
import { rewrite } from '../registry/rewrite.ts';
import { parseWriteOptions } from '../registry/write-options.ts';
import type { ApiResponse } from '../request.ts';

const evictionKind = { group: 'policy', version: 'v1', kind: 'Eviction' } as const;
const mostDisruptedPods = 2000;
const retryAfterSeconds = 10;
const budgetsName = 'poddisruptionbudgets.policy';
const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";

/** `POST pods/NAME/eviction`. Throws 429 when the budget is used up. */
export async function evictPod(operation: Operation): Promise<ApiResponse> {
  const { request, info, warnings, environment, reply } = operation;
  const options = parseWriteOptions(request.query, 'CreateOptions');
  const body = await decodeBody(request, evictionKind, { options, warnings });
  const eviction = body as Draft<Eviction> & Draft<KubeObject>;
  if (eviction.metadata.name !== info.name) {
    throw badRequest('name in URL does not match name in Eviction object');
  }
  const attributes = admissionAttributes(operation, {
    operation: 'CREATE',
    object: eviction,
    oldObject: undefined,
    name: info.name,
    dryRun: options.dryRun,
    options: options.raw,
    kind: evictionKind,
  });
  if (attributes) {
    await environment.admission().admit(attributes);
    await environment.admission().validate(attributes);
  }
  const asked = eviction.deleteOptions as DeleteOptions | undefined;
  const dryRun = options.dryRun || (asked?.dryRun?.length ?? 0) > 0;
  await evictAsBudgetsAllow(operation, { ...asked, ...(dryRun ? { dryRun: ['All'] } : {}) });
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } as KubeObject;
  return replyWithObject(reply, status, { status: 201, warnings });
}

/**
 * A Pod that goes uncharged because it is not Ready must not have become Ready meanwhile: then it is looked at again, or the
 * client is told to.
 */
async function evictAsBudgetsAllow(operation: Operation, options: DeleteOptions): Promise<void> {
  const { storage, resource, info } = operation;
  for (;;) {
    const entry = await storage.read(keyOf(operation));
    if (!entry) throw notFound(resource.row, info.name);
    const pod = entry.object() as Pod;
    const ignoring = ignoresBudgets(pod);
    const uncharged = ignoring ? undefined : await chargeBudget(operation, pod, (options.dryRun?.length ?? 0) > 0);
    const asLookedAt = ignoring ? pod.status?.phase === 'Pending' && !pod.metadata.deletionTimestamp : uncharged;
    const isGiven = options.preconditions?.resourceVersion !== undefined;
    const { resourceVersion } = pod.metadata;
    const preconditions =
      asLookedAt && !isGiven ? { ...options.preconditions, resourceVersion } : options.preconditions;
    try {
      return await disrupt(operation, { ...options, ...(preconditions ? { preconditions } : {}) });
    } catch (error) {
      if (!isConflict(error) || !asLookedAt || isGiven) throw error;
      if (uncharged) throw refused(beingProcessed(uncharged.metadata.name ?? ''), retryAfterSeconds);
    }
  }
}

/** Tells in the Pod's conditions why it goes, and deletes it. */
async function disrupt(operation: Operation, options: DeleteOptions): Promise<void> {
  const { storage, environment } = operation;
  const key = keyOf(operation);
  let deletion = options;
  if (!options.dryRun?.length) {
    const lastTransitionTime = formatTime(environment.clock.now());
    const change = (current: KubeObject): KubeObject => {
      checkPreconditions(storage.kind, current, options);
      const next = draft(current) as Draft<Pod>;
      const reason = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' };
      const condition = { type: 'DisruptionTarget', status: 'True', ...reason, lastTransitionTime } as const;
      next.status = { ...next.status, conditions: draft(withPodCondition(next.status?.conditions, condition)) };
      return next as KubeObject;
    };
    const marked = await rewrite(storage, key, { change, dryRun: false });
    const resourceVersion = marked?.metadata.resourceVersion;
    if (options.preconditions?.resourceVersion !== undefined && resourceVersion)
      deletion = { ...options, preconditions: { ...options.preconditions, resourceVersion } };
  }
  await deleteObject({ ...operation, subresource: '' }, key, deletion);
}

/** A Pod that does not run, or is going anyway, disrupts nobody. */
function ignoresBudgets({ metadata, status }: Pod): boolean {
  const phase = status?.phase;
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || metadata.deletionTimestamp !== undefined;
}

/** Answers the Pod's budget when that need not be charged, because the Pod is not Ready. */
async function chargeBudget(operation: Operation, pod: Pod, dryRun: boolean): Promise<PodDisruptionBudget | undefined> {
  const budgets = await budgetsOf(operation, pod);
  if (budgets.length > 1) {
    throw internalError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  const [budget] = budgets;
  if (!budget) return undefined;
  if (mayGoUncharged(pod, budget)) return budget;
  const storage = operation.environment.storageNamed(budgetsName)!;
  const key = storage.key(budget.metadata.namespace ?? '', budget.metadata.name ?? '');
  const nowMs = operation.environment.clock.now();
  const change = (current: KubeObject) => charged(current as PodDisruptionBudget, pod.metadata.name ?? '', nowMs);
  await rewrite(storage, key, { change, dryRun });
  return undefined;
}

async function budgetsOf({ environment, info }: Operation, pod: Pod): Promise<readonly PodDisruptionBudget[]> {
  const storage = environment.storageNamed(budgetsName);
  if (!storage) return [];
  await storage.cache.fresh();
  const prefix = `${storage.kind.prefix}${info.namespace}/`;
  const found: PodDisruptionBudget[] = [];
  storage.cache.visit(prefix, prefixEnd(prefix), (entry) => {
    const budget = entry.object() as PodDisruptionBudget;
    if (labelMatcherOf(budget.spec.selector).matches(pod.metadata.labels ?? {})) found.push(budget);
    return true;
  });
  return found;
}

/** A Pod that is not ready holds up nothing: always under `AlwaysAllow`, and whenever the others suffice. */
function mayGoUncharged({ status }: Pod, budget: PodDisruptionBudget): boolean {
  if (isConditionTrue(status?.conditions, 'Ready')) return false;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  if (budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

function charged(budget: PodDisruptionBudget, podName: string, nowMs: number): KubeObject {
  const { name = '', generation = 0 } = budget.metadata;
  const { observedGeneration = 0, disruptionsAllowed = 0, disruptedPods = {} } = budget.status ?? {};
  if (observedGeneration < generation) {
    throw refused(beingProcessed(name), retryAfterSeconds);
  }
  const resource = { group: 'policy', resource: 'poddisruptionbudgets' };
  if (disruptionsAllowed < 0) throw forbidden(resource, name, 'pdb disruptions allowed is negative');
  if (Object.keys(disruptedPods).length > mostDisruptedPods) {
    throw forbidden(resource, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  }
  if (disruptionsAllowed === 0) {
    const { desiredHealthy = 0, currentHealthy = 0 } = budget.status ?? {};
    throw refused(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
      0,
    );
  }
  const next = draft(budget) as Draft<PodDisruptionBudget>;
  next.status!.disruptionsAllowed = disruptionsAllowed - 1;
  next.status!.disruptedPods = { ...next.status!.disruptedPods, [podName]: formatTime(nowMs) };
  return next as KubeObject;
}

function beingProcessed(budget: string): string {
  return `The disruption budget ${budget} is still being processed by the server.`;
}

function refused(cause: string, retrySeconds: number): Error {
  return statusError({
    code: 429,
    reason: 'TooManyRequests',
    message: refusal,
    details: {
      causes: [{ reason: 'DisruptionBudget', message: cause }],
      ...(retrySeconds > 0 ? { retryAfterSeconds: retrySeconds } : {}),
    },
  });
}

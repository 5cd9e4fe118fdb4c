/**
 * ResourceQuota: what a namespace's quotas allow, charged before the object is stored. Requests of one namespace are charged together:
 * whoever waits while a write of the quotas is under way goes into the next one, so the cost is one write for many requests. The write
 * is a compare-and-set, so several API servers can charge the same quota.
 */
import { type Pod, type ResourceQuota, resourceQuotas } from '../../../api/gen/core-v1.ts';
import { keyOf } from '../../../apimachinery/meta.ts';
import { type GroupVersionResource, groupResource } from '../../../apimachinery/resource.ts';
import { compareResourceVersions } from '../../../apimachinery/resource-version.ts';
import { internalError } from '../../../apimachinery/status.ts';
import { withTimeout } from '../../../base/clock.ts';
import { onFirstCall } from '../../../base/lazy-module.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { type PluginContext, whenReady } from '../plugin-context.ts';

const ignored: ReadonlySet<string> = new Set([
  'bindings',
  'componentstatuses',
  'events',
  'events.events.k8s.io',
  'tokenreviews.authentication.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
]);
/** The rules of counting, which a cluster without quotas does without. */
const chargeQuotas = onFirstCall(async () => (await import('../quota/quota-check.ts')).chargeQuotas);
const waitMs = 10_000;
const cacheEntries = 100;
const retries = 3;

interface Waiter {
  readonly attributes: AdmissionAttributes;
  resolve(): void;
  reject(error: unknown): void;
}

export function resourceQuota(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(resourceQuotas);
  /** Namespaces with a round under way, and who waits for the next. */
  const waiting = new Map<string, Waiter[]>();
  /** What this server wrote, until the informer has caught up with it. */
  const written = new Map<string, ResourceQuota>();

  return {
    name: 'ResourceQuota',
    handles: (operation, resource, subresource) => {
      if (ignored.has(groupResource(resource))) return false;
      if (operation === 'CREATE') return subresource === '';
      return operation === 'UPDATE' && (subresource === '' || subresource === 'resize') && resource.group === '';
    },
    validate(attributes) {
      const { namespace, operation, resource, subresource, object, oldObject } = attributes;
      if (namespace === '' || !object) return undefined;
      if (operation === 'UPDATE' && !isCountedOnUpdate(resource, subresource, object, oldObject)) return undefined;
      const ready = whenReady(context, informer, attributes);
      if (ready) return ready.then(() => evaluate(attributes));
      // A quota binds nobody before its controller has counted, so what the informer does not know yet does not matter yet; and the
      // common case, a namespace without quotas, costs no turn of the loop.
      return informer.list(namespace).length === 0 ? undefined : evaluate(attributes);
    },
  };

  function evaluate(attributes: AdmissionAttributes): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      const waiter = { attributes, resolve, reject };
      const queue = waiting.get(attributes.namespace);
      if (queue) queue.push(waiter);
      else {
        waiting.set(attributes.namespace, [waiter]);
        void serve(attributes.namespace);
      }
    });
    return withTimeout(context.clock, done, waitMs, () => internalError('resource quota evaluation timed out'));
  }

  async function serve(namespace: string): Promise<void> {
    for (;;) {
      const round = waiting.get(namespace) ?? [];
      if (round.length === 0) break;
      waiting.set(namespace, []);
      try {
        await chargeRound(informer.list(namespace).map(newest), round, retries);
      } catch (error) {
        for (const waiter of round) waiter.reject(error);
      }
    }
    waiting.delete(namespace);
  }

  async function chargeRound(
    quotas: readonly ResourceQuota[],
    round: readonly Waiter[],
    retriesLeft: number,
  ): Promise<void> {
    let charged = quotas;
    const pending: Waiter[] = [];
    for (const waiter of round) {
      try {
        const next = await chargeQuotas(charged, waiter.attributes, context.clock.now());
        if (waiter.attributes.dryRun || next.every((quota, i) => quota === charged[i])) waiter.resolve();
        else {
          pending.push(waiter);
          charged = next;
        }
      } catch (error) {
        waiter.reject(error);
      }
    }
    if (pending.length === 0) return;
    const changed = charged.filter((quota, i) => quota !== quotas[i]);
    const outcomes = await Promise.allSettled(changed.map(store));
    const failed = changed.filter((_, i) => outcomes[i]?.status === 'rejected');
    if (failed.length === 0) {
      for (const waiter of pending) waiter.resolve();
      return;
    }
    if (retriesLeft === 0) {
      const reason = outcomes.find((outcome) => outcome.status === 'rejected')?.reason;
      for (const waiter of pending) waiter.reject(reason);
      return;
    }
    // Somebody else charged the quota meanwhile: read it anew, and charge only what did not go through. One that is gone binds nobody.
    const { items } = await context.client.list(resourceQuotas, { namespace: pending[0]!.attributes.namespace });
    const again = items.filter((quota) => failed.some((old) => old.metadata.name === quota.metadata.name));
    await chargeRound(again, pending, retriesLeft - 1);
  }

  async function store(quota: ResourceQuota): Promise<void> {
    const stored = await context.client.updateStatus(resourceQuotas, quota);
    const key = keyOf(quota);
    written.delete(key);
    written.set(key, stored);
    const oldest = written.keys().next();
    if (written.size > cacheEntries && !oldest.done) written.delete(oldest.value);
  }

  /** The informer's copy, or what this server wrote after it. */
  function newest(quota: ResourceQuota): ResourceQuota {
    const own = written.get(keyOf(quota));
    if (!own || own.metadata.uid !== quota.metadata.uid) return quota;
    return compareResourceVersions(own.metadata.resourceVersion, quota.metadata.resourceVersion) > 0 ? own : quota;
  }
}

/** Whether an update of such an object can change what it takes. */
function isCountedOnUpdate(
  resource: GroupVersionResource,
  subresource: string,
  object: unknown,
  oldObject: unknown,
): boolean {
  if (resource.group !== '') return false;
  switch (`${resource.resource}/${subresource}`) {
    case 'pods/resize':
    case 'services/':
    case 'persistentvolumeclaims/':
      return true;
    case 'pods/': {
      const terminating = (pod: unknown) => ((pod as Pod).spec.activeDeadlineSeconds ?? -1) >= 0;
      return terminating(object) !== terminating(oldObject);
    }
    default:
      return false;
  }
}

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
import { loaderFrom } from '../../../base/load-on-use.ts';
import type { Informer } from '../../../reconcile/informer.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { type PluginContext, whenReady } from '../plugin-context.ts';
import type { LimitedResource } from '../quota/limited-resources.ts';

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
/** The object, and parts of it, whose updates may change what it takes; a claim's status besides. */
const countedParts: ReadonlySet<string> = new Set(['', 'resize']);
/** The rules of counting, which a cluster without quotas does without. */
const chargeQuotas = onFirstCall(async () => (await import('../quota/quota-check.ts')).chargeQuotas);
const load = loaderFrom(import.meta.url);
const waitMs = 10_000;
const cacheEntries = 100;
const retries = 3;

interface Waiter {
  readonly attributes: AdmissionAttributes;
  resolve(): void;
  reject(error: unknown): void;
}

/** Throws when there is a configuration, and it is none. */
export function resourceQuota(context: PluginContext, configuration?: unknown): AdmissionPlugin {
  const informer = context.informers.of(resourceQuotas);
  const limited = configuration === undefined ? [] : limitedBy(configuration);
  const charges = new QuotaCharges(context, informer, limited);
  return {
    name: 'ResourceQuota',
    handles: (operation, resource, subresource) => {
      if (ignored.has(groupResource(resource))) return false;
      if (operation === 'CREATE') return subresource === '';
      if (operation !== 'UPDATE' || resource.group !== '') return false;
      return subresource === 'status' ? resource.resource === 'persistentvolumeclaims' : countedParts.has(subresource);
    },
    validate(attributes) {
      const { namespace, operation, resource, subresource, object, oldObject } = attributes;
      if (namespace === '' || !object) return undefined;
      if (operation === 'UPDATE' && !isCountedOnUpdate(resource, subresource, object, oldObject)) return undefined;
      const ready = whenReady(context, informer, attributes);
      if (ready) return ready.then(() => charges.evaluate(attributes));
      // A quota binds nobody before its controller has counted, so what the informer does not know yet does not matter yet; and the
      // common case, a namespace without quotas, costs no turn of the loop.
      return limited.length === 0 && informer.list(namespace).length === 0 ? undefined : charges.evaluate(attributes);
    },
  };
}

function limitedBy(configuration: unknown): readonly LimitedResource[] {
  type Read = (configuration: unknown) => readonly LimitedResource[];
  return load<Read>('../quota/limited-resources.ts', 'limitedResourcesOf')(configuration);
}

/** Requests that wait to be charged, and the rounds in which they are. */
class QuotaCharges {
  readonly #context: PluginContext;
  readonly #informer: Informer<ResourceQuota>;
  readonly #limited: readonly LimitedResource[];
  /** Namespaces with a round under way, and who waits for the next. */
  readonly #waiting = new Map<string, Waiter[]>();
  /** What this server wrote, until the informer has caught up with it. */
  readonly #written = new Map<string, ResourceQuota>();

  constructor(context: PluginContext, informer: Informer<ResourceQuota>, limited: readonly LimitedResource[]) {
    this.#context = context;
    this.#informer = informer;
    this.#limited = limited;
  }

  /** Resolves once the request is charged; rejects with the refusal. */
  evaluate(attributes: AdmissionAttributes): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      const waiter = { attributes, resolve, reject };
      const queue = this.#waiting.get(attributes.namespace);
      if (queue) queue.push(waiter);
      else {
        this.#waiting.set(attributes.namespace, [waiter]);
        void this.#serve(attributes.namespace);
      }
    });
    return withTimeout(this.#context.clock, done, waitMs, () => internalError('resource quota evaluation timed out'));
  }

  async #serve(namespace: string): Promise<void> {
    for (;;) {
      const round = this.#waiting.get(namespace) ?? [];
      if (round.length === 0) break;
      this.#waiting.set(namespace, []);
      try {
        const quotas = this.#informer.list(namespace).map((quota) => this.#newest(quota));
        await this.#chargeRound(quotas, round, retries);
      } catch (error) {
        for (const waiter of round) waiter.reject(error);
      }
    }
    this.#waiting.delete(namespace);
  }

  async #chargeRound(quotas: readonly ResourceQuota[], round: readonly Waiter[], retriesLeft: number): Promise<void> {
    // Later tries see only the quotas that failed to be stored, which say nothing of what the others cover.
    const limited = retriesLeft === retries ? this.#limited : [];
    const { charged, pending } = await this.#charge(quotas, round, limited);
    if (pending.length === 0) return;
    const changed = charged.filter((quota, i) => quota !== quotas[i]);
    const outcomes = await Promise.allSettled(changed.map((quota) => this.#store(quota)));
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
    const { namespace } = pending[0]!.attributes;
    const { items } = await this.#context.client.list(resourceQuotas, { namespace });
    const again = items.filter((quota) => failed.some((old) => old.metadata.name === quota.metadata.name));
    await this.#chargeRound(again, pending, retriesLeft - 1);
  }

  /** The quotas with all of the round that fit charged to them, and who waits for these to be stored; others are answered here. */
  async #charge(
    quotas: readonly ResourceQuota[],
    round: readonly Waiter[],
    limited: readonly LimitedResource[],
  ): Promise<{ readonly charged: readonly ResourceQuota[]; readonly pending: readonly Waiter[] }> {
    let charged = quotas;
    const pending: Waiter[] = [];
    for (const waiter of round) {
      try {
        const next = await chargeQuotas(charged, waiter.attributes, { nowMs: this.#context.clock.now(), limited });
        if (waiter.attributes.dryRun || next.every((quota, i) => quota === charged[i])) waiter.resolve();
        else {
          pending.push(waiter);
          charged = next;
        }
      } catch (error) {
        waiter.reject(error);
      }
    }
    return { charged, pending };
  }

  async #store(quota: ResourceQuota): Promise<void> {
    const stored = await this.#context.client.updateStatus(resourceQuotas, quota);
    const key = keyOf(quota);
    this.#written.delete(key);
    this.#written.set(key, stored);
    const oldest = this.#written.keys().next();
    if (this.#written.size > cacheEntries && !oldest.done) this.#written.delete(oldest.value);
  }

  /** The informer's copy, or what this server wrote after it. */
  #newest(quota: ResourceQuota): ResourceQuota {
    const own = this.#written.get(keyOf(quota));
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
    // What a volume is given, and of which class, stands in the status; an update of that is charged, and never refused.
    case 'persistentvolumeclaims/status':
      return true;
    case 'pods/': {
      const terminating = (pod: unknown) => ((pod as Pod).spec.activeDeadlineSeconds ?? -1) >= 0;
      return terminating(object) !== terminating(oldObject);
    }
    default:
      return false;
  }
}

/**
 * Counts what the objects of a namespace take from its quotas and writes it into their status, against which admission checks. How
 * much an object takes is decided by the same functions as in admission, which the composition root gives to both.
 */
import { scopeRequirements } from '../../api/core/v1/resource-quota.ts';
import { type ResourceQuota, resourceQuotas, type ScopedResourceSelectorRequirement } from '../../api/gen/core-v1.ts';
import { type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import { parseQuantity, type Quantity, quantityOf } from '../../apimachinery/quantity.ts';
import { type GroupVersionResource, parseApiVersion, type ResourceType } from '../../apimachinery/resource.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import { discover, supports } from '../../client/discovery.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController } from '../../reconcile/controller.ts';
import type { Informer, Registration } from '../../reconcile/informer.ts';
import { equalOnWire } from '../common/wire-equality.ts';

/** The rules of counting, shared with admission. */
export interface QuotaEvaluator {
  usageOf(resource: GroupVersionResource, object: unknown, nowMs: number): ReadonlyMap<string, Quantity>;
  /** Which of a quota's names are about this kind of object. */
  namesAbout(resource: GroupVersionResource, names: readonly string[]): readonly string[];
  inScope(requirement: ScopedResourceSelectorRequirement, resource: GroupVersionResource, object: unknown): boolean;
  /** While this stays the same, the object stays in its scopes. */
  scopeTraits(resource: GroupVersionResource, object: unknown): string;
}

export interface ResourceQuotaOptions {
  readonly evaluator: QuotaEvaluator;
  readonly workers?: number | undefined;
  /** How often everything is counted anew, to the next half minute; default 5 minutes. */
  readonly syncPeriodMs?: number | undefined;
}

const discoveryMs = 30_000;

export async function runResourceQuotaController(
  context: ComponentContext,
  options: ResourceQuotaOptions,
): Promise<void> {
  const { client, clock, informers, log, signal } = context;
  const { evaluator } = options;
  const quotas = informers.of(resourceQuotas);
  const kinds = new CountedKinds(context, evaluator, (namespace) => {
    for (const quota of quotas.list(namespace)) controller.enqueue(keyOf(quota));
  });
  const controller: Controller = createController(context, {
    name: 'resourcequota-controller',
    queue: 'resourcequota_primary',
    workers: options.workers ?? 5,
    waitFor: [quotas],
    async reconcile(key: string) {
      const quota = quotas.get(key);
      if (!quota) return;
      const used = planUsed(quota, await kinds.objectsFor(quota), evaluator, clock.now());
      const status = { hard: quota.spec.hard ?? {}, used };
      if (equalOnWire(status.hard, quota.status?.hard) && sameAmounts(used, quota.status?.used)) return;
      await client.updateStatus(resourceQuotas, { ...quota, status });
    },
  });
  // A new status is what admission has charged for an object that may not be stored yet: counting now would give it back.
  controller.watchMapped(quotas, (quota, previous) =>
    previous && equalOnWire(quota.spec.hard, previous.spec.hard) ? [] : [keyOf(quota)],
  );

  async function recount(): Promise<void> {
    for (let sinceMs = 0; !signal.aborted; sinceMs += discoveryMs) {
      await kinds.refresh().catch((error) => log.warn('discovery failed', { error: messageOf(error) }));
      if (sinceMs >= (options.syncPeriodMs ?? 300_000)) {
        sinceMs = 0;
        for (const quota of quotas.list()) controller.enqueue(keyOf(quota));
      }
      await sleep(clock, discoveryMs, signal).catch(() => {});
    }
  }

  const recounting = recount();
  await controller.run();
  await recounting;
}

interface CountedObject {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

/** The used amounts of exactly the names that the quota limits. */
function planUsed(
  quota: ResourceQuota,
  objects: readonly CountedObject[],
  evaluator: QuotaEvaluator,
  nowMs: number,
): Readonly<Record<string, string>> {
  const limited = Object.keys(quota.spec.hard ?? {});
  const used = new Map(limited.map((name) => [name, quantityOf(0)]));
  const scopes = scopeRequirements(quota);
  for (const { type, object } of objects) {
    const names = evaluator.namesAbout(type, limited);
    if (names.length === 0 || !scopes.every((scope) => evaluator.inScope(scope, type, object))) continue;
    const usage = evaluator.usageOf(type, object, nowMs);
    for (const name of names) {
      const amount = usage.get(name);
      if (amount) used.set(name, (used.get(name) ?? quantityOf(0)).add(amount));
    }
  }
  return Object.fromEntries([...used].map(([name, amount]) => [name, String(amount)]));
}

function sameAmounts(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>> | undefined): boolean {
  const names = Object.keys(a);
  if (!b || names.length !== Object.keys(b).length) return false;
  return names.every((name) => b[name] !== undefined && parseQuantity(a[name]!).equals(parseQuantity(b[name]!)));
}

/** Kinds that some quota counts: followed from the first time that one does. */
class CountedKinds {
  readonly #context: ComponentContext;
  readonly #evaluator: QuotaEvaluator;
  readonly #changed: (namespace: string) => void;
  readonly #followed = new Map<
    string,
    { readonly informer: Informer<KubeObject>; readonly registration: Registration }
  >();
  #types: readonly ResourceType[] = [];

  constructor(context: ComponentContext, evaluator: QuotaEvaluator, changed: (namespace: string) => void) {
    this.#context = context;
    this.#evaluator = evaluator;
    this.#changed = changed;
  }

  /** Lets go of kinds that are no longer served; those of a group that fails to answer stay. */
  async refresh(): Promise<void> {
    const { preferred, failures } = await discover(this.#context.client, this.#context.signal);
    this.#types = preferred.filter((type) => type.namespaced && supports(type, 'list', 'watch', 'create'));
    const failing = new Set(failures.map(({ groupVersion }) => parseApiVersion(groupVersion).group));
    const served = new Set(this.#types.map(kindKey));
    for (const [key, { informer, registration }] of this.#followed) {
      const { type } = informer;
      if (served.has(key) || failing.has(type.group)) continue;
      registration.remove();
      this.#followed.delete(key);
      this.#context.informers.forget(type);
    }
  }

  async objectsFor({ metadata, spec }: ResourceQuota): Promise<readonly CountedObject[]> {
    if (this.#types.length === 0) await this.refresh();
    const names = Object.keys(spec.hard ?? {});
    const counted = this.#types.filter((type) => this.#evaluator.namesAbout(type, names).length > 0);
    const objects: CountedObject[] = [];
    for (const type of counted) {
      const informer = this.#context.informers.whileServed(type);
      this.#follow(informer);
      await informer.whenSynced(this.#context.signal);
      for (const object of informer.list(metadata.namespace)) objects.push({ type, object });
    }
    return objects;
  }

  /** What is created was charged by admission already; what goes, comes to take less or leaves a scope is told here. */
  #follow(informer: Informer<KubeObject>): void {
    const { type } = informer;
    const key = kindKey(type);
    const known = this.#followed.get(key);
    if (known?.informer === informer) return;
    known?.registration.remove();
    const { clock } = this.#context;
    const counted = (object: KubeObject) =>
      [
        ...[...this.#evaluator.usageOf(type, object, clock.now())].map(([name, amount]) => `${name}=${amount}`),
        this.#evaluator.scopeTraits(type, object),
      ].join();
    const tell = ({ metadata }: KubeObject) => this.#changed(metadata.namespace ?? '');
    const registration = informer.onChange({
      deleted: tell,
      updated: (object, previous) => {
        if (counted(object) !== counted(previous)) tell(object);
      },
    });
    this.#followed.set(key, { informer, registration });
  }
}

function kindKey({ group, version, resource }: ResourceType): string {
  return `${group}/${version}/${resource}`;
}

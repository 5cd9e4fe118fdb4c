/**
 * Deletes Pods that use devices with NoExecute taints which their claims do not tolerate, at once or when the toleration's seconds have
 * passed since the taint was put on. What a DeviceTaintRule does, or would do, is told in its status, at most every ten seconds.
 */
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { type ResourceClaim, type ResourceSlice, resourceClaims, resourceSlices } from '../../api/gen/resource-v1.ts';
import { type DeviceTaintRule, deviceTaintRules } from '../../api/gen/resource-v1beta2.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { type CauseNote, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { equalOnWire } from '../common/wire-equality.ts';
import { currentSlices, type Eviction, podEviction, selects, type Taints } from './plan.ts';
import { evictionInProgress, type RuleCounts, ruleCondition } from './rule-status.ts';

const name = 'device-taint-eviction-controller';
const statusPeriodMs = 10_000;
const ofPod = 'pod/';
const ofRule = 'rule/';
const byPool = 'device-taint-eviction/pool';
const poolKey = (driver: string, pool: string) => `${driver}/${pool}`;

export interface DeviceTaintEvictionOptions {
  /** Default 8, as `--concurrent-device-taint-eviction-syncs`. */
  readonly workers?: number | undefined;
  /** Whether DeviceTaintRules count, whose API is off by default; default false, as the feature gate DRADeviceTaintRules. */
  readonly rules?: boolean | undefined;
}

export async function runDeviceTaintEvictionController(
  context: ComponentContext,
  { workers = 8, rules = false }: DeviceTaintEvictionOptions = {},
): Promise<void> {
  const { informers } = context;
  const slices = informers.of(resourceSlices);
  slices.addIndex(byPool, ({ spec }) => [poolKey(spec.driver, spec.pool.name)]);
  const followed: Informers = {
    pods: informers.of(podType),
    claims: informers.of(resourceClaims),
    slices,
    rules: rules ? informers.of(deviceTaintRules) : undefined,
  };
  await new DeviceLoop(context, followed, workers).run();
}

interface Informers {
  readonly pods: Informer<Pod>;
  readonly claims: Informer<ResourceClaim>;
  readonly slices: Informer<ResourceSlice>;
  readonly rules: Informer<DeviceTaintRule> | undefined;
}

class DeviceLoop {
  readonly #context: ComponentContext;
  readonly #informers: Informers;
  readonly #events: EventRecorder;
  readonly #controller: Controller;
  /** Uids of Pods whose deletion is planned, by key. */
  readonly #planned = new Map<string, string>();
  /** By uid of the rule. */
  readonly #evicted = new Map<string, number>();

  constructor(context: ComponentContext, informers: Informers, workers: number) {
    this.#context = context;
    this.#informers = informers;
    this.#events = context.eventRecorder(name);
    this.#controller = createController(context, {
      name,
      workers,
      reconcile: (key) =>
        key.startsWith(ofPod) ? this.#pod(key.slice(ofPod.length)) : this.#rule(key.slice(ofRule.length)),
      about: (key) =>
        key.startsWith(ofPod)
          ? subjectOfKey(podType, key.slice(ofPod.length))
          : subjectOfKey(deviceTaintRules, key.slice(ofRule.length)),
    });
  }

  async run(): Promise<void> {
    this.#follow();
    await this.#controller.run();
  }

  #follow(): void {
    const { pods, claims, slices, rules } = this.#informers;
    this.#controller.watchMapped(pods, (pod, previous) => {
      if (!pod.spec.resourceClaims?.length && !this.#planned.has(keyOf(pod))) return [];
      const same =
        previous !== undefined &&
        previous.spec.nodeName === pod.spec.nodeName &&
        equalOnWire(previous.status?.resourceClaimStatuses, pod.status?.resourceClaimStatuses);
      return same ? [] : [ofPod + keyOf(pod)];
    });
    this.#controller.watchMapped(claims, (claim, previous) => [
      ...usersOf(claim),
      ...(previous ? usersOf(previous) : []),
    ]);
    this.#controller.watchMapped(slices, ({ spec }) =>
      claims.list().flatMap((claim) => (uses(claim, spec.driver, spec.pool.name) ? usersOf(claim) : [])),
    );
    if (!rules) return;
    this.#controller.watchMapped(rules, (rule, previous) => {
      if (previous && equalOnWire(previous.spec, rule.spec)) return [];
      return [ofRule + rule.metadata.name, ...claims.list().flatMap(usersOf)];
    });
  }

  async #pod(key: string): Promise<ReconcileResult | undefined> {
    const pod = this.#informers.pods.get(key);
    const planned = this.#planned.get(key);
    const eviction = pod && !pod.metadata.deletionTimestamp ? this.#evictionOf(pod) : undefined;
    if (!pod || !eviction) {
      this.#planned.delete(key);
      if (pod && planned === pod.metadata.uid && !pod.metadata.deletionTimestamp)
        this.#tell(pod, 'Cancelling deletion');
      return undefined;
    }
    this.#planned.set(key, pod.metadata.uid ?? '');
    this.#restateRules(eviction);
    const waitMs = eviction.dueAtMs - this.#context.clock.now();
    if (waitMs > 0) return { againAfterMs: waitMs, causes: [scheduled(eviction)] };
    if (await this.#evict(pod))
      for (const uid of eviction.rules) this.#evicted.set(uid, (this.#evicted.get(uid) ?? 0) + 1);
    this.#planned.delete(key);
    return undefined;
  }

  /** Whether it was deleted here: not when it is gone, going, or another of its name. */
  async #evict({ metadata }: Pod): Promise<boolean> {
    const { client, clock } = this.#context;
    const { namespace, name: podName = '', uid } = metadata;
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByDeviceTaintManager',
      message: 'Device Taint manager: deleting due to NoExecute taint',
      lastTransitionTime: formatTime(clock.now()),
    };
    try {
      const live = await client.get(podType, { namespace, name: podName });
      if (live.metadata.uid !== uid || live.metadata.deletionTimestamp) return false;
      this.#tell(live, 'Marking for deletion');
      const body = { metadata: { uid }, status: { conditions: [condition] } };
      await client.patch(podType, { namespace, name: podName }, { type: 'strategic', body }, { subresource: 'status' });
      await client.delete(podType, { namespace, name: podName }, { preconditions: { uid } });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Many Pods change at once: their rules are told of later. */
  #restateRules({ rules }: Eviction): void {
    for (const { metadata } of this.#informers.rules?.list() ?? []) {
      if (rules.has(metadata.uid ?? '')) this.#controller.enqueue(ofRule + metadata.name, statusPeriodMs);
    }
  }

  async #rule(key: string): Promise<ReconcileResult | undefined> {
    const rule = this.#informers.rules?.get(key);
    if (!rule) return undefined;
    const { clock, client } = this.#context;
    const present = findCondition(rule.status?.conditions, evictionInProgress);
    const nowMs = clock.now();
    const sinceMs = nowMs - Date.parse(present?.lastTransitionTime ?? formatTime(0));
    if (present?.observedGeneration === rule.metadata.generation && sinceMs < statusPeriodMs)
      return { againAfterMs: statusPeriodMs - sinceMs };
    const condition = ruleCondition(rule, this.#count(rule));
    const { lastTransitionTime: _, ...before } = present ?? {};
    if (equalOnWire(before, condition)) return undefined;
    const conditions = [{ ...condition, lastTransitionTime: formatTime(nowMs) }];
    const body = { metadata: { name: key, uid: rule.metadata.uid }, status: { conditions } };
    const options = { subresource: 'status', fieldManager: name, force: true };
    await client.patch(deviceTaintRules, { name: key }, { type: 'apply', body }, options);
    return undefined;
  }

  /** A rule without effect is counted as if it drove Pods away. */
  #count(rule: DeviceTaintRule): RuleCounts {
    const { pods, claims, slices } = this.#informers;
    const uid = rule.metadata.uid ?? '';
    const evicting: DeviceTaintRule = {
      ...rule,
      spec: { ...rule.spec, taint: { ...rule.spec.taint, effect: 'NoExecute' } },
    };
    const counted = rule.spec.taint.effect === 'NoExecute' || rule.spec.taint.effect === 'None';
    const alone = this.#taints([evicting]);
    const pending = (counted ? pods.list() : []).filter(
      (pod) => !pod.metadata.deletionTimestamp && podEviction(pod, (key) => claims.get(key), alone)?.rules.has(uid),
    );
    const pools = Map.groupBy(slices.list(), ({ spec }) => poolKey(spec.driver, spec.pool.name));
    const published = [...pools.values()]
      .flatMap(currentSlices)
      .flatMap(({ spec }) =>
        (spec.devices ?? []).filter((device) =>
          selects(rule, { driver: spec.driver, pool: spec.pool.name, device: device.name }),
        ),
      );
    const allocated = claims
      .list()
      .flatMap(resultsOf)
      .filter((result) => selects(rule, result));
    return {
      pendingPods: pending.length,
      pendingNamespaces: new Set(pending.map(({ metadata }) => metadata.namespace)).size,
      publishedDevices: published.length,
      allocatedDevices: allocated.length,
      evictedPods: this.#evicted.get(uid) ?? 0,
    };
  }

  #evictionOf(pod: Pod): Eviction | undefined {
    const { claims, rules } = this.#informers;
    return podEviction(pod, (key) => claims.get(key), this.#taints(rules?.list() ?? []));
  }

  #taints(rules: readonly DeviceTaintRule[]): Taints {
    const { slices } = this.#informers;
    return { rules, slicesOf: (driver, pool) => slices.byIndex(byPool, poolKey(driver, pool)) };
  }

  #tell(pod: Pod, message: string): void {
    this.#events.record(withKind(podType, pod), 'Normal', 'DeviceTaintManagerEviction', message);
  }
}

function resultsOf({ status }: ResourceClaim) {
  return status?.allocation?.devices?.results ?? [];
}

function uses(claim: ResourceClaim, driver: string, pool: string): boolean {
  return resultsOf(claim).some((result) => result.driver === driver && result.pool === pool);
}

/** Keys of the Pods that a claim is reserved for. */
function usersOf({ metadata, status }: ResourceClaim): string[] {
  return (status?.reservedFor ?? [])
    .filter(({ apiGroup, resource }) => !apiGroup && resource === 'pods')
    .map(({ name: pod }) => `${ofPod}${metadata.namespace}/${pod}`);
}

function scheduled({ dueAtMs, devices }: Eviction): CauseNote {
  const message = `device ${[...devices].join(', ')} has a NoExecute taint that its claim tolerates only for a time: then the Pod is deleted`;
  return { reason: 'EvictionScheduled', message, untilMs: dueAtMs };
}

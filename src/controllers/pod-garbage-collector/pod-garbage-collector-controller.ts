/**
 * Removes Pods that nobody else will (see `plan.ts`), with grace 0, for no kubelet is left to confirm. A Node counts as gone when it
 * has been missing for 40 s and the API server says so too.
 */
import { type Node, nodes as nodeType, type Pod, type PodCondition, pods as podType } from '../../api/gen/core-v1.ts';
import { isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { sleep } from '../../base/clock.ts';
import { type CauseSubject, subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { indexByNode, podsOnNode } from '../common/node-pods.ts';
import { missingNodes, mustFailFirst, planOutOfService, planTerminated, planUnscheduled } from './plan.ts';

const periodMs = 20_000;
const quarantineMs = 40_000;
const reporter = 'pod-garbage-collector-controller';

export interface PodGarbageCollectorOptions {
  /** Finished Pods that may exist before the oldest are deleted; 0 or less: no limit. Default 12500. */
  readonly terminatedThreshold?: number | undefined;
  /** The taint `out-of-service` means nothing (gate `NodeOutOfServiceVolumeDetach` off); default false. */
  readonly ignoresOutOfService?: boolean | undefined;
}

export async function runPodGarbageCollectorController(
  context: ComponentContext,
  options: PodGarbageCollectorOptions = {},
): Promise<void> {
  const { clock, informers, log, signal } = context;
  const pods = informers.of(podType);
  const nodes = informers.of(nodeType);
  indexByNode(pods);
  const collector = new PodCollector(context, pods, nodes);
  try {
    await Promise.all([pods.whenSynced(signal), nodes.whenSynced(signal)]);
    while (!signal.aborted) {
      await collector
        .collect(options)
        .catch((error) => log.error('pod garbage collection failed', { error: messageOf(error) }));
      await sleep(clock, periodMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

class PodCollector {
  readonly #context: ComponentContext;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  /** Since when each Node was missed. */
  readonly #missedSince = new Map<string, number>();
  /** Pods of which it is said that they wait, by uid. */
  readonly #explained = new Map<string, CauseSubject>();

  constructor(context: ComponentContext, pods: Informer<Pod>, nodes: Informer<Node>) {
    this.#context = context;
    this.#pods = pods;
    this.#nodes = nodes;
  }

  async collect({ terminatedThreshold = 12_500, ignoresOutOfService }: PodGarbageCollectorOptions): Promise<void> {
    const all = this.#pods.list();
    const podsOn = (name: string) => podsOnNode(this.#pods, name);
    for (const pod of planTerminated(all, terminatedThreshold)) await this.#remove(pod);
    const outOfService = ignoresOutOfService ? [] : planOutOfService(this.#nodes.list(), podsOn);
    for (const pod of outOfService) await this.#remove(pod);
    for (const name of await this.#goneNodes(all))
      for (const pod of podsOn(name)) await this.#remove(pod, this.#orphaned());
    for (const pod of planUnscheduled(all)) await this.#remove(pod);
    this.#explain([...this.#missedSince.keys()].flatMap(podsOn));
  }

  /** A Node that is missed may come back: until it counts as gone, its Pods wait. */
  #explain(orphans: readonly Pod[]): void {
    const { causes, clock } = this.#context;
    const waiting = new Set(orphans.map(({ metadata }) => metadata.uid ?? ''));
    for (const [uid, subject] of this.#explained) {
      if (waiting.has(uid)) continue;
      causes.replace(reporter, subject, []);
      this.#explained.delete(uid);
    }
    for (const pod of orphans) {
      const { nodeName = '' } = pod.spec;
      const sinceMs = this.#missedSince.get(nodeName) ?? clock.monotonic();
      const untilMs = clock.now() + Math.max(0, sinceMs + quarantineMs - clock.monotonic());
      const subject = subjectOf(podType, pod);
      const message = `there is no node ${nodeName}; when it has been missed for ${quarantineMs / 1000} s, the Pod is removed`;
      causes.replace(reporter, subject, [{ reason: 'NodeMissing', message, untilMs }]);
      this.#explained.set(pod.metadata.uid ?? '', subject);
    }
  }

  async #goneNodes(all: readonly Pod[]): Promise<readonly string[]> {
    const nowMs = this.#context.clock.monotonic();
    const missing = missingNodes(all, (name) => this.#nodes.get(name) !== undefined);
    for (const name of this.#missedSince.keys()) if (!missing.has(name)) this.#missedSince.delete(name);
    const gone: string[] = [];
    for (const name of missing) {
      const sinceMs = this.#missedSince.get(name) ?? nowMs;
      this.#missedSince.set(name, sinceMs);
      if (nowMs - sinceMs >= quarantineMs && !(await this.#existsAtServer(name))) gone.push(name);
    }
    return gone;
  }

  async #existsAtServer(name: string): Promise<boolean> {
    try {
      await this.#context.client.get(nodeType, { name });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  #orphaned(): PodCondition {
    return {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
      lastTransitionTime: formatTime(this.#context.clock.now()),
    };
  }

  async #remove(pod: Pod, condition?: PodCondition): Promise<void> {
    const { client, log } = this.#context;
    const { namespace, name = '', uid } = pod.metadata;
    try {
      if (mustFailFirst(pod)) {
        const status = { phase: 'Failed', ...(condition ? { conditions: [condition] } : {}) };
        const body = { metadata: { uid }, status };
        await client.patch(podType, { namespace, name }, { type: 'strategic', body }, { subresource: 'status' });
      }
      await client.delete(podType, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (isNotFound(error)) return;
      log.warn('removing a pod failed', { pod: `${namespace}/${name}`, error: messageOf(error) });
    }
  }
}

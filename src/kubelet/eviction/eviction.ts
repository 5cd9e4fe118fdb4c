/**
 * Keeps the node alive when memory, disk, inodes or process ids run short: looks every ten seconds, takes back what nobody uses, and if
 * that is not enough ends one Pod after the other. Static and critical Pods stay. What to do is decided in the pure files beside this one.
 */
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import { isTolerated } from '../../api/core/v1/tolerations.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep, withTimeout } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { MachineFacts, NodeHost } from '../host/host.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { Rejection } from '../pods/admission.ts';
import { isCriticalPod } from '../pods/pod-phase.ts';
import type { TerminationCause } from '../pods/pod-status.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import { evictionText } from './eviction-message.ts';
import { limitsLocalStorage, localStorageViolation } from './local-storage.ts';
import { type Observations, observationsOf, type PodUse } from './measurement.ts';
import { podUses } from './pod-uses.ts';
import { isMet, nextPressure, noPressure, type PressureCondition, resourceOf } from './pressure.ts';
import { rankForEviction } from './ranking.ts';
import { type Signal, type Threshold, thresholdsOf, withContainerFilesystem } from './thresholds.ts';

export interface EvictionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly configuration: KubeletConfiguration;
  readonly host: NodeHost;
  readonly facts: MachineFacts;
  readonly runtime: ContainerRuntime;
  readonly metrics?: KubeletMetrics | undefined;
  /** Pods that run or are about to. */
  activePods(): readonly Pod[];
  /** Resolves when nothing of the Pod runs any more. */
  end(pod: Pod, graceSeconds: number, cause: TerminationCause): Promise<void>;
  removeDeadContainers(): Promise<void>;
  removeUnusedImages(): Promise<void>;
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
  podEvent(pod: Pod, reason: string, message: string, annotations: Readonly<Record<string, string>>): void;
  /** The node suffers from something else than before. */
  onConditions(): void;
}

const periodMs = 10_000;
const cleanupTimeoutMs = 30_000;
const hardGraceSeconds = 1;

export class Eviction {
  readonly #options: EvictionOptions;
  readonly #thresholds: readonly Threshold[];
  readonly #evictions = new Map<string, number>();
  #pressure = noPressure;

  constructor(options: EvictionOptions) {
    this.#options = options;
    this.#thresholds = thresholdsOf(options.configuration);
  }

  /** What the Node's status shows. */
  get conditions(): ReadonlySet<PressureCondition> {
    return new Set(this.#pressure.conditionSeenMs.keys());
  }

  /** How many Pods went because of which signal. */
  get counts(): ReadonlyMap<string, number> {
    return this.#evictions;
  }

  /** Why the node takes no such Pod now. */
  refusal(pod: Pod): Rejection | undefined {
    const conditions = [...this.conditions];
    if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
    if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
      const taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' } as const;
      if (qosClass(pod) !== 'BestEffort' || isTolerated(taint, pod.spec.tolerations)) return undefined;
    }
    return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` };
  }

  async run(): Promise<void> {
    const { clock, log, signal } = this.#options;
    while (!signal.aborted) {
      const evicted = await this.look().catch((error) => {
        if (!signal.aborted) log.warn('eviction manager: failed to synchronize', { error: messageOf(error) });
        return 0;
      });
      // After an eviction the next look shows whether it was enough.
      if (evicted === 0) await sleep(clock, periodMs, signal).catch(() => undefined);
    }
  }

  /** One look; how many Pods were evicted. */
  async look(): Promise<number> {
    const { activePods, clock, configuration, onConditions } = this.#options;
    const measurement = await this.#measure();
    const measuredMs = clock.monotonic();
    const { observations, dedicatedImageFs } = measurement;
    const before = [...this.conditions].join();
    this.#pressure = nextPressure(this.#pressure, observations, clock.monotonic(), {
      thresholds: withContainerFilesystem(this.#thresholds, dedicatedImageFs),
      transitionMs: configuration.evictionPressureTransitionPeriodMs,
    });
    if (before !== [...this.conditions].join()) onConditions();
    const pods = activePods();
    if (configuration.localStorageCapacityIsolation) {
      const violators = await this.#evictViolators(pods.filter(limitsLocalStorage), dedicatedImageFs);
      if (violators > 0) return violators;
    }
    const [threshold] = this.#pressure.due;
    return threshold ? this.#relieve(threshold, pods, { ...measurement, measuredMs }) : 0;
  }

  async #measure(): Promise<Measurement> {
    const { facts, host } = this.#options;
    const [usage, podsMemory] = await Promise.all([host.usage(), host.cgroups.podsMemory()]);
    return { observations: observationsOf(facts, usage, podsMemory), dedicatedImageFs: usage.dedicatedImageFs };
  }

  async #evictViolators(pods: readonly Pod[], dedicatedImageFs: boolean): Promise<number> {
    if (pods.length === 0) return 0;
    const uses = await podUses(this.#options, pods);
    let evicted = 0;
    for (const pod of pods) {
      const use = uses.get(pod.metadata.uid ?? '');
      const violation = use && localStorageViolation(pod, use, dedicatedImageFs);
      if (
        violation &&
        (await this.#evict(pod, violation.signal, { graceSeconds: hardGraceSeconds, message: violation.message }))
      )
        evicted++;
    }
    return evicted;
  }

  /** Takes back what nobody uses, then ends the first Pod in the order of eviction. */
  async #relieve(
    threshold: Threshold,
    pods: readonly Pod[],
    { observations, dedicatedImageFs, measuredMs }: Measurement & { readonly measuredMs: number },
  ): Promise<number> {
    const { clock, log, metrics, nodeEvent } = this.#options;
    const resource = resourceOf(threshold.signal);
    log.info('attempting to reclaim', { resource, signal: threshold.signal });
    nodeEvent('Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`);
    if (await this.#reclaim(threshold.signal, dedicatedImageFs)) {
      log.info('able to reduce resource pressure without evicting pods', { resource });
      return 0;
    }
    for (const { signal } of this.#pressure.due)
      metrics?.time('eviction_stats_age_seconds', clock.monotonic() - measuredMs, { eviction_signal: signal });
    const uses = await podUses(this.#options, pods);
    const useOf = (pod: Pod): PodUse | undefined => uses.get(pod.metadata.uid ?? '');
    for (const pod of rankForEviction(threshold.signal, pods, { useOf, dedicatedImageFs })) {
      const { message, annotations } = evictionText(pod, resource, {
        due: this.#pressure.due,
        observations,
        use: useOf(pod),
      });
      const graceSeconds = this.#graceSeconds(pod, threshold);
      const condition = { type: 'DisruptionTarget', reason: 'TerminationByKubelet', message };
      if (await this.#evict(pod, threshold.signal, { graceSeconds, message, annotations, condition })) return 1;
    }
    log.warn('unable to evict any pods from the node', { resource });
    return 0;
  }

  #graceSeconds(pod: Pod, { gracePeriodMs }: Threshold): number {
    if (gracePeriodMs === 0) return hardGraceSeconds;
    const longest = this.#options.configuration.evictionMaxPodGracePeriodSeconds;
    return Math.min(longest, pod.spec.terminationGracePeriodSeconds ?? longest);
  }

  /** Whether that was enough, minimum reclaim included. */
  async #reclaim(signal: Signal, dedicatedImageFs: boolean): Promise<boolean> {
    const { log, removeDeadContainers, removeUnusedImages } = this.#options;
    const resource = resourceOf(signal);
    const isHelpless =
      resource === 'memory' || resource === 'pids' || (dedicatedImageFs && signal.startsWith('nodefs.'));
    if (isHelpless) return false;
    for (const remove of [removeDeadContainers, removeUnusedImages])
      await remove().catch((error) =>
        log.warn('unexpected error when attempting to reduce resource pressure', { resource, error: messageOf(error) }),
      );
    const { observations } = await this.#measure();
    const thresholds = withContainerFilesystem(this.#thresholds, dedicatedImageFs);
    return !thresholds.some((threshold) => isMet(threshold, observations.get(threshold.signal), 'withReclaim'));
  }

  /** False for a Pod that may not be evicted. */
  async #evict(
    pod: Pod,
    signal: string,
    { graceSeconds, message, annotations = {}, condition }: EvictionDetails,
  ): Promise<boolean> {
    const { clock, end, log, podEvent } = this.#options;
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    if (isCriticalPod(pod)) {
      log.warn('cannot evict a critical pod', { pod: name });
      return false;
    }
    podEvent(pod, 'Evicted', message, annotations);
    this.#evictions.set(signal, (this.#evictions.get(signal) ?? 0) + 1);
    const ended = end(pod, graceSeconds, { reason: 'Evicted', message, fails: true, condition });
    await withTimeout(
      clock,
      ended,
      cleanupTimeoutMs,
      () => new Error('timed out waiting for pods to be cleaned up'),
    ).then(
      () => log.info('pod is evicted successfully', { pod: name }),
      (error) => log.warn('pod failed to evict', { pod: name, error: messageOf(error) }),
    );
    return true;
  }
}

interface Measurement {
  readonly observations: Observations;
  readonly dedicatedImageFs: boolean;
}

interface EvictionDetails {
  readonly graceSeconds: number;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly condition?: TerminationCause['condition'];
}

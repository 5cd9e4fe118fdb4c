/**
 * What has to happen so that a Pod runs as its spec asks: pure, from the spec, what the runtime shows and what probes found.
 *
 * Init containers run one after the other; a sidecar among them must have started before the next one begins, and is kept running
 * from then on. The others start when the last init container is through. A container whose definition changed, or whose
 * liveness or startup probe failed, is stopped and, if its policy says so, started again. A Pod in which nothing is left to run is
 * ended whole. Where a container's rule starts all anew, they are removed first, and what remains is a Pod that has not begun.
 *
 * Whether a container that ought to start must wait first (back-off) is not decided here.
 */

import { isSidecar, mayRestart, shouldRestart } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ResizeChange } from '../resize/pod-resize.ts';
import type { ContainerResize } from '../resize/resize-containers.ts';
import { containerHash } from './container-hash.ts';
import { containersToReset } from './restart-all.ts';
import { latestContainer, latestSandbox, type RuntimeContainer, type RuntimePod } from './runtime-pod.ts';

export type ContainerKind = 'init' | 'sidecar' | 'regular' | 'ephemeral';

export interface ProbeVerdicts {
  /** The liveness probe has failed often enough. */
  livenessFailed(containerId: string): boolean;
  startupFailed(containerId: string): boolean;
  /** Runs, its hook is through and its startup probe, if any, has succeeded. */
  isStarted(containerId: string): boolean;
}

/** All that decides beyond the spec and what the runtime shows. */
export interface PlanFacts extends ProbeVerdicts {
  /** What a running container needs to have the resources that it was given. */
  resizeOf(spec: Container, container: RuntimeContainer): ResizeChange;
}

export interface ContainerStop {
  readonly container: RuntimeContainer;
  readonly spec: Container;
  readonly reason: 'livenessProbe' | 'startupProbe' | 'definitionChanged' | 'resize' | 'unknownState';
  /** Of the event that tells it. */
  readonly message: string;
}

export interface ContainerStart {
  readonly spec: Container;
  readonly kind: ContainerKind;
}

export interface PodPlan {
  /** Nothing is left to run: end what still runs and the sandbox. */
  readonly endPod: boolean;
  /** A sandbox has to be made; those that are there are ended first. */
  readonly createSandbox: boolean;
  /** Number of the new sandbox. */
  readonly attempt: number;
  /** Containers that are ended and removed before anything else is looked at. */
  readonly reset: readonly RuntimeContainer[];
  readonly stop: readonly ContainerStop[];
  readonly start: readonly ContainerStart[];
  /** Running containers that get other resources. */
  readonly resize: readonly ContainerResize[];
}

export function planPod(pod: Pod, observed: RuntimePod, facts: PlanFacts): PodPlan {
  const latest = latestSandbox(observed);
  const attempt = latest ? latest.metadata.attempt + 1 : 0;
  const nothing: PodPlan = { endPod: false, createSandbox: false, attempt, reset: [], stop: [], start: [], resize: [] };
  const reset = containersToReset(pod, observed);
  if (reset.length > 0) return { ...nothing, reset };
  if (needsSandbox(pod, observed)) {
    if (!mayRunAgain(pod, observed, attempt)) return { ...nothing, endPod: true };
    const [first] = pod.spec.initContainers ?? [];
    const start: ContainerStart[] = first
      ? [startOf(first, isSidecar(first) ? 'sidecar' : 'init')]
      : regularStarts(pod, observed);
    if (start.length === 0) return { ...nothing, endPod: true };
    return { ...nothing, createSandbox: true, start };
  }
  const current = inSandbox(observed, latest!.id);
  const planned = new ContainerPlanner(pod, current, observed, facts).plan();
  return { ...nothing, ...planned, attempt: latest!.metadata.attempt };
}

/** Whether carrying it out would do anything. */
export function hasWork({ createSandbox, reset, stop, start, resize }: PodPlan): boolean {
  return createSandbox || [reset, stop, start, resize].some((steps) => steps.length > 0);
}

function startOf(spec: Container, kind: ContainerKind): ContainerStart {
  return { spec, kind };
}

/** There is none, more than one, it has ended, or it is on the wrong network. */
function needsSandbox(pod: Pod, observed: RuntimePod): boolean {
  const latest = latestSandbox(observed);
  if (latest?.state !== 'ready') return true;
  if (observed.sandboxes.filter(({ state }) => state === 'ready').length > 1) return true;
  const wantsHost = pod.spec.hostNetwork === true;
  if ((latest.namespaces.network === 'node') !== wantsHost) return true;
  return !wantsHost && latest.ips.length === 0;
}

/** A Pod of which no container ever restarts, and that has run before, does not get another sandbox. */
function mayRunAgain(pod: Pod, observed: RuntimePod, attempt: number): boolean {
  if (pod.metadata.deletionTimestamp) return false;
  const restarts = pod.spec.containers.some((container) => mayRestart(container, pod.spec));
  return restarts || attempt === 0 || observed.containers.length === 0;
}

function regularStarts(pod: Pod, observed: RuntimePod): ContainerStart[] {
  return pod.spec.containers
    .filter((container) => mayStart(pod, container, latestContainer(observed, container.name)))
    .map((container) => startOf(container, 'regular'));
}

/** By the newest container of its name: never ran, or has ended and its policy starts it again. */
function mayStart(pod: Pod, container: Container, latest: RuntimeContainer | undefined): boolean {
  if (pod.metadata.deletionTimestamp) return false;
  if (latest?.state !== 'exited') return true;
  return shouldRestart(container, pod.spec, latest.exitCode);
}

function inSandbox(observed: RuntimePod, sandboxId: string): RuntimePod {
  return {
    sandboxes: observed.sandboxes,
    containers: observed.containers.filter((container) => container.sandboxId === sandboxId),
  };
}

class ContainerPlanner {
  readonly #pod: Pod;
  readonly #current: RuntimePod;
  readonly #observed: RuntimePod;
  readonly #facts: PlanFacts;
  readonly #stop: ContainerStop[] = [];
  readonly #start: ContainerStart[] = [];
  readonly #resize: ContainerResize[] = [];

  constructor(pod: Pod, current: RuntimePod, observed: RuntimePod, facts: PlanFacts) {
    this.#pod = pod;
    this.#current = current;
    this.#observed = observed;
    this.#facts = facts;
  }

  plan(): Pick<PodPlan, 'endPod' | 'stop' | 'start' | 'resize'> {
    const end = { endPod: true, stop: [], start: [], resize: [] };
    const all = { endPod: false, stop: this.#stop, start: this.#start, resize: this.#resize };
    for (const container of this.#pod.spec.ephemeralContainers ?? []) {
      // They never run a second time, in a new sandbox neither.
      if (!latestContainer(this.#observed, container.name))
        this.#start.push(startOf(container as Container, 'ephemeral'));
    }
    const initialised = this.#planInitContainers();
    if (initialised === 'failed') return end;
    if (initialised === 'waiting') return all;
    const kept = this.#planRegularContainers();
    const startsRegular = this.#start.some(({ kind }) => kind === 'regular');
    return kept === 0 && !startsRegular ? end : all;
  }

  #planInitContainers(): 'initialised' | 'waiting' | 'failed' {
    const all = this.#pod.spec.initContainers ?? [];
    const running = this.#pod.spec.containers.some(({ name }) => latestContainer(this.#current, name));
    const reached = running
      ? all.length
      : Math.max(
          0,
          all.findLastIndex(({ name }) => latestContainer(this.#current, name)),
        );
    for (const [index, container] of all.entries()) {
      const status = latestContainer(this.#current, container.name);
      const isFrontier = index >= reached;
      if (isSidecar(container)) {
        if (!this.#planSidecar(container, status) && isFrontier) return 'waiting';
      } else if (isFrontier) {
        const outcome = this.#planInitContainer(container, status);
        if (outcome !== 'done') return outcome;
      }
    }
    return 'initialised';
  }

  /** Whether it has started. */
  #planSidecar(container: Container, status: RuntimeContainer | undefined): boolean {
    if (status?.state === 'running') {
      const stop = this.#reasonToStop(container, status, 'Init container');
      if (!stop) {
        this.#planResize(container, status);
        return this.#facts.isStarted(status.id);
      }
      this.#stop.push(stop);
    } else if (status?.state === 'unknown') this.#stop.push(this.#unknown(container, status, 'Init container'));
    if (!this.#pod.metadata.deletionTimestamp) this.#start.push(startOf(container, 'sidecar'));
    return false;
  }

  #planInitContainer(container: Container, status: RuntimeContainer | undefined): 'done' | 'waiting' | 'failed' {
    switch (status?.state) {
      case 'running':
        return 'waiting';
      case 'exited':
        if (status.exitCode === 0) return 'done';
        if (!shouldRestart(container, this.#pod.spec, status.exitCode)) return 'failed';
        break;
      case 'unknown':
        this.#stop.push(this.#unknown(container, status, 'Init container'));
        break;
    }
    this.#start.push(startOf(container, 'init'));
    return 'waiting';
  }

  /** How many are left running. */
  #planRegularContainers(): number {
    let kept = 0;
    for (const container of this.#pod.spec.containers) {
      const status = latestContainer(this.#current, container.name);
      if (status?.state !== 'running') {
        // A container that succeeded in an earlier sandbox need not run again in this one.
        const latest = status ?? latestContainer(this.#observed, container.name);
        if (!mayStart(this.#pod, container, latest)) continue;
        if (status?.state === 'unknown') this.#stop.push(this.#unknown(container, status, 'Container'));
        this.#start.push(startOf(container, 'regular'));
        continue;
      }
      const stop = this.#reasonToStop(container, status, 'Container');
      if (!stop) {
        this.#planResize(container, status);
        kept++;
        continue;
      }
      const { reason } = stop;
      const restarts = reason === 'definitionChanged' || reason === 'resize' || this.#restartsAfterProbe(container);
      this.#stop.push(
        restarts && reason !== 'resize' ? { ...stop, message: `${stop.message}, will be restarted` } : stop,
      );
      if (restarts) this.#start.push(startOf(container, 'regular'));
    }
    return kept;
  }

  /** A container that a probe condemned ends with a failure. */
  #restartsAfterProbe(container: Container): boolean {
    return shouldRestart(container, this.#pod.spec, 137);
  }

  #reasonToStop(container: Container, status: RuntimeContainer, title: string): ContainerStop | undefined {
    const stop = (reason: ContainerStop['reason'], what: string) => ({
      container: status,
      spec: container,
      reason,
      message: `${title} ${container.name} ${what}`,
    });
    if (status.hash !== '' && status.hash !== containerHash(container))
      return stop('definitionChanged', 'definition changed');
    if (this.#facts.startupFailed(status.id)) return stop('startupProbe', 'failed startup probe');
    if (this.#facts.livenessFailed(status.id)) return stop('livenessProbe', 'failed liveness probe');
    if (this.#facts.resizeOf(container, status) !== 'restart') return undefined;
    return { ...stop('resize', ''), message: `Container ${container.name} resize requires restart` };
  }

  #planResize(spec: Container, container: RuntimeContainer): void {
    if (this.#facts.resizeOf(spec, container) === 'update') this.#resize.push({ spec, container });
  }

  #unknown(container: Container, status: RuntimeContainer, title: string): ContainerStop {
    const message = `${title} is in "unknown" state, try killing it before restart`;
    return { container: status, spec: container, reason: 'unknownState', message };
  }
}

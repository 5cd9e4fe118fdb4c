/**
 * What is known of a Pod's running containers beyond the runtime: their probes. Follows the containers that run, starting probes
 * for new ones and ending those of containers that are gone.
 */
import { containerStatus } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { ContainerProbes, isProbed } from '../probes/probe-worker.ts';
import type { ProbeVerdicts } from './pod-plan.ts';
import type { PodServices } from './pod-services.ts';
import { type RuntimeContainer, type RuntimePod, readySandbox } from './runtime-pod.ts';

export class ContainerVerdicts implements ProbeVerdicts {
  readonly #services: PodServices;
  readonly #onChange: () => void;
  readonly #probes = new Map<string, ContainerProbes>();
  #running = new Set<string>();

  constructor(services: PodServices, onChange: () => void) {
    this.#services = services;
    this.#onChange = onChange;
  }

  follow(pod: Pod, observed: RuntimePod): void {
    const running = observed.containers.filter(({ state }) => state === 'running');
    this.#running = new Set(running.map(({ id }) => id));
    for (const [id, probes] of this.#probes) {
      if (this.#running.has(id)) continue;
      probes.stop();
      this.#probes.delete(id);
    }
    const { containers, initContainers = [] } = pod.spec;
    for (const container of running) {
      if (this.#probes.has(container.id)) continue;
      const spec = [...initContainers, ...containers].find(({ name }) => name === container.name);
      if (spec && isProbed(spec, initContainers.includes(spec)))
        this.#probes.set(container.id, this.#start(pod, spec, container, observed));
    }
  }

  isStarted(containerId: string): boolean {
    return this.#running.has(containerId) && (this.#probes.get(containerId)?.isStarted ?? true);
  }

  isReady(containerId: string): boolean {
    return this.#running.has(containerId) && (this.#probes.get(containerId)?.isReady ?? true);
  }

  livenessFailed(containerId: string): boolean {
    return this.#probes.get(containerId)?.livenessFailed ?? false;
  }

  startupFailed(containerId: string): boolean {
    return this.#probes.get(containerId)?.startupFailed ?? false;
  }

  stopLiveness(): void {
    for (const probes of this.#probes.values()) probes.stopLiveness();
  }

  stopAll(): void {
    for (const probes of this.#probes.values()) probes.stop();
    this.#probes.clear();
  }

  #start(pod: Pod, spec: Container, container: RuntimeContainer, observed: RuntimePod): ContainerProbes {
    const { clock, log, prober, runtimeName } = this.#services;
    const before = containerStatus(pod.status, spec.name);
    const isKnown = before?.containerID === `${runtimeName}://${container.id}`;
    const ip = pod.spec.hostNetwork ? this.#services.hostIps()[0] : readySandbox(observed)?.ips[0];
    const target = { pod, container: spec, containerId: container.id, ip: ip ?? '' };
    return new ContainerProbes({
      clock,
      log,
      container: spec,
      startedAtMs: container.startedAtMs,
      adopted: isKnown ? { isStarted: before.started === true, isReady: before.ready } : undefined,
      run: (probe, signal) => prober.probe(probe, target, signal),
      event: (reason, message) => this.#services.event(pod, 'Warning', reason, message, spec.name),
      onChange: this.#onChange,
    });
  }
}

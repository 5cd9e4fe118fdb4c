/**
 * What the machine, its Pods and their containers use, asked of the runtime and the host when somebody wants to know. Rates are computed
 * between two questions, since runtimes count but do not divide.
 */

import type { Clock } from '../../base/clock.ts';
import type { MachineFacts, MachineUsage, PressureStalls } from '../host/host.ts';
import {
  type ContainerStats,
  type CpuUsage,
  type MemoryUsage,
  runtimeLabels,
  type SandboxStats,
} from '../runtime/runtime.ts';
import type { KubeletView, PodVolumeStats } from './kubelet-view.ts';

export interface ContainerSample {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly startedAtMs: number;
  readonly stats: ContainerStats;
}

export interface PodSample {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly sandboxId: string;
  readonly startedAtMs: number;
  readonly containers: readonly ContainerSample[];
  readonly pressure?: PressureStalls | undefined;
  readonly volumes: readonly PodVolumeStats[];
  /** Absent where the runtime does not tell. */
  readonly sandbox?: SandboxStats | undefined;
}

export interface NodeSample {
  readonly atMs: number;
  readonly facts: MachineFacts;
  readonly usage: MachineUsage;
  readonly cpuNanoSeconds: number;
  readonly pressure?: PressureStalls | undefined;
  readonly pods: readonly PodSample[];
}

/** A moment of the whole node. Rejects when the runtime does not answer. */
export async function sampleNode(view: KubeletView, clock: Clock): Promise<NodeSample> {
  const { runtime } = view;
  const [facts, usage, sandboxes, containers, stats] = await Promise.all([
    view.facts(),
    view.usage(),
    runtime.listPodSandboxes({ state: 'ready' }),
    runtime.listContainers({ state: 'running' }),
    runtime.listContainerStats(),
  ]);
  const statsById = new Map(stats.map((entry) => [entry.id, entry]));
  const pods = await Promise.all(
    sandboxes.map(async (sandbox): Promise<PodSample> => {
      const own = containers.filter((container) => container.sandboxId === sandbox.id);
      const { name, namespace, uid } = sandbox.metadata;
      return {
        name,
        namespace,
        uid,
        sandboxId: sandbox.id,
        startedAtMs: sandbox.createdAtMs,
        sandbox: await runtime.podSandboxStats(sandbox.id).catch(() => undefined),
        pressure: await view.podPressure?.(namespace, name),
        volumes: view.volumeStats?.(namespace, name) ?? [],
        containers: own.flatMap((container) => {
          const found = statsById.get(container.id);
          const containerName = container.labels[runtimeLabels.containerName] ?? container.name;
          if (!found) return [];
          const { id, image, createdAtMs } = container;
          return [{ id, name: containerName, image, startedAtMs: createdAtMs, stats: found }];
        }),
      };
    }),
  );
  const counted = await view.cpuNanoSeconds?.();
  const pressure = await view.pressure?.();
  return { atMs: clock.now(), facts, usage, pods, pressure, cpuNanoSeconds: counted ?? cpuOf(pods) };
}

/** CPU time and memory of a Pod: what the runtime says of its sandbox, else the sum over its containers. */
export function podUsage({ containers, sandbox }: PodSample): { cpuNanoSeconds: number; workingSetBytes: number } {
  const cpu = sandbox?.cpu?.coreNanoSeconds;
  const memory = sandbox?.memory?.workingSetBytes;
  return {
    cpuNanoSeconds: cpu || sum(containers.map(({ stats }) => stats.cpu?.coreNanoSeconds ?? 0)),
    workingSetBytes: memory || sum(containers.map(({ stats }) => stats.memory?.workingSetBytes ?? 0)),
  };
}

function cpuOf(pods: readonly PodSample[]): number {
  return sum(pods.map((pod) => podUsage(pod).cpuNanoSeconds));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Remembers the last two counts of each name, so that a rate can be given. */
export class CpuRates {
  #previous = new Map<string, CpuUsage>();
  #current = new Map<string, CpuUsage>();

  /** Nanoseconds of CPU per second since the count before; undefined for the first. */
  rate(name: string, count: CpuUsage): number | undefined {
    const before = this.#current.get(name) ?? this.#previous.get(name);
    this.#current.set(name, count);
    if (!before || count.timestampMs <= before.timestampMs) return undefined;
    const seconds = (count.timestampMs - before.timestampMs) / 1000;
    return Math.max(0, Math.round((count.coreNanoSeconds - before.coreNanoSeconds) / seconds));
  }

  /** Forgets what was not counted since the last call. */
  next(): void {
    this.#previous = this.#current;
    this.#current = new Map();
  }
}

export type { ContainerStats, CpuUsage, MemoryUsage };

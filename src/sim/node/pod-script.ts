/**
 * What a simulated Pod does: how long until its containers run, until they are ready, until they end and how, and how long they take to
 * obey. Said by the Pod itself (annotations and simple commands, as the simulated runtime reads them), or by the simulation's script.
 */
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { type Behaviour, behaviourOf, simulationPrefix } from '../../kubelet/runtime/simulated/behaviour.ts';

export interface PodScript {
  /** From the Pod's arrival on its node until its containers run. */
  readonly startMs: number;
  /** From then until they are ready; Infinity: never. */
  readonly readyMs: number;
  /** Of every container that does not say something else; Infinity: until it is stopped. */
  readonly runMs: number;
  readonly exitCode: number;
  /** How long its containers take to end when they are asked to; the grace period is a limit. */
  readonly stopMs: number;
}

/** The script's word counts where the Pod has none of its own. */
export type ScriptOf = (pod: Pod) => Partial<PodScript>;

export interface ContainerScript {
  readonly runMs: number;
  readonly exitCode: number;
}

export interface ResolvedScript extends Pick<PodScript, 'startMs' | 'readyMs' | 'stopMs'> {
  /** By name, of those containers that make the Pod run. */
  readonly containers: ReadonlyMap<string, ContainerScript>;
}

export function resolveScript(pod: Pod, script: PodScript): ResolvedScript {
  const { annotations = {} } = pod.metadata;
  const own = (name: string): number | undefined => {
    const text = annotations[simulationPrefix + name];
    return text === undefined || Number.isNaN(Number(text)) ? undefined : Number(text) * 1000;
  };
  const { initContainers = [], containers } = pod.spec;
  // Init containers take their time one after the other.
  const initMs = initContainers
    .filter((container) => !isSidecar(container))
    .reduce((sum, container) => sum + finite(behaviour(pod, container).runMs), 0);
  const entries = [...initContainers.filter(isSidecar), ...containers].map((container) => {
    const { runMs, exitCode } = behaviour(pod, container);
    const silent = runMs === Number.POSITIVE_INFINITY;
    return [container.name, silent ? { runMs: script.runMs, exitCode: script.exitCode } : { runMs, exitCode }] as const;
  });
  return {
    startMs: (own('start-seconds') ?? script.startMs) + initMs,
    readyMs: own('ready-seconds') ?? script.readyMs,
    stopMs: own('stop-seconds') ?? script.stopMs,
    containers: new Map(entries),
  };
}

function behaviour({ metadata: { labels = {}, annotations = {} } }: Pod, container: Container): Behaviour {
  const { name, command = [], args = [] } = container;
  return behaviourOf({ name, command, args, annotations: {} }, { labels, annotations });
}

/** An init container that would run for ever counts as one that takes a second: the simulation goes on. */
function finite(runMs: number): number {
  return Number.isFinite(runMs) ? runMs : 1000;
}

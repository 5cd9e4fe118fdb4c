/**
 * A node of a simulation: a machine and the kubelet on it. The machine can lose its power and its network, the kubelet can end and come back,
 * the clock can be wrong, the runtime can be sick.
 */

import { amountOf } from '../../api/core/v1/pod-resources.ts';
import type { Pod, Taint } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../../kubelet/configuration.ts';
import { simulatedHost } from '../../kubelet/host/simulated-host.ts';
import { between, chanceOf } from '../chance.ts';
import type { ProcessOptions, SimulatedProcess } from '../process.ts';
import { runHollowKubelet } from './hollow-kubelet.ts';
import type { PodRun } from './pod-run.ts';
import type { PodScript, ScriptOf } from './pod-script.ts';
import { SimulatedMachine } from './simulated-machine.ts';

export interface NodeOptions {
  /** Default `node-N`. */
  readonly name?: string | undefined;
  readonly zone?: string | undefined;
  /** Default `region`, where there is a zone. */
  readonly region?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly taints?: readonly Taint[] | undefined;
  /** Default 8. */
  readonly cpus?: number | undefined;
  /** Default `32Gi`. */
  readonly memory?: string | undefined;
  /** Default 110. */
  readonly maxPods?: number | undefined;
  /** How far its clock is ahead, or behind when negative. */
  readonly clockSkewMs?: number | undefined;
  /** What Pods do on this node; counts more than the simulation's. */
  readonly pods?: ScriptOf | undefined;
}

export interface NodeWorld {
  readonly index: number;
  readonly seed: number;
  readonly clock: Clock;
  readonly scriptOf: ScriptOf | undefined;
  process(parts: Pick<ProcessOptions, 'name' | 'user' | 'clock' | 'run'>): SimulatedProcess;
}

const startMs = [1000, 3000] as const;
const readyMs = 1000;
const stopMs = [200, 2000] as const;

export class SimulatedNode {
  readonly name: string;
  readonly zone: string;
  readonly kubelet: SimulatedProcess;
  readonly #machine: SimulatedMachine;
  #isOn = false;
  #skewMs: number;

  constructor(options: NodeOptions & { readonly name: string }, world: NodeWorld) {
    const { name, zone = '', cpus = 8, memory = '32Gi' } = options;
    const { index } = world;
    this.name = name;
    this.zone = zone;
    this.#skewMs = options.clockSkewMs ?? 0;
    const clock = this.#ownClock(world.clock);
    const hostIp = `172.${16 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
    this.#machine = new SimulatedMachine({ clock, hostIp, scriptOf: scripts(options, world) });
    const host = simulatedHost({
      facts: { cpuCount: cpus, memoryBytes: amountOf('memory', memory) },
      addresses: [hostIp],
    });
    this.kubelet = world.process({
      name: `kubelet ${name}`,
      user: { name: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] },
      clock,
      run: (context) =>
        runHollowKubelet(context, {
          nodeName: name,
          configuration: configurationOf(options),
          host,
          machine: this.#machine,
        }),
    });
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Pods that are on the machine now, whatever the API server knows of them. */
  runs(): Iterable<PodRun> {
    return this.#machine.runs();
  }

  powerOn(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.kubelet.start();
  }

  /** Everything on it ends at once, unheard. */
  powerOff(): void {
    this.#isOn = false;
    this.kubelet.crash(Number.POSITIVE_INFINITY);
    this.#machine.powerOff();
  }

  /** Its way to the API server is cut; Pods run on. */
  cutNetwork(): void {
    this.kubelet.cut();
  }

  mendNetwork(): void {
    this.kubelet.mend();
  }

  /** The kubelet ends and comes back; Pods run on. */
  crashKubelet(restartAfterMs?: number): void {
    if (this.#isOn) this.kubelet.crash(restartAfterMs);
  }

  /** Makes its Ready condition False with this message; empty: it is well again. */
  setProblem(problem: string): void {
    this.#machine.setProblem(problem);
  }

  set clockSkewMs(ms: number) {
    this.#skewMs = ms;
  }

  #ownClock(clock: Clock): Clock {
    return {
      now: () => clock.now() + this.#skewMs,
      monotonic: () => clock.monotonic(),
      after: (delayMs, callback) => clock.after(delayMs, callback),
      soon: (callback) => clock.soon(callback),
    };
  }
}

function configurationOf({ zone, region, labels, taints, maxPods }: NodeOptions): KubeletConfiguration {
  return {
    ...defaultConfiguration,
    maxPods: maxPods ?? defaultConfiguration.maxPods,
    registerWithTaints: taints ?? [],
    nodeLabels: {
      ...(zone ? { 'topology.kubernetes.io/zone': zone, 'topology.kubernetes.io/region': region ?? 'region' } : {}),
      ...labels,
    },
  };
}

function scripts({ name, pods }: NodeOptions, { seed, scriptOf }: NodeWorld): (pod: Pod) => PodScript {
  const random = chanceOf(seed, `pods of ${name}`);
  return (pod) => ({
    startMs: between(random, ...startMs),
    readyMs,
    stopMs: between(random, ...stopMs),
    runMs: Number.POSITIVE_INFINITY,
    exitCode: 0,
    ...scriptOf?.(pod),
    ...pods?.(pod),
  });
}

/** A simulated machine: what runs on it, whatever becomes of its kubelet, and the addresses it gives out. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { AddressPool } from '../../kubelet/runtime/simulated/address-pool.ts';
import { PodRun } from './pod-run.ts';
import { type PodScript, resolveScript } from './pod-script.ts';

export class SimulatedMachine {
  /** Set by the kubelet that runs at the moment. */
  onChange: ((run: PodRun) => void) | undefined;
  onProblem: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #hostIp: string;
  readonly #scriptOf: (pod: Pod) => PodScript;
  readonly #runs = new Map<string, PodRun>();
  readonly #addresses: AddressPool;
  #cidr: string | undefined;
  #problem = '';

  constructor(options: { readonly clock: Clock; readonly hostIp: string; readonly scriptOf: (pod: Pod) => PodScript }) {
    this.#clock = options.clock;
    this.#hostIp = options.hostIp;
    this.#scriptOf = options.scriptOf;
    this.#addresses = new AddressPool(() => this.#cidr);
  }

  /** Why its runtime is not well; empty: it is. */
  get problem(): string {
    return this.#problem;
  }

  setProblem(problem: string): void {
    this.#problem = problem;
    this.onProblem?.();
  }

  run(uid: string): PodRun | undefined {
    return this.#runs.get(uid);
  }

  runs(): Iterable<PodRun> {
    return this.#runs.values();
  }

  /** Those that hold resources. */
  pods(): readonly Pod[] {
    return [...this.#runs.values()].filter((run) => !run.isOver).map(({ pod }) => pod);
  }

  start(pod: Pod, podCidr: string | undefined): PodRun {
    this.#cidr = podCidr || undefined;
    const run = new PodRun(pod, {
      clock: this.#clock,
      script: resolveScript(pod, this.#scriptOf(pod)),
      ip: pod.spec.hostNetwork ? this.#hostIp : this.#addresses.take(),
      hostIp: this.#hostIp,
      onChange: (changed) => this.onChange?.(changed),
    });
    this.#runs.set(pod.metadata.uid ?? '', run);
    return run;
  }

  remove(uid: string): void {
    const run = this.#runs.get(uid);
    if (!run) return;
    run.kill();
    this.#runs.delete(uid);
    this.#addresses.giveBack(run.ip);
  }

  /** Of what runs here: the Pods that are not among these. */
  unknownTo(pods: readonly Pod[]): readonly string[] {
    const known = new Set(pods.map(({ metadata }) => metadata.uid));
    return [...this.#runs.keys()].filter((uid) => !known.has(uid));
  }

  powerOff(): void {
    for (const run of this.#runs.values()) run.kill();
  }
}

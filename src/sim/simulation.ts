/**
 * `simulate`: a whole cluster on virtual time. The API server, the controllers and the scheduler are the unmodified ones, each calling the
 * server as its own user under RBAC and admission; nodes are simulated. Nothing in it is real I/O, so the same seed gives the same
 * history, byte for byte, and an hour passes as fast as the work of an hour can be computed.
 *
 *     await using cluster = await simulate({ seed: 1, nodes: 3 });
 *     await cluster.client.create(deployments, web);
 *     await cluster.until(() => cluster.runningPods().length === 3, { withinMs: 60_000 });
 *     cluster.node('node-0').powerOff();
 *     await cluster.advance(10 * 60_000);
 *
 * Time passes only while somebody waits: during `advance` and `until`, and during calls of `client`.
 */
import { isPodReady, isPodTerminal } from '../api/core/v1/pod-status.ts';
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { isConditionTrue } from '../apimachinery/conditions.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { inProcessTransport } from '../apiserver/in-process-transport.ts';
import type { ApiRequest, UserInfo } from '../apiserver/request.ts';
import { type Log, silentLog } from '../base/log.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import type { Client, Transport } from '../client/client.ts';
import { ConnectionError } from '../client/connection-error.ts';
import { createClient } from '../client/typed-client.ts';
import type { ComposedApiServerOptions } from '../cluster/control-plane/api-server.ts';
import {
  type ControllerSurroundings,
  type ControllerTuning,
  controllerUser,
  runControllers,
} from '../cluster/control-plane/controller-manager.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { runScheduler, type SchedulerOptions } from '../scheduler/scheduler.ts';
import { memoryStore } from '../storage/memory/memory-store.ts';
import type { Store } from '../storage/store.ts';
import { ApiProcess } from './api-process.ts';
import { History } from './history.ts';
import type { Adversary } from './link.ts';
import { loadComponents } from './modules.ts';
import type { PodRun } from './node/pod-run.ts';
import type { ScriptOf } from './node/pod-script.ts';
import { type NodeOptions, SimulatedNode } from './node/simulated-node.ts';
import { type ProcessOptions, SimulatedProcess } from './process.ts';

export interface SimulationOptions {
  /** Everything that is left to chance follows from it. */
  readonly seed: number;
  /** How many equal ones, named `node-0` and so on, or each with its own form. Default 1. */
  readonly nodes?: number | readonly NodeOptions[];
  /** What Pods do that do not say so themselves. Default: containers run after 1 to 3 s, are ready a second later and never end. */
  readonly pods?: ScriptOf | undefined;
  /** Of each message, one way, in milliseconds. Default 0.5 to 3. */
  readonly messageDelayMs?: readonly [from: number, to: number] | undefined;
  /** What goes wrong with messages; it can be changed while the cluster runs. */
  readonly adversary?: Adversary | undefined;
  readonly controllerManager?: ControllerTuning | undefined;
  readonly scheduler?: SchedulerOptions | undefined;
  readonly apiServer?: Partial<ComposedApiServerOptions> | undefined;
  /** Whether values go into the history's digest. Default true; for large clusters it is most of the cost. */
  readonly digestValues?: boolean | undefined;
  readonly startMs?: number | undefined;
  readonly log?: Log | undefined;
}

export type ComponentName = 'kube-controller-manager' | 'kube-scheduler';

const manager: UserInfo = userOf('system:kube-controller-manager');
const scheduler: UserInfo = userOf('system:kube-scheduler');
const administrator: UserInfo = userOf('kubernetes-admin', 'system:masters');
const clusterCidrs = ['10.128.0.0/9'];
const serviceCidrs = ['10.96.0.0/16'];
const defaultDelayMs = [0.5, 3] as const;
const apiRestartMs = 5000;

export async function simulate(options: SimulationOptions): Promise<Simulation> {
  await loadComponents();
  const simulation = new Simulation(options);
  await simulation.start();
  return simulation;
}

export class Simulation implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly history: History;
  readonly seed: number;
  readonly startMs: number;
  /** Of the administrator. Each call lets time pass until it is answered. */
  readonly client: Client;
  /** Components that failed by themselves, and why: a healthy run has none. */
  readonly failures: string[] = [];
  /** Writes whose answer was lost on its way: their senders do not know that they happened. */
  readonly lostAnswers: { readonly atMs: number; readonly method: string; readonly path: string }[] = [];
  readonly store: Store<KubeObject>;
  readonly #options: SimulationOptions;
  readonly #log: Log;
  readonly #api: ApiProcess;
  readonly #components = new Map<string, SimulatedProcess>();
  readonly #nodes = new Map<string, SimulatedNode>();
  readonly #stopping = new AbortController();
  readonly #adversary: Adversary;

  constructor(options: SimulationOptions) {
    const { seed, log = silentLog, digestValues = true } = options;
    this.#options = options;
    this.seed = seed;
    this.#log = log;
    this.#adversary = options.adversary ?? {};
    this.clock = new VirtualClock(options.startMs);
    this.startMs = this.clock.now();
    const { clock } = this;
    this.store = memoryStore<KubeObject>({ clock });
    this.history = new History({ clock, store: this.store, values: digestValues });
    this.#api = new ApiProcess({
      seed,
      clock,
      log,
      store: this.store,
      settings: options.apiServer ?? {},
      onEnd: () => {
        for (const process of this.#processes()) process.disconnect();
      },
    });
    this.client = createClient(this.#driven(this.clientOf(administrator).transport));
    this.#addComponent('kube-controller-manager', manager, (context, clientOf) =>
      runControllers(context, this.#controllerSurroundings(clientOf), options.controllerManager),
    );
    this.#addComponent('kube-scheduler', scheduler, (context) => runScheduler(context, options.scheduler));
  }

  /** Resolves when the API server answers; everything else comes up while time passes. */
  async start(): Promise<void> {
    await this.clock.drive(this.#api.start());
    for (const component of this.#components.values()) component.start();
    const { nodes = 1 } = this.#options;
    const all = typeof nodes === 'number' ? Array.from({ length: nodes }, () => ({})) : nodes;
    for (const node of all) this.addNode(node).powerOn();
  }

  nowMs(): number {
    return this.clock.now();
  }

  /** Lets this much time pass. */
  async advance(byMs: number): Promise<void> {
    await this.clock.advance(byMs);
  }

  /** Lets time pass until the condition holds, looking every `everyMs` (default 100); fails when it does not in time. */
  async until(
    condition: () => boolean | Promise<boolean>,
    { withinMs, what, everyMs = 100 }: { withinMs: number; what?: string | undefined; everyMs?: number | undefined },
  ): Promise<void> {
    const limitMs = this.clock.now() + withinMs;
    while (!(await condition())) {
      if (this.clock.now() >= limitMs)
        throw new Error(`${what ?? 'what was waited for'} has not happened within ${withinMs / 1000} s`);
      await this.clock.advance(everyMs);
    }
  }

  /** Calls back when so much time has passed, within a step of its own. */
  after(delayMs: number, callback: () => void): void {
    this.clock.after(delayMs, callback);
  }

  component(name: ComponentName): SimulatedProcess {
    return this.#components.get(name)!;
  }

  get nodes(): ReadonlyMap<string, SimulatedNode> {
    return this.#nodes;
  }

  node(name: string): SimulatedNode {
    const node = this.#nodes.get(name);
    if (!node) throw new RangeError(`there is no node ${name}`);
    return node;
  }

  /** A machine that is off; `powerOn` makes it a Node. */
  addNode(options: NodeOptions): SimulatedNode {
    const { seed } = this;
    const name = options.name ?? `node-${this.#nodes.size}`;
    const node = new SimulatedNode(
      { ...options, name },
      {
        index: this.#nodes.size,
        seed,
        scriptOf: this.#options.pods,
        process: (parts) => new SimulatedProcess({ ...this.#processOptions(), ...parts }),
        clock: this.clock,
      },
    );
    this.#nodes.set(name, node);
    return node;
  }

  /** What runs anywhere now, whatever the API server knows of it. */
  runningPods(): readonly PodRun[] {
    return [...this.#nodes.values()].flatMap((node) => [...node.runs()].filter((run) => run.isRunning));
  }

  /** All objects of a resource by its folder in the store, as they are now, without a call: `stored('pods')`. */
  stored<T extends KubeObject>(resource: string): Promise<readonly T[]> {
    const start = `/registry/${resource}/`;
    return this.store
      .range({ start, end: `${start.slice(0, -1)}0` })
      .then(({ entries }) => entries.map(({ value }) => value as unknown as T));
  }

  /** Whether each machine that is on has a Node that is Ready. */
  async areNodesReady(): Promise<boolean> {
    const ready = new Set<string | undefined>();
    for (const { metadata, status } of await this.stored<Node>('minions'))
      if (isConditionTrue(status?.conditions, 'Ready')) ready.add(metadata.name);
    return [...this.#nodes.values()].every(({ isOn, name }) => !isOn || ready.has(name));
  }

  /** Whether each Pod that has not ended is ready. */
  async arePodsReady(): Promise<boolean> {
    const all = await this.stored<Pod>('pods');
    return all.every((pod) => isPodReady(pod) || isPodTerminal(pod));
  }

  /** Ends the API server without warning and starts it again after a while. */
  crashApiServer(restartAfterMs = apiRestartMs): void {
    if (!this.#api.isUp) return;
    this.#api.crash();
    this.clock.after(restartAfterMs, () => {
      this.#api.start().catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) this.failures.push(`kube-apiserver: ${String(error)}`);
      });
    });
  }

  get isApiServerUp(): boolean {
    return this.#api.isUp;
  }

  /** A client whose calls take no time of their own and meet no faults; whoever awaits one must let time pass. */
  clientOf(user: UserInfo): Client & { readonly transport: Transport } {
    const handle = (request: ApiRequest) => {
      const handler = this.#api.handler;
      if (!handler) throw new ConnectionError('connect ECONNREFUSED', { code: 'ECONNREFUSED', neverSent: true });
      return handler(request);
    };
    const transport = inProcessTransport({ handle: async (request) => handle(request), clock: this.clock, user });
    return Object.assign(createClient(transport), { transport });
  }

  /** Runs something of the caller's own beside the components, as this user: a controller that is to be tested. */
  run(name: string, user: UserInfo, start: (context: ComponentContext) => Promise<void>): SimulatedProcess {
    const process = this.#addComponent(name, user, (context) => start(context));
    process.start();
    return process;
  }

  async close(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    for (const process of this.#processes()) process.crash(Number.POSITIVE_INFINITY);
    this.#api.crash();
    this.history.close();
    await this.clock.advance(0);
    await this.store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #processes(): readonly SimulatedProcess[] {
    return [...this.#components.values(), ...[...this.#nodes.values()].map((node) => node.kubelet)];
  }

  #processOptions(): Omit<ProcessOptions, 'name' | 'user' | 'run'> {
    const { clock, seed } = this;
    return {
      seed,
      clock,
      log: this.#log,
      server: () => this.#api.handler,
      adversary: this.#adversary,
      delayMs: this.#options.messageDelayMs ?? defaultDelayMs,
      onLostAnswer: ({ method, path }) => {
        if (method !== 'GET') this.lostAnswers.push({ atMs: clock.now(), method, path });
      },
      onFailure: (failure) => this.failures.push(failure),
    };
  }

  #addComponent(name: string, user: UserInfo, run: ProcessOptions['run']): SimulatedProcess {
    const process = new SimulatedProcess({ ...this.#processOptions(), name, user, run });
    this.#components.set(name, process);
    return process;
  }

  #controllerSurroundings(clientOf: (user: UserInfo) => Client): ControllerSurroundings {
    const { authority, legacyTokens } = this.#api;
    return {
      rootCA: authority.certificatePem,
      certificateAuthority: authority,
      signers: undefined,
      nodeIpam: { clusterCidrs, serviceCidrs },
      legacyTokens,
      clientOf: (account) => clientOf(controllerUser(account)),
      isOnlyApiServer: true,
    };
  }

  /** The same, letting time pass while the caller waits. */
  #driven(transport: Transport): Transport {
    const { clock } = this;
    return {
      send: (request) => clock.drive(transport.send(request)),
      async *stream(request) {
        const events = transport.stream(request)[Symbol.asyncIterator]();
        try {
          for (;;) {
            const { done, value } = await clock.drive(Promise.resolve(events.next()));
            if (done) return;
            yield value;
          }
        } finally {
          await clock.drive(Promise.resolve(events.return?.()));
        }
      },
      close: () => transport.close(),
    };
  }
}

function userOf(name: string, ...groups: readonly string[]): UserInfo {
  return { name, groups: [...groups, 'system:authenticated'] };
}

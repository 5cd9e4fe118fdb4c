/**
 * One seeded run: a small cluster, some workload, some minutes in which things are changed and things go wrong, then calm. Afterwards
 * everything must be as asked (`final-state.ts`), and at no moment may anything have been done that must not be (`watchdog.ts`).
 */

import { type Deployment, daemonSets, deployments, statefulSets } from '../../api/gen/apps-v1.ts';
import { jobs } from '../../api/gen/batch-v1.ts';
import type { ConfigMap, Node } from '../../api/gen/core-v1.ts';
import { configMaps, namespaces, nodes, pods, services } from '../../api/gen/core-v1.ts';
import { podDisruptionBudgets } from '../../api/gen/policy-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { between, chanceOf, oneOf } from '../chance.ts';
import type { Adversary } from '../link.ts';
import type { NodeOptions } from '../node/simulated-node.ts';
import { type Simulation, type SimulationOptions, simulate } from '../simulation.ts';
import { SeededAdversary, seededRates } from './adversary.ts';
import { problemsOf } from './final-state.ts';
import { Watchdog } from './watchdog.ts';
import { budget, daemonSet, deployment, job, service, statefulSet } from './workload.ts';

export interface SeedReport {
  readonly seed: number;
  /** Empty: the run was as it should be. */
  readonly problems: readonly string[];
  readonly digest: string;
  readonly virtualSeconds: number;
  readonly writes: number;
}

export interface SeedOptions extends Pick<SimulationOptions, 'controllerManager' | 'scheduler' | 'log'> {
  /** Beside the seeded faults: how a test plants a bug. Its faults do not end. */
  readonly mutation?: Adversary | undefined;
  /** Told what happens, for the eyes of whoever replays a seed. */
  readonly tell?: ((atMs: number, what: string) => void) | undefined;
}

const stormMs = 6 * 60_000;
/** Containers that crashed over and over wait up to five minutes, and so do some queues. */
const calmMs = 30 * 60_000;
const lookEveryMs = 10_000;
/** Several times the 40 s after which a node counts as silent. */
const stayWellMs = 180_000;
const administrator = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

export async function runSeed(seed: number, options: SeedOptions = {}): Promise<SeedReport> {
  const random = chanceOf(seed, 'run');
  const adversary = new SeededAdversary(chanceOf(seed, 'faults of messages'), seededRates(random));
  await using cluster = await simulate({
    seed,
    nodes: seededNodes(random),
    controllerManager: options.controllerManager,
    scheduler: options.scheduler,
    log: options.log,
    adversary: options.mutation ? joined(adversary, options.mutation) : adversary,
  });
  const watchdog = new Watchdog(cluster);
  const run = new SeedRun(cluster, random, options);
  const problems: string[] = [];
  try {
    await run.prepare();
    await run.storm();
    adversary.stop();
    run.calm();
    watchdog.calm();
    problems.push(...(await settled(cluster)), ...(await run.unkept()));
  } catch (error) {
    problems.push(`the run failed: ${error instanceof Error ? error.stack : String(error)}`);
  }
  problems.push(...watchdog.violations, ...cluster.failures);
  return {
    seed,
    problems,
    digest: cluster.history.digest(),
    virtualSeconds: cluster.clock.monotonic() / 1000,
    writes: cluster.history.changes,
  };
}

/** What is still wrong when patience is over. All must be well for a while: what flaps has not arrived. */
async function settled(cluster: Simulation): Promise<readonly string[]> {
  const limitMs = cluster.nowMs() + calmMs;
  let wellSinceMs: number | undefined;
  for (;;) {
    await cluster.advance(lookEveryMs);
    const problems = await problemsOf(cluster);
    const nowMs = cluster.nowMs();
    wellSinceMs = problems.length > 0 ? undefined : (wellSinceMs ?? nowMs);
    if (wellSinceMs !== undefined && nowMs - wellSinceMs >= stayWellMs) return [];
    if (nowMs >= limitMs) return problems.length > 0 ? problems : ['the cluster was well by moments only'];
  }
}

function seededNodes(random: Random): readonly NodeOptions[] {
  const zones = 1 + Math.floor(random.next() * 3);
  const count = 3 + Math.floor(random.next() * 4);
  return Array.from({ length: count }, (_, index) => ({
    zone: `zone-${index % zones}`,
    cpus: 1 + Math.floor(random.next() * 3),
    clockSkewMs: random.next() < 0.2 ? between(random, -30_000, 30_000) : 0,
  }));
}

/** The mutation's word counts. */
function joined(adversary: Adversary, mutation: Adversary): Adversary {
  return {
    call: (request, component) => mutation.call?.(request, component) ?? adversary.call?.(request, component),
    watch: (request, component, batch) =>
      mutation.watch?.(request, component, batch) ?? adversary.watch?.(request, component, batch),
    replace: (request, component) => mutation.replace?.(request, component),
  };
}

class SeedRun {
  readonly #cluster: Simulation;
  readonly #random: Random;
  readonly #options: SeedOptions;
  /** The newest number that each ConfigMap was acknowledged to hold. */
  readonly #acknowledged = new Map<string, number>();
  readonly #held = new Map<string, number>();
  #isCalm = false;
  /** What was acknowledged to be the size of the Deployment `web`; undefined: that it is deleted. */
  wishedReplicas: number | undefined;
  /** Of each of its Pods: the larger one fills small nodes. */
  readonly webCpu: string;
  #versions = 1;
  #jobs = 0;

  constructor(cluster: Simulation, random: Random, options: SeedOptions) {
    this.#cluster = cluster;
    this.#random = random;
    this.#options = options;
    this.webCpu = random.next() < 0.5 ? '100m' : '400m';
    cluster.history.onChange(({ key, value }) => {
      const number = Number((value as ConfigMap | undefined)?.data?.number);
      if (key.startsWith('/registry/configmaps/default/ledger-')) this.#held.set(key.split('/').at(-1)!, number);
    });
  }

  async prepare(): Promise<void> {
    const { client } = this.#cluster;
    const random = this.#random;
    const replicas = 1 + Math.floor(random.next() * 5);
    await client.create(deployments, deployment('web', replicas, { cpu: this.webCpu }));
    this.wishedReplicas = replicas;
    await client.create(services, service('web'));
    if (random.next() < 0.5) await client.create(podDisruptionBudgets, budget('web', 1));
    if (random.next() < 0.5) await client.create(statefulSets, statefulSet('db', 1 + Math.floor(random.next() * 3)));
    if (random.next() < 0.5) await client.create(daemonSets, daemonSet('agent'));
    if (random.next() < 0.5) await this.#addJob(client);
    for (const name of ['writer-1', 'writer-2'])
      this.#cluster.run(name, administrator, (context) => this.#keepLedger(context, name));
  }

  /** Things are changed and things go wrong, for some minutes. */
  async storm(): Promise<void> {
    const cluster = this.#cluster;
    const random = this.#random;
    const untilMs = cluster.nowMs() + stormMs;
    while (cluster.nowMs() < untilMs) {
      await cluster.advance(between(random, 500, 30_000));
      const step = random.next() < 0.5 ? oneOf(random, accidents) : oneOf(random, wishes);
      this.#options.tell?.(cluster.clock.monotonic(), step.name);
      await step(this, random);
    }
  }

  /** All that was broken is mended; what was asked stays asked. */
  calm(): void {
    this.#isCalm = true;
    for (const node of this.#cluster.nodes.values()) {
      node.clockSkewMs = 0;
      node.mendNetwork();
      node.setProblem('');
      node.powerOn();
    }
    this.#cluster.component('kube-controller-manager').mend();
    this.#cluster.component('kube-scheduler').mend();
  }

  /** Acknowledged writes that are not there, and wishes that were forgotten. */
  async unkept(): Promise<readonly string[]> {
    const lost = [...this.#acknowledged]
      .filter(([name, number]) => (this.#held.get(name) ?? -1) < number)
      .map(([name, number]) => `${name} was acknowledged to hold ${number} and holds ${this.#held.get(name)}`);
    const [web] = (await this.#cluster.stored<Deployment>('deployments')).filter(
      ({ metadata }) => metadata.name === 'web',
    );
    const replicas = web?.spec?.replicas;
    if (replicas !== this.wishedReplicas)
      lost.push(`deployment web asks for ${replicas} replicas, and was told to ask for ${this.wishedReplicas}`);
    return lost;
  }

  get cluster(): Simulation {
    return this.#cluster;
  }

  get isCalm(): boolean {
    return this.#isCalm;
  }

  /** As the administrator, unless the server is down; what has gone meanwhile is no matter. */
  async ask(call: (client: Client) => Promise<unknown>): Promise<void> {
    if (!this.#cluster.isApiServerUp) return;
    await call(this.#cluster.client).catch((error: unknown) => {
      const { code = 0 } = (error ?? {}) as { readonly code?: number };
      if (!isNotFound(error) && code !== 429 && code !== 409) throw error;
    });
  }

  nextVersion(): string {
    return String(++this.#versions);
  }

  addJob(): Promise<void> {
    return this.ask((client) => this.#addJob(client));
  }

  async #addJob(client: Client): Promise<void> {
    const random = this.#random;
    await client.create(
      jobs,
      job(`sum-${this.#jobs++}`, 1 + Math.floor(random.next() * 5), 1 + Math.floor(random.next() * 3)),
    );
  }

  /** Writes rising numbers through a link with faults, and remembers which were acknowledged. */
  async #keepLedger({ client, clock, random, signal }: ComponentContext, writer: string): Promise<void> {
    const name = `ledger-${writer}`;
    for (let number = (this.#held.get(name) ?? 0) + 1; !signal.aborted && !this.#isCalm; number++) {
      const object: ConfigMap = { metadata: { name, namespace: 'default' }, data: { number: String(number) } };
      const write = number === 1 ? client.create(configMaps, object) : client.update(configMaps, object);
      await write.then(
        () => this.#acknowledged.set(name, Math.max(number, this.#acknowledged.get(name) ?? 0)),
        (error: unknown) => (isNotFound(error) ? client.create(configMaps, object).catch(() => undefined) : undefined),
      );
      await sleep(clock, between(random, 1000, 10_000), signal).catch(() => undefined);
    }
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
}

type Step = (run: SeedRun, random: Random) => Promise<void> | void;

const anyNode = ({ cluster }: SeedRun, random: Random) => oneOf(random, [...cluster.nodes.values()]);
const outageMs = [1000, 150_000] as const;

/** What goes wrong, beside single messages. */
const accidents: readonly Step[] = [
  function nodeLosesPower(run, random) {
    const node = anyNode(run, random);
    node.powerOff();
    run.cluster.after(between(random, ...outageMs), () => node.powerOn());
  },
  function nodeIsCutOff(run, random) {
    const node = anyNode(run, random);
    node.cutNetwork();
    run.cluster.after(between(random, ...outageMs), () => node.mendNetwork());
  },
  function zoneIsCutOff(run, random) {
    const { zone } = anyNode(run, random);
    const members = [...run.cluster.nodes.values()].filter((node) => node.zone === zone);
    for (const node of members) node.cutNetwork();
    run.cluster.after(between(random, ...outageMs), () => {
      for (const node of members) node.mendNetwork();
    });
  },
  function runtimeFails(run, random) {
    const node = anyNode(run, random);
    node.setProblem('container runtime is down');
    run.cluster.after(between(random, ...outageMs), () => node.setProblem(''));
  },
  function clockJumps(run, random) {
    anyNode(run, random).clockSkewMs = between(random, -60_000, 60_000);
  },
  function kubeletEnds(run, random) {
    anyNode(run, random).crashKubelet(between(random, 100, 20_000));
  },
  function controllersEnd({ cluster }, random) {
    cluster.component('kube-controller-manager').crash(between(random, 100, 20_000));
  },
  function schedulerEnds({ cluster }, random) {
    cluster.component('kube-scheduler').crash(between(random, 100, 20_000));
  },
  function controllersAreCutOff({ cluster }, random) {
    const manager = cluster.component('kube-controller-manager');
    manager.cut();
    cluster.after(between(random, 1000, 60_000), () => manager.mend());
  },
  function apiServerEnds({ cluster }, random) {
    cluster.crashApiServer(between(random, 100, 30_000));
  },
];

const inDefault = (name: string) => ({ namespace: 'default', name });

/** What people do meanwhile. */
const wishes: readonly Step[] = [
  function scaleWeb(run, random) {
    const replicas = Math.floor(random.next() * 6);
    return run.ask(async (client) => {
      await client.patch(deployments, inDefault('web'), { type: 'merge', body: { spec: { replicas } } });
      // One that is on its way out goes with its size.
      if (run.wishedReplicas !== undefined) run.wishedReplicas = replicas;
    });
  },
  function rollWeb(run) {
    const containers = [{ name: 'main', image: `example/web:${run.nextVersion()}` }];
    const body = { spec: { template: { spec: { containers } } } };
    return run.ask((client) => client.patch(deployments, inDefault('web'), { type: 'strategic', body }));
  },
  function scaleDb(run, random) {
    const replicas = Math.floor(random.next() * 4);
    return run.ask((client) =>
      client.patch(statefulSets, inDefault('db'), { type: 'merge', body: { spec: { replicas } } }),
    );
  },
  function rollAgent(run) {
    const containers = [{ name: 'main', image: `example/agent:${run.nextVersion()}` }];
    const body = { spec: { template: { spec: { containers } } } };
    return run.ask((client) => client.patch(daemonSets, inDefault('agent'), { type: 'strategic', body }));
  },
  function startJob(run) {
    return run.addJob();
  },
  async function makeWebAnew(run, random) {
    const propagationPolicy = oneOf(random, ['Background', 'Foreground', 'Orphan'] as const);
    await run.ask(async (client) => {
      await client.delete(deployments, inDefault('web'), { propagationPolicy });
      run.wishedReplicas = undefined;
    });
    if (propagationPolicy === 'Foreground') await run.cluster.advance(between(random, 100, 60_000));
    const replicas = 1 + Math.floor(random.next() * 4);
    while (!run.cluster.isApiServerUp) await run.cluster.advance(1000);
    await run.ask(async (client) => {
      await client.create(deployments, deployment('web', replicas, { cpu: run.webCpu }));
      run.wishedReplicas = replicas;
    });
  },
  async function deletePod(run, random) {
    await run.ask(async (client) => {
      const { items } = await client.list(pods, { namespace: 'default' });
      if (items.length === 0) return;
      await client.delete(pods, inDefault(oneOf(random, items).metadata.name ?? ''));
    });
  },
  async function evictPod(run, random) {
    await run.ask(async (client) => {
      const { items } = await client.list(pods, { namespace: 'default', labelSelector: 'app=web' });
      if (items.length === 0) return;
      const { name = '' } = oneOf(random, items).metadata;
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: inDefault(name) };
      await client.createSubresource(pods, inDefault(name), 'eviction', eviction);
    });
  },
  async function cordonForAWhile(run, random) {
    const { name } = anyNode(run, random);
    const body = (unschedulable: boolean | null) => ({ type: 'merge' as const, body: { spec: { unschedulable } } });
    await run.ask((client) => client.patch(nodes, { name }, body(true)));
    await run.cluster.advance(between(random, 1000, 30_000));
    while (!run.cluster.isApiServerUp) await run.cluster.advance(1000);
    await run.ask((client) => client.patch(nodes, { name }, body(null)));
  },
  async function removeNode(run, random) {
    const node = anyNode(run, random);
    node.powerOff();
    await run.ask((client) => client.delete(nodes, { name: node.name }));
    run.cluster.after(between(random, 1000, 60_000), () => node.powerOn());
  },
  async function meddle(run, random) {
    await run.ask(async (client) => {
      const { items } = await client.list<Node>(nodes);
      const body = { metadata: { annotations: { meddled: String(random.next()) } } };
      for (const { metadata } of items)
        await client.patch(nodes, { name: metadata.name ?? '' }, { type: 'merge', body });
    });
  },
  async function makeNamespaceAndDeleteIt(run, random) {
    const name = `short-${run.nextVersion()}`;
    await run.ask(async (client) => {
      await client.create(namespaces, { metadata: { name }, spec: {} });
      const made = deployment('brief', 2);
      await client.create(deployments, { ...made, metadata: { name: 'brief', namespace: name } });
    });
    await run.cluster.advance(between(random, 100, 20_000));
    while (!run.cluster.isApiServerUp) await run.cluster.advance(1000);
    await run.ask((client) => client.delete(namespaces, { name }));
  },
];

/**
 * The kubelet of a simulated node, hollow as upstream calls it and light enough for thousands: registers the Node, renews its Lease every ten seconds, posts the Node's status
 * every five minutes and as soon as somebody says something else of it, runs the Pods bound to it, writes their statuses and removes
 * those that have ended. Registration, Lease, status, admission and the writing of Pod statuses are the real kubelet's code.
 *
 * Left out: images, volumes, probes (scripts say when a Pod is ready), events, the kubelet's own server.
 */
import { isPodTerminal, isPodTerminating } from '../../api/core/v1/pod-status.ts';
import { type Node, nodes, type Pod, type PodStatus, pods } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep, sleeper } from '../../base/clock.ts';
import { jitter } from '../../base/random.ts';
import type { KubeletConfiguration } from '../../kubelet/configuration.ts';
import type { MachineFacts, NodeHost } from '../../kubelet/host/host.ts';
import { keepNodeLease } from '../../kubelet/node/node-lease.ts';
import { nodeStatusPatch } from '../../kubelet/node/node-reporter.ts';
import { nodeStatus } from '../../kubelet/node/node-status.ts';
import { newNode, registerNode } from '../../kubelet/node/registration.ts';
import { rejectionOf, rememberedRequests } from '../../kubelet/pods/admission.ts';
import { StatusWriter, targetOf } from '../../kubelet/pods/status-writer.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { PodRun } from './pod-run.ts';
import type { SimulatedMachine } from './simulated-machine.ts';

export interface HollowKubeletOptions {
  readonly nodeName: string;
  readonly configuration: KubeletConfiguration;
  readonly host: NodeHost;
  readonly machine: SimulatedMachine;
}

const retryStatusMs = 10_000;
const defaultGraceSeconds = 30;

/** Runs until the context's signal is aborted. */
export async function runHollowKubelet(context: ComponentContext, options: HollowKubeletOptions): Promise<void> {
  const { nodeName, configuration, host } = options;
  const { client, clock, random, log, signal } = context;
  const facts = await host.facts();
  await registerNode(newNode({ nodeName, hostname: nodeName }, { configuration, facts }), {
    client,
    clock,
    log,
    signal,
  });
  const lease = { client, clock, random, log, signal, nodeName };
  const reporter = new Reporter(context, options, facts);
  const follower = new PodFollower(context, options, reporter);
  await Promise.all([
    keepNodeLease({ ...lease, leaseDurationSeconds: configuration.nodeLeaseDurationSeconds }),
    reporter.run(),
    follower.run(),
  ]);
}

/** Keeps the Node's status. */
class Reporter {
  readonly #context: ComponentContext;
  readonly #options: HollowKubeletOptions;
  readonly #facts: MachineFacts;
  readonly #own;
  #wake: (() => void) | undefined;

  constructor(context: ComponentContext, options: HollowKubeletOptions, facts: MachineFacts) {
    this.#context = context;
    this.#options = options;
    this.#facts = facts;
    this.#own = context.informers.of(nodes, { fieldSelector: `metadata.name=${options.nodeName}` });
    this.#own.onChange({ updated: (node) => this.#heard(node) });
  }

  get node(): Node | undefined {
    return this.#own.get(this.#options.nodeName);
  }

  async run(): Promise<void> {
    const { clock, random, log, signal } = this.#context;
    const { nodeStatusReportFrequencyMs, nodeStatusUpdateFrequencyMs } = this.#options.configuration;
    const untilNextLook = sleeper(clock, signal);
    let pauseMs = 0;
    while (!signal.aborted) {
      if (pauseMs > 0) await this.#pause(pauseMs);
      if (signal.aborted) return;
      try {
        await this.#report();
        pauseMs = jitter(random, nodeStatusReportFrequencyMs, 0.04);
      } catch (error) {
        if (signal.aborted) return;
        log.warn('unable to update node status, will retry', { error: messageOf(error) });
        pauseMs = retryStatusMs;
      }
      // Whatever others say of the Node is seen at the next of the kubelet's regular looks.
      if (!signal.aborted) await untilNextLook(jitter(random, nodeStatusUpdateFrequencyMs / 2, 1)).catch(() => {});
    }
  }

  async #report(): Promise<void> {
    const { client, clock, signal } = this.#context;
    const { nodeName, configuration, host } = this.#options;
    const current = this.node ?? (await client.get(nodes, { name: nodeName }, { signal }));
    const status = nodeStatus({
      configuration,
      facts: this.#facts,
      runtime: { runtimeName: 'simulated', runtimeVersion: '1.0.0', apiVersion: 'v1' },
      handlers: [],
      supplementalGroupsPolicy: false,
      images: [],
      hostname: nodeName,
      addresses: host.addresses(),
      kubeletVersion: 'v1.36.0',
      problems: this.#options.machine.problem ? [this.#options.machine.problem] : [],
      pressures: new Set(),
      volumesInUse: [],
      before: current.status,
      nowMs: clock.now(),
    });
    const body = { metadata: { uid: current.metadata.uid }, status: nodeStatusPatch(current.status, status) };
    await client.patch(nodes, { name: nodeName }, { type: 'strategic', body }, { subresource: 'status', signal });
  }

  /** The condition is another than ours: somebody took us for dead. */
  #heard(node: Node): void {
    const ready = findCondition(node.status?.conditions, 'Ready')?.status;
    if (ready !== undefined && ready !== (this.#options.machine.problem ? 'False' : 'True')) this.#wake?.();
  }

  reportNow(): void {
    this.#wake?.();
  }

  async #pause(ms: number): Promise<void> {
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    const { clock, signal } = this.#context;
    const stop = () => waking.abort();
    signal.addEventListener('abort', stop, { once: true });
    await sleep(clock, ms, waking.signal).catch(() => undefined);
    signal.removeEventListener('abort', stop);
    this.#wake = undefined;
  }
}

/** Makes what runs on the machine follow what is bound to the node. */
class PodFollower {
  readonly #context: ComponentContext;
  readonly #options: HollowKubeletOptions;
  readonly #reporter: Reporter;
  readonly #statuses: StatusWriter;
  readonly #requestsOf = rememberedRequests();

  constructor(context: ComponentContext, options: HollowKubeletOptions, reporter: Reporter) {
    this.#context = context;
    this.#options = options;
    this.#reporter = reporter;
    const { client, clock, log, signal } = context;
    this.#statuses = new StatusWriter({ client, clock, log, signal });
  }

  async run(): Promise<void> {
    const { informers, signal } = this.#context;
    const { machine, nodeName } = this.#options;
    const bound = informers.of(pods, { fieldSelector: `spec.nodeName=${nodeName}` });
    await bound.whenSynced(signal);
    machine.onProblem = () => this.#reporter.reportNow();
    machine.onChange = (run) => this.#tell(run);
    for (const uid of machine.unknownTo(bound.list())) machine.remove(uid);
    bound.onChange({
      added: (pod) => this.#follow(pod),
      updated: (pod) => this.#follow(pod),
      deleted: (pod) => {
        machine.remove(pod.metadata.uid ?? '');
        this.#statuses.forget(pod.metadata.uid ?? '');
      },
    });
    signal.addEventListener(
      'abort',
      () => {
        machine.onChange = undefined;
        machine.onProblem = undefined;
      },
      { once: true },
    );
  }

  #follow(pod: Pod): void {
    const { machine } = this.#options;
    let run = machine.run(pod.metadata.uid ?? '');
    if (!run) {
      if (isPodTerminating(pod)) return this.#statuses.finish(targetOf(pod));
      if (isPodTerminal(pod)) return;
      const node = this.#reporter.node;
      const rejection = node && rejectionOf(pod, machine.pods(), { node, requestsOf: this.#requestsOf });
      if (rejection) return this.#reject(pod, rejection);
      run = machine.start(pod, node?.spec?.podCIDR);
      // What a kubelet before this one did not get to say.
      this.#tell(run);
    } else {
      run.pod = pod;
      run.revive();
      // Whatever others wrote into its status is put right.
      if (!this.#statuses.hasWritten(pod.metadata.uid ?? '', pod.metadata.resourceVersion)) this.#tell(run);
    }
    if (!isPodTerminating(pod)) return;
    if (run.isOver) return this.#tell(run);
    run.stop((pod.metadata.deletionGracePeriodSeconds ?? defaultGraceSeconds) * 1000);
  }

  #tell(run: PodRun): void {
    const { pod } = run;
    this.#statuses.set(targetOf(pod), run.status(), pod);
    if (isPodTerminating(pod) && run.isOver) this.#statuses.finish(targetOf(pod));
  }

  #reject(pod: Pod, { reason, message }: { readonly reason: string; readonly message: string }): void {
    const status: PodStatus = { ...pod.status, phase: 'Failed', reason, message: `Pod was rejected: ${message}` };
    this.#statuses.set(targetOf(pod), status, pod);
  }
}

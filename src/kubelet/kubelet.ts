/**
 * The kubelet: makes its machine a Node, runs the Pods that are bound to it and tells the API server how they fare. It knows the
 * cluster only through its client, and the machine only through a `ContainerRuntime` and a `NodeHost`; what runs keeps running
 * while the API server is away, and when the kubelet itself ends.
 *
 * Length: this is where the kubelet's parts are joined, and each has a few lines here that say what it gets.
 */
import { isMirrorPod } from '../api/core/v1/mirror-pod.ts';
import { type Node, nodes, type Pod, pods, services as serviceType } from '../api/gen/core-v1.ts';
import { messageOf, notFound } from '../apimachinery/status.ts';
import { type CauseList, subjectOf } from '../reconcile/causes.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { isGateOn } from '../serving/feature-gates.ts';
import { defaultConfiguration, type KubeletConfiguration } from './configuration.ts';
import { NodeCsi } from './csi/node-csi.ts';
import type { NodeDevices } from './devices/node-devices.ts';
import { DynamicResources } from './dynamic-resources/dynamic-resources.ts';
import type { MachineFacts, NodeHost } from './host/host.ts';
import type { CredentialProvider } from './images/credential-provider-settings.ts';
import { CredentialProviders, type RunProvider } from './images/credential-providers.ts';
import { ImagePuller } from './images/image-puller.ts';
import { type NodeCredentialFiles, NodeCredentials } from './images/node-credentials.ts';
import { KeyedBackoff } from './keyed-backoff.ts';
import { type KnownAtStart, knownAtStart } from './known-at-start.ts';
import type { LogOptions } from './logs/container-log.ts';
import { podLog } from './logs/pod-logs.ts';
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import { measuredRuntime } from './metrics/measured-runtime.ts';
import { keepNodeLease } from './node/node-lease.ts';
import { NodeReporter } from './node/node-reporter.ts';
import { newNode, registerNode } from './node/registration.ts';
import { NodeCare, type NodeCareCounts } from './node-care.ts';
import { openNodeSockets } from './node-sockets.ts';
import { LifecycleWatch } from './pods/lifecycle-watch.ts';
import { removeOrphans } from './pods/orphans.ts';
import type { PodServices } from './pods/pod-services.ts';
import type { PodWorker } from './pods/pod-worker.ts';
import { byAge, PodWorkers } from './pods/pod-workers.ts';
import { StaticPods } from './pods/static-pods.ts';
import { StatusWriter } from './pods/status-writer.ts';
import { SysctlRules } from './pods/sysctls.ts';
import { Prober } from './probes/prober.ts';
import type { Allocations } from './resize/allocations.ts';
import type { NodeResources } from './resource-managers/node-resources.ts';
import { keepPlacement } from './resource-managers/placement-loop.ts';
import type { ContainerRuntime, RuntimeVersion } from './runtime/runtime.ts';
import { PodCertificates } from './volumes/pod-certificates.ts';
import { ReferencedObjects } from './volumes/referenced-objects.ts';
import { ServiceAccountTokens } from './volumes/service-account-tokens.ts';
import { TrustBundles } from './volumes/trust-bundles.ts';
import type { VolumeSources } from './volumes/volume-sources.ts';

export interface KubeletOptions {
  readonly nodeName: string;
  /** As the machine calls itself; default: the node's name. */
  readonly hostname?: string | undefined;
  readonly runtime: ContainerRuntime;
  readonly host: NodeHost;
  readonly configuration?: Partial<KubeletConfiguration> | undefined;
  /** Upstream's version that is told to users. */
  readonly version?: string | undefined;
  /**
   * Keep a watch open for each ConfigMap and Secret in use, and for all Services. Simulated nodes do without: they ask once a minute,
   * and give containers no variables for Services.
   */
  readonly watches?: boolean | undefined;
  /** Evict Pods when memory, disk or process ids run short; default true. Simulated machines do not run short. */
  readonly evicts?: boolean | undefined;
  /** Files with the node's own credentials for images. */
  readonly nodeCredentials?: NodeCredentialFiles | undefined;
  /** Programs that give credentials for images. */
  readonly credentialProviders?:
    | {
        readonly providers: readonly CredentialProvider[];
        readonly run: RunProvider;
        /** Of the files that name them. */
        readonly configHash?: string | undefined;
      }
    | undefined;
}

/** A running kubelet, as its server and its tests see it. */
export interface Kubelet {
  readonly nodeName: string;
  readonly configuration: KubeletConfiguration;
  readonly runtime: ContainerRuntime;
  readonly host: NodeHost;
  readonly workers: PodWorkers;
  /** The Node as it was last posted. */
  readonly node: Node | undefined;
  /** Whether the Node is Ready. */
  readonly isReady: boolean;
  /** Why the kubelet makes no progress, or undefined when it does: what its health check tells. */
  problem(): string | undefined;
  /** Why plugins of devices cannot register; undefined when they can, or need not. */
  readonly deviceProblem: string | undefined;
  /** Absent where there can be no CSI drivers. */
  readonly csi: NodeCsi | undefined;
  /** Absent where there can be no drivers of claimed devices. */
  readonly dynamicResources: DynamicResources | undefined;
  /** What holds Pods up that are to start or to end here. */
  causes(): CauseList;
  /** What it counts and times of its own work. */
  readonly metrics: KubeletMetrics;
  /** What was evicted and collected so far, and when the last shutdown began and ended. */
  readonly counts: NodeCareCounts;
  /** All Pods of this node with their newest status. */
  pods(): readonly Pod[];
  pod(namespace: string, name: string): Pod | undefined;
  worker(namespace: string, name: string): PodWorker | undefined;
  /** The newest running container of that name. */
  runningContainer(namespace: string, name: string, container: string): string | undefined;
  /** The sandbox that ports are forwarded to. */
  readySandbox(namespace: string, name: string): string | undefined;
  /** Bytes of a container's log. Throws a `StatusError` in upstream's words when there is none. */
  containerLog(
    pod: { readonly namespace: string; readonly name: string },
    container: string,
    options?: LogOptions & { readonly signal?: AbortSignal | undefined },
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Resolves when the context's signal is aborted and all loops have ended. Containers go on. */
  readonly done: Promise<void>;
}

const stalePlegMs = 180_000;

/** Resolves once runtime and machine are known; registration and everything after it go on in the background. */
export async function startKubelet(context: ComponentContext, options: KubeletOptions): Promise<Kubelet> {
  const configuration = { ...defaultConfiguration, ...options.configuration };
  return new RunningKubelet(context, options, await knownAtStart(context, { ...options, configuration }));
}

class RunningKubelet implements Kubelet {
  readonly nodeName: string;
  readonly configuration: KubeletConfiguration;
  readonly runtime: ContainerRuntime;
  readonly metrics: KubeletMetrics;
  readonly host: NodeHost;
  readonly workers: PodWorkers;
  readonly done: Promise<void>;
  readonly dynamicResources: DynamicResources | undefined;
  readonly #context: ComponentContext;
  readonly #facts: MachineFacts;
  readonly #hostname: string;
  readonly #reporter: NodeReporter;
  readonly #care: NodeCare;
  readonly #devices: NodeDevices | undefined;
  readonly #resources: NodeResources | undefined;
  readonly #allocations: Allocations;
  readonly #known: KnownAtStart;
  readonly #lifecycle: LifecycleWatch;
  readonly #static: StaticPods;
  readonly #tokens: ServiceAccountTokens;
  readonly #csi: NodeCsi | undefined;
  deviceProblem: string | undefined;

  constructor(context: ComponentContext, options: KubeletOptions, known: KnownAtStart) {
    const { facts, version, devices, resources, allocations } = known;
    this.#context = context;
    this.#facts = facts;
    this.#devices = devices;
    this.#resources = resources;
    this.#allocations = allocations;
    this.#known = known;
    this.nodeName = options.nodeName;
    this.#hostname = options.hostname ?? options.nodeName;
    this.metrics = known.metrics;
    const { configHash: hash } = options.credentialProviders ?? {};
    if (hash) this.metrics.show('credential_provider_config_info', { hash });
    // Simulated nodes call a runtime of their own process, thousands of them.
    this.runtime =
      (options.watches ?? true)
        ? measuredRuntime(options.runtime, { clock: context.clock, metrics: this.metrics })
        : options.runtime;
    this.host = options.host;
    this.configuration = { ...defaultConfiguration, ...options.configuration };
    const { clock, log, signal } = context;
    const recorder = context.eventRecorder('kubelet', this.nodeName);
    this.#reporter = this.#nodeReporter(options, recorder, version);
    const statuses = new StatusWriter(pick(context));
    this.#care = this.#nodeCare(options, { recorder, statuses });
    this.#tokens = new ServiceAccountTokens(pick(context));
    this.#csi = this.#nodeCsi(recorder);
    this.dynamicResources = this.#dynamicResources();
    const services = this.#podServices(options, { version, recorder, statuses });
    this.#static = new StaticPods({
      ...pick(context),
      nodeName: this.nodeName,
      host: this.host,
      path: this.configuration.staticPodPath,
      checkMs: this.configuration.fileCheckFrequencyMs,
      node: () => this.#reporter.node,
    });
    const sysctls = new SysctlRules(this.configuration.allowedUnsafeSysctls, facts.kernelVersion);
    this.workers = new PodWorkers({
      services,
      signal,
      node: () => this.#nodeForAdmission(),
      statusTarget: (pod) => this.#static.statusTarget(pod),
      refuse: (pod) => this.#care.refusal(pod) ?? sysctls.rejection(pod),
    });
    this.#lifecycle = new LifecycleWatch({
      runtime: this.runtime,
      clock,
      log,
      signal,
      metrics: this.metrics,
      eventedRelistMs: (options.watches ?? true) ? 30_000 : 300_000,
      isActive: () => this.workers.isActive,
      onChange: (uid) => this.workers.wake(uid),
      onSeen: (seen) => this.workers.adoptUnknown(seen),
    });
    devices?.listen({
      onCapacity: () => this.#reporter.reportSoon(),
      onHealth: (uids) => uids.forEach((uid) => void this.workers.wake(uid)),
    });
    this.done = this.#run();
  }

  get node(): Node | undefined {
    return this.#reporter.node;
  }

  get isReady(): boolean {
    return this.#reporter.isReady;
  }

  problem(): string | undefined {
    return this.#problems()[0];
  }

  get csi(): NodeCsi | undefined {
    return this.#csi;
  }

  causes(): CauseList {
    return this.#context.causes.toList();
  }

  get counts(): NodeCareCounts {
    return this.#care.counts;
  }

  pods(): readonly Pod[] {
    return this.workers.all().map(withStatus);
  }

  pod(namespace: string, name: string): Pod | undefined {
    const worker = this.workers.byName(namespace, name);
    return worker && withStatus(worker);
  }

  worker(namespace: string, name: string): PodWorker | undefined {
    return this.workers.byName(namespace, name);
  }

  runningContainer(namespace: string, name: string, container: string): string | undefined {
    const observed = this.workers.byName(namespace, name)?.observed;
    return observed?.containers.find((one) => one.name === container && one.state === 'running')?.id;
  }

  readySandbox(namespace: string, name: string): string | undefined {
    return this.workers.byName(namespace, name)?.observed.sandboxes.find(({ state }) => state === 'ready')?.id;
  }

  containerLog(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    container: string,
    { signal, ...options }: LogOptions & { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    const worker = this.workers.byName(namespace, name);
    if (!worker) return Promise.reject(notFound(pods, name));
    const context = { runtime: this.runtime, logs: this.host.logs, nowMs: this.#context.clock.now(), signal };
    return podLog(worker, container, options, context);
  }

  async #run(): Promise<void> {
    const { log, signal } = this.#context;
    const { configuration, nodeName } = this;
    this.#reporter.record('Normal', 'Starting', 'Starting kubelet.');
    const { workers } = this;
    const lease = { ...pick(this.#context), nodeName, leaseDurationSeconds: configuration.nodeLeaseDurationSeconds };
    // Static Pods run whether or not the API server is there to register with.
    const loops = [
      this.#register().then(() => Promise.all([this.#reporter.run(), keepNodeLease(lease), this.#csi?.run()])),
      this.#lifecycle.run(),
      this.#followPods(),
      this.#static.run(workers),
      this.#care.run(),
      this.#keepPlacement(),
      this.#followPlugins(),
      this.dynamicResources?.run(),
    ];
    for (const loop of loops) {
      loop?.catch((error) => {
        if (!signal.aborted) log.error('a loop of the kubelet ended', { error: messageOf(error) });
      });
    }
    await Promise.allSettled(loops);
  }

  async #keepPlacement(): Promise<void> {
    if (!this.#resources?.isActive) return;
    await keepPlacement({
      ...pick(this.#context),
      runtime: this.runtime,
      resources: this.#resources,
      periodMs: this.configuration.cpuManagerReconcilePeriodMs,
      hasPod: (uid) => this.workers.get(uid) !== undefined,
      isComplete: () => this.workers.sourcesReady,
    });
  }

  #followPlugins(): Promise<void> {
    return openNodeSockets({
      ...pick(this.#context),
      host: this.host,
      devices: this.#devices,
      dynamicResources: this.dynamicResources,
      resources: this.#resources,
      workers: this.workers,
      metrics: this.metrics,
      onDeviceProblem: (problem) => {
        this.deviceProblem = problem;
      },
      handlers: {
        ...(this.#csi ? { CSIPlugin: this.#csi.plugins } : {}),
        ...(this.dynamicResources ? { DRAPlugin: this.dynamicResources.plugins } : {}),
      },
    });
  }

  async #register(): Promise<void> {
    if (!this.configuration.registerNode) return;
    await registerNode(
      newNode(
        { nodeName: this.nodeName, hostname: this.#hostname },
        { configuration: this.configuration, facts: this.#facts },
      ),
      { ...pick(this.#context), forgetsDevices: this.#devices?.isNew },
    );
  }

  async #followPods(): Promise<void> {
    const { informers, signal } = this.#context;
    const informer = informers.of(pods, { fieldSelector: `spec.nodeName=${this.nodeName}` });
    await informer.whenSynced(signal);
    await this.#static.whenRead;
    await this.#csi?.restore();
    const isOwn = (pod: Pod) => !isMirrorPod(pod) && pod.spec.nodeName === this.nodeName;
    for (const pod of byAge(informer.list().filter(isOwn))) this.workers.add(pod);
    informer.onChange({
      added: (pod) => (isOwn(pod) ? this.workers.add(pod) : this.#static.onMirror(pod, this.workers)),
      updated: (pod) => (isOwn(pod) ? this.workers.add(pod) : this.#static.onMirror(pod, this.workers)),
      deleted: (pod) =>
        isOwn(pod) ? this.workers.remove(pod.metadata.uid ?? '') : this.#static.onMirrorGone(pod, this.workers),
    });
    this.workers.markSourcesReady();
    const hasPod = (uid: string) => this.workers.get(uid) !== undefined;
    this.#allocations.retain(hasPod);
    this.#resources?.retain(hasPod);
    await this.#lifecycle.relist().catch(() => undefined);
    await removeOrphans({
      ...pick(this.#context),
      host: this.host,
      csi: this.#csi,
      hasPod,
    });
    await this.#known.users.retain(hasPod);
  }

  #nodeReporter(options: KubeletOptions, recorder: ServiceParts['recorder'], version: RuntimeVersion): NodeReporter {
    const ownNode = this.#context.informers.of(nodes, { fieldSelector: `metadata.name=${this.nodeName}` });
    return new NodeReporter(
      {
        ...pick(this.#context),
        nodeName: this.nodeName,
        hostname: this.#hostname,
        configuration: this.configuration,
        runtime: this.runtime,
        host: this.host,
        recorder,
        kubeletVersion: options.version ?? 'v1.36.0',
        watched: () => ownNode.get(this.nodeName),
        problems: () =>
          [...this.#problems(), this.#care.problem, this.#csi?.problem].filter((problem) => problem !== undefined),
        volumesInUse: (before) => this.#csi?.inUse(before) ?? before,
        pressures: () => this.#care.pressures,
        devices: () => this.#devices?.capacity(),
        onReady: () => this.workers.wakeAll(),
      },
      this.#facts,
      version,
    );
  }

  #nodeCare(options: KubeletOptions, { recorder, statuses }: Pick<ServiceParts, 'recorder' | 'statuses'>): NodeCare {
    return new NodeCare({
      ...pick(this.#context),
      configuration: this.configuration,
      runtime: this.runtime,
      host: this.host,
      metrics: this.metrics,
      facts: this.#facts,
      workers: () => this.workers,
      statusWritten: (pod) => statuses.settled(this.#static.statusTarget(pod)?.uid ?? ''),
      onImages: async (images, nowMs) => this.#known.pulled?.prune(images, nowMs),
      evicts: options.evicts ?? true,
      nodeEvent: (type, reason, message) => this.#reporter.record(type, reason, message),
      podEvent: (pod, reason, message, annotations) =>
        recorder.record({ ...pod, apiVersion: 'v1', kind: 'Pod' }, 'Warning', reason, message, { annotations }),
      onStatus: () => this.#reporter.reportSoon(),
    });
  }

  #nodeCsi(recorder: ServiceParts['recorder']): NodeCsi | undefined {
    const folders = this.host.csiFolders;
    if (!folders) return undefined;
    return new NodeCsi({
      ...pick(this.#context),
      informers: this.#context.informers,
      nodeName: this.nodeName,
      folders,
      tokens: this.#tokens,
      recorder,
      republishMs: this.configuration.syncFrequencyMs,
      node: () => this.#reporter.node,
      reportNode: () => this.#reporter.report(),
      onChange: (uids) => (uids ? uids.forEach((uid) => void this.workers.wake(uid)) : this.workers.wakeAll()),
    });
  }

  #dynamicResources(): DynamicResources | undefined {
    const { claims } = this.#known;
    if (!claims) return undefined;
    return new DynamicResources({
      ...pick(this.#context),
      nodeName: this.nodeName,
      configuration: this.configuration,
      state: this.host.state,
      claims,
      isRegistered: () => this.#reporter.node !== undefined,
      holds: (uid) => {
        const stage = this.workers.get(uid)?.stage;
        return stage === undefined && !this.workers.sourcesReady
          ? undefined
          : stage === 'syncing' || stage === 'terminating';
      },
      onChange: (uids) => (uids ? uids.forEach((uid) => void this.workers.wake(uid)) : this.workers.wakeAll()),
    });
  }

  /** What Pods get of the cluster's trust bundles and signers, behind upstream's gates. */
  #trust(recorder: ServiceParts['recorder']): Pick<VolumeSources, 'trust' | 'certificates'> {
    const { informers } = this.#context;
    const { featureGates } = this.configuration;
    const wake = (uid: string) => void this.workers.wake(uid);
    const shared = { ...pick(this.#context), informers };
    const certificates = new PodCertificates({
      ...shared,
      enabled: isGateOn(featureGates, 'PodCertificateRequest'),
      nodeName: this.nodeName,
      node: () => this.#reporter.node,
      event: (pod, reason, message) =>
        recorder.record({ ...pod, apiVersion: 'v1', kind: 'Pod' }, 'Warning', reason, message),
      onChange: wake,
    });
    return {
      trust: new TrustBundles({
        ...shared,
        enabled: isGateOn(featureGates, 'ClusterTrustBundleProjection'),
        onChange: (uids) => uids.forEach(wake),
      }),
      certificates,
    };
  }

  #podServices(options: KubeletOptions, { version, recorder, statuses }: ServiceParts): PodServices {
    const { client, clock, informers, log, random, signal } = this.#context;
    const { configuration, runtime, host, metrics } = this;
    const watches = options.watches ?? true;
    const objects = new ReferencedObjects({
      client,
      clock,
      log,
      signal,
      watch: watches,
      onChange: (uids) => uids.forEach((uid) => void this.workers.wake(uid)),
    });
    const { credentialProviders, nodeCredentials } = options;
    const known = watches ? informers.of(serviceType) : undefined;
    return {
      nodeName: this.nodeName,
      configuration,
      clock,
      random,
      log,
      runtime,
      runtimeName: version.runtimeName,
      userNamespaces: this.#known.users,
      host,
      metrics,
      statuses,
      images: new ImagePuller({
        runtime,
        clock,
        maxParallelPulls: configuration.serializeImagePulls ? 1 : Math.max(1, configuration.maxParallelImagePulls),
        pulled: this.#known.pulled,
        node: nodeCredentials && new NodeCredentials({ files: nodeCredentials, clock, log }),
        providers:
          credentialProviders &&
          new CredentialProviders({ ...credentialProviders, client, tokens: this.#tokens, clock, log, metrics }),
        metrics,
      }),
      prober: new Prober(runtime, host.network),
      objects,
      volumeSources: { client, objects, tokens: this.#tokens, ...this.#trust(recorder) },
      csi: this.#csi,
      restartBackoff: new KeyedBackoff(10_000, configuration.maxContainerRestartPeriodMs),
      facts: this.#facts,
      resources: this.#resources,
      devices: this.#devices,
      dynamicResources: this.dynamicResources,
      allocations: this.#allocations,
      resizeRejection: (pod) => this.workers.resizeRejection(pod),
      ensureNodeCgroups: () => this.#care.followPods(),
      services: () => known?.list() ?? [],
      servicesReady: () => known?.synced ?? true,
      hostIps: () => (configuration.nodeIps.length > 0 ? configuration.nodeIps : host.addresses()),
      allocatable: () => this.#reporter.allocatable,
      runtimeHandler: (name) => this.#reporter.runtimeHandlers.find((handler) => handler.name === name),
      mayHave: (uid) => this.#lifecycle.mayHave(uid),
      networkProblem: () => this.#reporter.networkProblem,
      explain: (pod, notes) => this.#context.causes.replace('kubelet', subjectOf(pods, pod), notes),
      event: (pod, type, reason, message, container) => {
        const fieldPath = container === undefined ? undefined : containerPath(pod, container);
        recorder.record(
          { ...pod, apiVersion: 'v1', kind: 'Pod' },
          type,
          reason,
          message,
          fieldPath ? { fieldPath } : undefined,
        );
      },
    };
  }

  #problems(): string[] {
    const staleMs = this.#lifecycle.staleMs();
    return staleMs > stalePlegMs
      ? [`PLEG is not healthy: pleg was last seen active ${Math.round(staleMs / 1000)}s ago; threshold is 3m0s`]
      : [];
  }

  /** Labels and taints as the API server has them, resources as measured here. */
  #nodeForAdmission(): Node {
    const { informers } = this.#context;
    const current =
      this.#reporter.node ??
      informers.of(nodes, { fieldSelector: `metadata.name=${this.nodeName}` }).get(this.nodeName);
    const base =
      current ??
      newNode(
        { nodeName: this.nodeName, hostname: this.#hostname },
        { configuration: this.configuration, facts: this.#facts },
      );
    return { ...base, status: { ...base.status, allocatable: this.#reporter.allocatable } };
  }
}

interface ServiceParts {
  readonly version: RuntimeVersion;
  readonly recorder: ReturnType<ComponentContext['eventRecorder']>;
  readonly statuses: StatusWriter;
}

function withStatus(worker: PodWorker): Pod {
  return worker.status ? { ...worker.pod, status: worker.status } : worker.pod;
}

function pick({ client, clock, random, log, signal }: ComponentContext) {
  return { client, clock, random, log, signal };
}

function containerPath(pod: Pod, name: string): string | undefined {
  if (pod.spec.containers.some((container) => container.name === name)) return `spec.containers{${name}}`;
  if (pod.spec.initContainers?.some((container) => container.name === name)) return `spec.initContainers{${name}}`;
  return pod.spec.ephemeralContainers?.some((container) => container.name === name)
    ? `spec.ephemeralContainers{${name}}`
    : undefined;
}

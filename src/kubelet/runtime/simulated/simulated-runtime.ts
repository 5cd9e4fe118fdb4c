/**
 * A container runtime that runs nothing: sandboxes and containers are entries in a table whose states change on the clock. It keeps
 * to the contract of a real one, so that the kubelet above it is the very same, and touches neither sockets nor files. For
 * `--runtime simulated`, embedded control planes and the simulator.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import { withDefaultTag } from '../../images/image-names.ts';
import type {
  CallOptions,
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerFilter,
  ContainerRuntime,
  ContainerStats,
  ContainerStatus,
  ExecResult,
  Image,
  ImageSpec,
  LinuxResources,
  Sandbox,
  SandboxConfig,
  SandboxFilter,
  SandboxStats,
  SandboxStatus,
  StatsFilter,
  StreamingEndpoint,
  StreamingRequest,
} from '../runtime.ts';
import { RuntimeError, runtimeLabels } from '../runtime.ts';
import { AddressPool } from './address-pool.ts';
import { behaviourOf, runScript } from './behaviour.ts';
import {
  type ContainerEntry,
  containerOf,
  digest,
  hasLabels,
  type ImageEntry,
  type LogEntry,
  type SandboxEntry,
  sandboxOf,
} from './entries.ts';

export type { LogEntry } from './entries.ts';

export interface SimulatedDelays {
  readonly sandboxMs: number;
  readonly createMs: number;
  readonly startMs: number;
  readonly pullMs: number;
}

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Where Pods get their addresses; asked when one is needed, since a node may learn its range late. */
  podCidr(): string | undefined;
  readonly delays?: Partial<SimulatedDelays> | undefined;
}

const noDelays: SimulatedDelays = { sandboxMs: 0, createMs: 0, startMs: 0, pullMs: 0 };
/** Images whose names contain it cannot be pulled. */
const missingImagePart = 'does-not-exist';
const imageBytes = 5 * 1024 * 1024;
const memoryBytes = 12 * 1024 * 1024;
const maxLogEntries = 1000;

export class SimulatedRuntime implements ContainerRuntime {
  readonly #options: SimulatedRuntimeOptions;
  readonly #delays: SimulatedDelays;
  readonly #pool: AddressPool;
  readonly #sandboxes = new Map<string, SandboxEntry>();
  readonly #containers = new Map<string, ContainerEntry>();
  readonly #images = new Map<string, ImageEntry>();
  readonly #listeners = new Set<(event: ContainerEvent) => void>();

  constructor(options: SimulatedRuntimeOptions) {
    this.#options = options;
    this.#delays = { ...noDelays, ...options.delays };
    this.#pool = new AddressPool(() => options.podCidr());
  }

  async version() {
    return { runtimeName: 'simulated', runtimeVersion: '1.0.0', apiVersion: 'v1' };
  }

  async status() {
    const ready = (type: string) => ({ type, status: true, reason: '', message: '' });
    return {
      conditions: [ready('RuntimeReady'), ready('NetworkReady')],
      handlers: [],
      supplementalGroupsPolicy: false,
    };
  }

  async runPodSandbox(config: SandboxConfig, options?: CallOptions): Promise<string> {
    await this.#delay(this.#delays.sandboxMs, options);
    const taken = [...this.#sandboxes.values()].find(
      ({ config: { metadata } }) =>
        metadata.uid === config.metadata.uid && metadata.attempt === config.metadata.attempt,
    );
    if (taken) throw new RuntimeError('alreadyExists', `name is reserved for ${JSON.stringify(taken.id)}`);
    const id = this.#newId();
    const ip = config.security.namespaces.network === 'node' ? undefined : this.#pool.take();
    this.#sandboxes.set(id, { id, config, createdAtMs: this.#now(), ip, isReady: true });
    return id;
  }

  async stopPodSandbox(id: string): Promise<void> {
    const entry = this.#sandboxes.get(id);
    if (!entry?.isReady) return;
    for (const container of this.#containers.values())
      if (container.sandbox === entry && container.state === 'running') this.#end(container, 137);
    entry.isReady = false;
    if (entry.ip) this.#pool.giveBack(entry.ip);
  }

  async removePodSandbox(id: string): Promise<void> {
    const entry = this.#sandboxes.get(id);
    if (!entry) return;
    await this.stopPodSandbox(id);
    for (const container of [...this.#containers.values()])
      if (container.sandbox === entry) await this.removeContainer(container.id);
    this.#sandboxes.delete(id);
  }

  async podSandboxStatus(id: string): Promise<SandboxStatus> {
    const entry = this.#sandbox(id);
    return {
      ...sandboxOf(entry),
      ips: entry.isReady && entry.ip ? [entry.ip] : [],
      namespaces: entry.config.security.namespaces,
    };
  }

  async listPodSandboxes(filter: SandboxFilter = {}): Promise<readonly Sandbox[]> {
    const found: Sandbox[] = [];
    for (const entry of this.#sandboxes.values()) {
      if (filter.id !== undefined && entry.id !== filter.id) continue;
      if (filter.state !== undefined && (filter.state === 'ready') !== entry.isReady) continue;
      if (hasLabels(entry.config.labels, filter.labels)) found.push(sandboxOf(entry));
    }
    return found;
  }

  async createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    options?: CallOptions,
  ): Promise<string> {
    await this.#delay(this.#delays.createMs, options);
    const sandbox = this.#sandbox(sandboxId);
    if (!sandbox.isReady) throw new RuntimeError('unknown', `sandbox ${sandboxId} is not ready`);
    const image =
      this.#images.get(withDefaultTag(config.image.image)) ??
      [...this.#images.values()].find((entry) => entry.image.id === config.image.image);
    if (!image) throw new RuntimeError('notFound', `image ${JSON.stringify(config.image.image)}: not found`);
    const id = this.#newId();
    this.#containers.set(id, {
      id,
      sandbox,
      config,
      imageId: image.image.id,
      createdAtMs: this.#now(),
      behaviour: behaviourOf(config, sandboxConfig),
      log: [],
      resources: config.resources,
      state: 'created',
      startedAtMs: 0,
      finishedAtMs: 0,
      exitCode: 0,
      timers: [],
      ended: [],
    });
    return id;
  }

  async startContainer(id: string, options?: CallOptions): Promise<void> {
    const entry = this.#container(id);
    await this.#delay(this.#delays.startMs + entry.behaviour.startMs, options);
    if (entry.state !== 'created') throw new RuntimeError('unknown', `container is in ${entry.state} state`);
    const { runMs, exitCode, output } = entry.behaviour;
    entry.state = 'running';
    entry.startedAtMs = this.#now();
    const { clock } = this.#options;
    for (const { atMs, text } of output) {
      if (atMs === 0) this.#write(entry, text);
      else if (Number.isFinite(atMs)) entry.timers.push(clock.after(atMs, () => this.#write(entry, text)));
    }
    if (Number.isFinite(runMs)) entry.timers.push(clock.after(runMs, () => this.#end(entry, exitCode)));
    this.#tell(entry, 'started');
  }

  async stopContainer(id: string, timeoutSeconds: number, options?: CallOptions): Promise<void> {
    const entry = this.#containers.get(id);
    if (entry?.state !== 'running') return;
    const { stopMs, stopExitCode } = entry.behaviour;
    const isKilled = stopMs > timeoutSeconds * 1000;
    const waitMs = Math.min(stopMs, timeoutSeconds * 1000);
    if (waitMs > 0) {
      const ended = new Promise<void>((resolve) => entry.ended.push(resolve));
      await Promise.race([ended, this.#delay(waitMs, options)]);
    }
    this.#end(entry, isKilled ? 137 : stopExitCode);
  }

  async removeContainer(id: string): Promise<void> {
    const entry = this.#containers.get(id);
    if (!entry) return;
    if (entry.state === 'running') this.#end(entry, 137);
    this.#containers.delete(id);
  }

  async listContainers(filter: ContainerFilter = {}): Promise<readonly Container[]> {
    const found: Container[] = [];
    for (const entry of this.#containers.values()) {
      if (filter.id !== undefined && entry.id !== filter.id) continue;
      if (filter.sandboxId !== undefined && entry.sandbox.id !== filter.sandboxId) continue;
      if (filter.state !== undefined && entry.state !== filter.state) continue;
      if (hasLabels(entry.config.labels, filter.labels)) found.push(containerOf(entry));
    }
    return found;
  }

  async containerStatus(id: string): Promise<ContainerStatus> {
    const entry = this.#container(id);
    const { sandboxId: _, ...container } = containerOf(entry);
    const isOver = entry.state === 'exited';
    return {
      ...container,
      startedAtMs: entry.startedAtMs,
      finishedAtMs: entry.finishedAtMs,
      exitCode: entry.exitCode,
      reason: isOver ? (entry.exitCode === 0 ? 'Completed' : 'Error') : '',
      message: '',
      mounts: entry.config.mounts,
      logPath: `${entry.sandbox.config.logDirectory}/${entry.config.logPath}`,
      resources: entry.resources,
    };
  }

  async updateContainerResources(id: string, resources: LinuxResources): Promise<void> {
    const entry = this.#container(id);
    entry.resources = { ...entry.resources, ...resources };
  }

  async checkpointContainer(): Promise<void> {
    throw new RuntimeError('unimplemented', 'rpc error: code = Unimplemented desc = nothing runs here');
  }

  async reopenContainerLog(id: string): Promise<void> {
    if (this.#container(id).state !== 'running') throw new RuntimeError('unknown', 'container is not running');
  }

  /** Understands what `behaviour.ts` does; anything else is echoed and succeeds. */
  async execSync(
    id: string,
    command: readonly string[],
    options: CallOptions & { readonly timeoutSeconds?: number } = {},
  ): Promise<ExecResult> {
    if (this.#container(id).state !== 'running') throw new RuntimeError('unknown', `container ${id} is not running`);
    const script = runScript(command);
    if (!script) return { stdout: Buffer.from(`${command.join(' ')}\n`), stderr: new Uint8Array(), exitCode: 0 };
    const limitMs = options.timeoutSeconds ? options.timeoutSeconds * 1000 : Number.POSITIVE_INFINITY;
    const isTooLong = script.runMs > limitMs;
    const waitMs = Math.min(script.runMs, limitMs);
    await this.#delay(Number.isFinite(waitMs) ? waitMs : 24 * 3600 * 1000, options);
    if (isTooLong)
      throw new RuntimeError(
        'deadlineExceeded',
        `rpc error: code = DeadlineExceeded desc = failed to exec in container: timeout ${options.timeoutSeconds}s exceeded`,
      );
    const stdout = script.output.map(({ text }) => `${text}\n`).join('');
    return { stdout: Buffer.from(stdout), stderr: new Uint8Array(), exitCode: script.exitCode };
  }

  async exec(id: string, command: readonly string[], request: StreamingRequest): Promise<StreamingEndpoint> {
    if (this.#container(id).state !== 'running') throw new RuntimeError('unknown', `container ${id} is not running`);
    return {
      kind: 'local',
      run: async (streams, { signal }) => {
        const { stdout, exitCode } = await this.execSync(id, command, { signal });
        streams.stdout(stdout);
        if (request.stdin) for await (const chunk of streams.stdin) streams.stdout(chunk);
        return exitCode;
      },
    };
  }

  async attach(id: string): Promise<StreamingEndpoint> {
    const entry = this.#container(id);
    return {
      kind: 'local',
      run: async (streams) => {
        for (const { text } of entry.log) streams.stdout(Buffer.from(`${text}\n`));
        return 0;
      },
    };
  }

  /** Every port answers with what it was sent. */
  async portForward(sandboxId: string): Promise<StreamingEndpoint> {
    this.#sandbox(sandboxId);
    return {
      kind: 'local',
      run: async (streams) => {
        for await (const chunk of streams.stdin) streams.stdout(chunk);
        return 0;
      },
    };
  }

  async containerStats(id: string): Promise<ContainerStats> {
    return this.#stats(this.#container(id));
  }

  async listContainerStats(filter: StatsFilter = {}): Promise<readonly ContainerStats[]> {
    const running = await this.listContainers({ ...filter, state: 'running' });
    return running.map(({ id }) => this.#stats(this.#container(id)));
  }

  async podSandboxStats(id: string): Promise<SandboxStats> {
    const { config } = this.#sandbox(id);
    const containers = await this.listContainerStats({ sandboxId: id });
    const timestampMs = this.#now();
    const sum = (of: (stats: ContainerStats) => number) => containers.reduce((total, stats) => total + of(stats), 0);
    return {
      id,
      metadata: config.metadata,
      labels: config.labels,
      cpu: {
        timestampMs,
        coreNanoSeconds: sum(({ cpu }) => cpu?.coreNanoSeconds ?? 0),
        nanoCores: sum(({ cpu }) => cpu?.nanoCores ?? 0),
      },
      memory: { timestampMs, workingSetBytes: sum(({ memory }) => memory?.workingSetBytes ?? 0) },
      containers,
    };
  }

  async imageStatus({ image }: ImageSpec): Promise<Image | undefined> {
    return (
      this.#images.get(withDefaultTag(image)) ?? [...this.#images.values()].find((entry) => entry.image.id === image)
    )?.image;
  }

  async listImages(): Promise<readonly Image[]> {
    return [...this.#images.values()].map(({ image }) => image);
  }

  async pullImage({ image }: ImageSpec, options?: CallOptions): Promise<string> {
    await this.#delay(this.#delays.pullMs, options);
    if (image.includes(missingImagePart)) {
      throw new RuntimeError(
        'notFound',
        `rpc error: code = NotFound desc = failed to pull and unpack image ${JSON.stringify(image)}: not found`,
      );
    }
    const name = withDefaultTag(image);
    const id = `sha256:${digest(name)}`;
    this.#images.set(name, {
      image: { id, repoTags: [name], repoDigests: [], sizeBytes: imageBytes, username: '', uid: 0, pinned: false },
    });
    return id;
  }

  async removeImage({ image }: ImageSpec): Promise<void> {
    const name = withDefaultTag(image);
    for (const [key, entry] of this.#images) if (key === name || entry.image.id === image) this.#images.delete(key);
  }

  async imageFsInfo() {
    const usedBytes = this.#images.size * imageBytes;
    return {
      imageFilesystems: [{ timestampMs: this.#now(), mountpoint: '/', usedBytes, inodesUsed: this.#images.size }],
      containerFilesystems: [],
    };
  }

  async *containerEvents(options: CallOptions = {}): AsyncIterable<ContainerEvent> {
    const { signal } = options;
    signal?.throwIfAborted();
    const queue: ContainerEvent[] = [];
    let wake = () => {};
    const listener = (event: ContainerEvent) => {
      queue.push(event);
      wake();
    };
    const onAbort = () => wake();
    this.#listeners.add(listener);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        signal?.throwIfAborted();
        const event = queue.shift();
        if (event) yield event;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#listeners.delete(listener);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    for (const entry of this.#containers.values()) for (const timer of entry.timers) timer.cancel();
  }

  /** The log of a container, by the path that its status gives. */
  logOf(logPath: string): readonly LogEntry[] | undefined {
    for (const { log, sandbox, config } of this.#containers.values())
      if (`${sandbox.config.logDirectory}/${config.logPath}` === logPath) return log;
    return undefined;
  }

  /** For scenarios: a container dies by itself. */
  crash(id: string, exitCode: number): void {
    const entry = this.#container(id);
    if (entry.state === 'running') this.#end(entry, exitCode);
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #newId(): string {
    return Buffer.from(this.#options.random.bytes(32)).toString('hex');
  }

  async #delay(delayMs: number, options: CallOptions | undefined): Promise<void> {
    options?.signal?.throwIfAborted();
    if (delayMs > 0) await sleep(this.#options.clock, delayMs, options?.signal);
  }

  #sandbox(id: string): SandboxEntry {
    const entry = this.#sandboxes.get(id);
    if (!entry)
      throw new RuntimeError(
        'notFound',
        `rpc error: code = NotFound desc = an error occurred when try to find sandbox ${JSON.stringify(id)}: not found`,
      );
    return entry;
  }

  #container(id: string): ContainerEntry {
    const entry = this.#containers.get(id);
    if (!entry)
      throw new RuntimeError(
        'notFound',
        `rpc error: code = NotFound desc = an error occurred when try to find container ${JSON.stringify(id)}: not found`,
      );
    return entry;
  }

  #write(entry: ContainerEntry, text: string): void {
    entry.log.push({ atMs: this.#now(), stream: 'stdout', text });
    if (entry.log.length > maxLogEntries) entry.log.shift();
  }

  #end(entry: ContainerEntry, exitCode: number): void {
    if (entry.state !== 'running') return;
    entry.state = 'exited';
    entry.exitCode = exitCode;
    entry.finishedAtMs = this.#now();
    for (const timer of entry.timers) timer.cancel();
    entry.timers = [];
    for (const resolve of entry.ended) resolve();
    entry.ended = [];
    this.#tell(entry, 'stopped');
  }

  #tell(entry: ContainerEntry, type: ContainerEvent['type']): void {
    const podUid = entry.config.labels[runtimeLabels.podUid] ?? '';
    for (const listener of this.#listeners) listener({ containerId: entry.id, type, createdAtMs: this.#now(), podUid });
  }

  #stats(entry: ContainerEntry): ContainerStats {
    const timestampMs = this.#now();
    const milliCores = 1;
    return {
      id: entry.id,
      name: entry.config.name,
      labels: entry.config.labels,
      cpu: {
        timestampMs,
        coreNanoSeconds: (timestampMs - entry.startedAtMs) * milliCores * 1000,
        nanoCores: milliCores * 1e6,
      },
      memory: { timestampMs, workingSetBytes: memoryBytes, usageBytes: memoryBytes, rssBytes: memoryBytes },
    };
  }
}

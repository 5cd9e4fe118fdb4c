/**
 * The `ContainerRuntime` of a real node: every call becomes one gRPC call. Runtime and image service may live behind different
 * endpoints. The version of the interface is chosen when connecting and kept for good.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import type {
  CallOptions,
  ContainerConfig,
  ContainerEvent,
  ContainerFilter,
  ContainerRuntime,
  Image,
  ImageSpec,
  LinuxResources,
  RegistryCredentials,
  SandboxConfig,
  SandboxFilter,
  StatsFilter,
  StreamingRequest,
} from '../runtime.ts';
import { RuntimeError, runtimeLabels } from '../runtime.ts';
import { type CallSettings, CriConnection } from './connection.ts';
import { containerdEvents } from './containerd-events.ts';
import * as from from './from-wire.ts';
import * as to from './to-wire.ts';

export interface ConnectRuntimeOptions {
  readonly clock: Clock;
  readonly endpoint: string;
  /** Where images are served, when not by the runtime's own endpoint. */
  readonly imageEndpoint?: string | undefined;
  /** `--runtime-request-timeout`. */
  readonly requestTimeoutMs?: number | undefined;
  /** Names of images that count as pinned even where the runtime does not say so, as containerd before 1.7. */
  readonly pinnedImages?: readonly string[] | undefined;
  /** How long to try again while nothing serves; default: not at all. */
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** No version of the interface is spoken by both sides: the kubelet must not register. */
export class NoCommonRuntimeVersion extends Error {
  constructor(endpoint: string, cause: unknown) {
    super(
      `container runtime at ${endpoint} speaks neither CRI v1 nor v1alpha2: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
    this.name = 'NoCommonRuntimeVersion';
  }
}

/**
 * Connects and settles the version: v1, then v1alpha2, for each endpoint by itself. Throws `NoCommonRuntimeVersion`, or a `RuntimeError` of code `unavailable`
 * when nothing serves until the time to wait is over.
 */
export async function connectRuntime(options: ConnectRuntimeOptions): Promise<ContainerRuntime> {
  const { clock, endpoint, requestTimeoutMs = 120_000 } = options;
  const runtime = await CriConnection.open({ clock, endpoint, requestTimeoutMs });
  const separate = options.imageEndpoint && options.imageEndpoint !== endpoint;
  const images = separate
    ? await CriConnection.open({ clock, endpoint: options.imageEndpoint, requestTimeoutMs })
    : runtime;
  try {
    const { runtimeName } = await negotiateOnceServing(runtime, options, (settings) =>
      runtime.unary('RuntimeService', 'Version', { version: runtime.version }, settings),
    );
    if (separate)
      await negotiateOnceServing(images, { ...options, endpoint: options.imageEndpoint }, (settings) =>
        images.unary('ImageService', 'ImageFsInfo', {}, settings),
      );
    return new CriRuntime(runtime, images, { ...options, runtimeName });
  } catch (error) {
    runtime.close();
    if (separate) images.close();
    throw error;
  }
}

const waitStepMs = 50;
const probeTimeoutMs = 5000;

/** A first call of the service in question. */
type Probe<T> = (settings: CallSettings) => Promise<T>;
type NegotiationOptions = Pick<ConnectRuntimeOptions, 'clock' | 'endpoint' | 'signal' | 'waitMs'>;

async function negotiateOnceServing<T>(
  connection: CriConnection,
  options: NegotiationOptions,
  probe: Probe<T>,
): Promise<T> {
  const { clock, signal, waitMs = 0 } = options;
  const untilMs = clock.monotonic() + waitMs;
  for (;;) {
    try {
      return await negotiate(connection, options, probe);
    } catch (error) {
      const mayCome = error instanceof RuntimeError && error.code === 'unavailable' && clock.monotonic() < untilMs;
      if (!mayCome) throw error;
    }
    await sleep(clock, waitStepMs, signal);
  }
}

/** The connection keeps the version that answers. */
async function negotiate<T>(
  connection: CriConnection,
  { endpoint, signal }: NegotiationOptions,
  probe: Probe<T>,
): Promise<T> {
  let refusal: unknown;
  for (const version of ['v1', 'v1alpha2'] as const) {
    connection.use(version);
    try {
      return await probe({ signal, timeoutMs: probeTimeoutMs });
    } catch (error) {
      if (!(error instanceof RuntimeError) || error.code !== 'unimplemented') throw error;
      refusal = error;
    }
  }
  throw new NoCommonRuntimeVersion(endpoint, refusal);
}

class CriRuntime implements ContainerRuntime {
  readonly #runtime: CriConnection;
  readonly #images: CriConnection;
  readonly #clock: Clock;
  readonly #isContainerd: boolean;
  readonly #pinnedImages: readonly string[];

  constructor(
    runtime: CriConnection,
    images: CriConnection,
    options: Pick<ConnectRuntimeOptions, 'clock' | 'pinnedImages'> & { readonly runtimeName: string },
  ) {
    this.#runtime = runtime;
    this.#images = images;
    this.#clock = options.clock;
    this.#isContainerd = options.runtimeName === 'containerd';
    this.#pinnedImages = options.pinnedImages ?? [];
  }

  async version(options?: CallOptions) {
    const apiVersion = this.#runtime.version;
    const answer = await this.#runtime.unary('RuntimeService', 'Version', { version: apiVersion }, options);
    return { runtimeName: answer.runtimeName, runtimeVersion: answer.runtimeVersion, apiVersion };
  }

  async status(options?: CallOptions) {
    return from.runtimeStatus(await this.#runtime.unary('RuntimeService', 'Status', {}, options));
  }

  async runPodSandbox(config: SandboxConfig, options?: CallOptions & { readonly runtimeHandler?: string | undefined }) {
    const request = {
      config: to.sandboxConfig(config, this.#runtime.version),
      runtimeHandler: options?.runtimeHandler ?? '',
    };
    // Upstream doubles the limit here: the runtime may have to pull the pause image first.
    const answer = await this.#runtime.unary('RuntimeService', 'RunPodSandbox', request, {
      signal: options?.signal,
      timeoutMs: 240_000,
    });
    return answer.podSandboxId;
  }

  async stopPodSandbox(id: string, options?: CallOptions) {
    await ignoreNotFound(this.#runtime.unary('RuntimeService', 'StopPodSandbox', { podSandboxId: id }, options));
  }

  async removePodSandbox(id: string, options?: CallOptions) {
    await ignoreNotFound(this.#runtime.unary('RuntimeService', 'RemovePodSandbox', { podSandboxId: id }, options));
  }

  async podSandboxStatus(id: string, options?: CallOptions) {
    const { status } = await this.#runtime.unary('RuntimeService', 'PodSandboxStatus', { podSandboxId: id }, options);
    if (!status) throw new RuntimeError('unknown', `pod sandbox status of ${id} is empty`);
    return from.sandboxStatus(status);
  }

  async listPodSandboxes(filter: SandboxFilter = {}, options?: CallOptions) {
    const request = { filter: to.sandboxFilter(filter) };
    const { items } = await this.#runtime.unary('RuntimeService', 'ListPodSandbox', request, options);
    return items.map(from.sandbox);
  }

  async createContainer(sandboxId: string, config: ContainerConfig, sandbox: SandboxConfig, options?: CallOptions) {
    const { version } = this.#runtime;
    const request = {
      podSandboxId: sandboxId,
      config: to.containerConfig(config, version),
      sandboxConfig: to.sandboxConfig(sandbox, version),
    };
    return (await this.#runtime.unary('RuntimeService', 'CreateContainer', request, options)).containerId;
  }

  async startContainer(id: string, options?: CallOptions) {
    await this.#runtime.unary('RuntimeService', 'StartContainer', { containerId: id }, options);
  }

  async stopContainer(id: string, timeoutSeconds: number, options?: CallOptions) {
    const request = { containerId: id, timeout: timeoutSeconds };
    const timeoutMs = 120_000 + timeoutSeconds * 1000;
    await ignoreNotFound(
      this.#runtime.unary('RuntimeService', 'StopContainer', request, { signal: options?.signal, timeoutMs }),
    );
  }

  async removeContainer(id: string, options?: CallOptions) {
    await ignoreNotFound(this.#runtime.unary('RuntimeService', 'RemoveContainer', { containerId: id }, options));
  }

  async listContainers(filter: ContainerFilter = {}, options?: CallOptions) {
    const request = { filter: to.containerFilter(filter) };
    const { containers } = await this.#runtime.unary('RuntimeService', 'ListContainers', request, options);
    return containers.map(from.container);
  }

  async containerStatus(id: string, options?: CallOptions) {
    const { status } = await this.#runtime.unary('RuntimeService', 'ContainerStatus', { containerId: id }, options);
    if (!status) throw new RuntimeError('unknown', `container status of ${id} is empty`);
    return from.containerStatus(status);
  }

  async updateContainerResources(id: string, resources: LinuxResources, options?: CallOptions) {
    const request = { containerId: id, linux: to.linuxResources(resources) };
    await this.#runtime.unary('RuntimeService', 'UpdateContainerResources', request, options);
  }

  async checkpointContainer(
    id: string,
    location: string,
    options: CallOptions & { readonly timeoutSeconds?: number | undefined } = {},
  ) {
    const { timeoutSeconds = 0, signal } = options;
    if (timeoutSeconds < 0)
      throw new RuntimeError('invalidArgument', 'CheckpointContainer requires the timeout value to be > 0');
    const defaultSeconds = Math.trunc(this.#runtime.requestTimeoutMs / 1000);
    const timeout = Math.max(timeoutSeconds, defaultSeconds);
    const request = { containerId: id, location, timeout };
    await this.#runtime.unary('RuntimeService', 'CheckpointContainer', request, { signal, timeoutMs: timeout * 1000 });
  }

  async reopenContainerLog(id: string, options?: CallOptions) {
    await this.#runtime.unary('RuntimeService', 'ReopenContainerLog', { containerId: id }, options);
  }

  async execSync(
    id: string,
    command: readonly string[],
    options: CallOptions & { readonly timeoutSeconds?: number } = {},
  ) {
    const { timeoutSeconds = 0, signal } = options;
    const request = { containerId: id, cmd: command, timeout: Math.ceil(timeoutSeconds) };
    // A little longer than the runtime's own limit, so that it is the runtime that ends the command.
    const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 + 120_000 : 0;
    const { stdout, stderr, exitCode } = await this.#runtime.unary('RuntimeService', 'ExecSync', request, {
      signal,
      timeoutMs,
    });
    return { stdout, stderr, exitCode };
  }

  async exec(id: string, command: readonly string[], request: StreamingRequest, options?: CallOptions) {
    const { url } = await this.#runtime.unary(
      'RuntimeService',
      'Exec',
      { containerId: id, cmd: command, ...request },
      options,
    );
    return { kind: 'url', url } as const;
  }

  async attach(id: string, request: StreamingRequest, options?: CallOptions) {
    const { url } = await this.#runtime.unary('RuntimeService', 'Attach', { containerId: id, ...request }, options);
    return { kind: 'url', url } as const;
  }

  async portForward(sandboxId: string, ports: readonly number[], options?: CallOptions) {
    const { url } = await this.#runtime.unary(
      'RuntimeService',
      'PortForward',
      { podSandboxId: sandboxId, port: ports },
      options,
    );
    return { kind: 'url', url } as const;
  }

  async containerStats(id: string, options?: CallOptions) {
    const { stats } = await this.#runtime.unary('RuntimeService', 'ContainerStats', { containerId: id }, options);
    if (!stats) throw new RuntimeError('notFound', `no statistics of container ${id}`);
    return from.containerStats(stats);
  }

  async listContainerStats(filter: StatsFilter = {}, options?: CallOptions) {
    const request = { filter: { id: filter.id, podSandboxId: filter.sandboxId, labelSelector: filter.labels } };
    const { stats } = await this.#runtime.unary('RuntimeService', 'ListContainerStats', request, options);
    return stats.map(from.containerStats);
  }

  async podSandboxStats(id: string, options?: CallOptions) {
    const { stats } = await this.#runtime.unary('RuntimeService', 'PodSandboxStats', { podSandboxId: id }, options);
    if (!stats) throw new RuntimeError('notFound', `no statistics of pod sandbox ${id}`);
    return from.sandboxStats(stats);
  }

  async imageStatus(image: ImageSpec, options?: CallOptions) {
    const answer = await this.#images.unary('ImageService', 'ImageStatus', { image: to.imageSpec(image) }, options);
    return answer.image ? from.image(answer.image) : undefined;
  }

  async listImages(options?: CallOptions) {
    const { images } = await this.#images.unary('ImageService', 'ListImages', {}, options);
    const isPinned = ({ repoTags }: Image) => repoTags.some((name) => this.#pinnedImages.includes(name));
    return images.map(from.image).map((image) => (isPinned(image) ? { ...image, pinned: true } : image));
  }

  async pullImage(
    image: ImageSpec,
    options: CallOptions & {
      readonly credentials?: RegistryCredentials | undefined;
      readonly sandbox?: SandboxConfig | undefined;
    } = {},
  ) {
    const request = {
      image: to.imageSpec(image),
      auth: options.credentials,
      sandboxConfig: options.sandbox && to.sandboxConfig(options.sandbox, this.#images.version),
    };
    try {
      // A pull takes what it takes; the runtime has a limit for pulls that make no progress.
      const settings = { signal: options.signal, timeoutMs: 0 };
      return (await this.#images.unary('ImageService', 'PullImage', request, settings)).imageRef;
    } catch (error) {
      // Why a pull failed is for people to read: the code says nothing then.
      if (!(error instanceof RuntimeError) || error.code !== 'unknown') throw error;
      throw new RuntimeError('unknown', error.message.replace(/^rpc error: code = Unknown desc = /, ''));
    }
  }

  async removeImage(image: ImageSpec, options?: CallOptions) {
    await ignoreNotFound(this.#images.unary('ImageService', 'RemoveImage', { image: to.imageSpec(image) }, options));
  }

  async imageFsInfo(options?: CallOptions) {
    const answer = await this.#images.unary('ImageService', 'ImageFsInfo', {}, options);
    return {
      imageFilesystems: answer.imageFilesystems.map(from.filesystemUsage),
      containerFilesystems: answer.containerFilesystems.map(from.filesystemUsage),
    };
  }

  async *containerEvents(options: CallOptions = {}): AsyncIterable<ContainerEvent> {
    try {
      for await (const event of this.#runtime.serverStream(
        'RuntimeService',
        'GetContainerEvents',
        {},
        options.signal,
      )) {
        yield {
          containerId: event.containerId,
          type: from.eventType(event.containerEventType),
          createdAtMs: from.milliseconds(event.createdAt),
          podUid: event.podSandboxStatus?.metadata?.uid ?? event.podSandboxStatus?.labels[runtimeLabels.podUid] ?? '',
        };
      }
    } catch (error) {
      if (!(error instanceof RuntimeError) || error.code !== 'unimplemented' || !this.#isContainerd) throw error;
      yield* containerdEvents(this, this.#runtime, this.#clock, options.signal);
    }
  }

  close() {
    this.#runtime.close();
    if (this.#images !== this.#runtime) this.#images.close();
  }
}

async function ignoreNotFound(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof RuntimeError) || error.code !== 'notFound') throw error;
  }
}

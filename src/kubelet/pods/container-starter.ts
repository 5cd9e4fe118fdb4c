/**
 * Makes and starts one container: back-off, image, environment, mounts, creation, start, postStart hook. What goes wrong becomes a
 * `StartError` whose reason and message the container's status shows while it waits.
 */

import { join } from 'node:path';
import { containerStatus } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatDuration } from '../../apimachinery/time.ts';
import { blockDevices, containerConfig, volumeMounts } from '../containers/container-config.ts';
import { etcHosts, etcHostsOfHost } from '../containers/dns.ts';
import { containerEnvironment } from '../containers/environment.ts';
import { ImageError, type PresentImage } from '../images/image-puller.ts';
import { podText } from '../probes/prober.ts';
import type { EnvironmentVariable, Image, ImageSpec, Mount, SandboxConfig } from '../runtime/runtime.ts';
import { allEnded } from './all-ended.ts';
import { containerHash } from './container-hash.ts';
import { runHook } from './container-stopper.ts';
import type { ContainerStart } from './pod-plan.ts';
import type { PodServices } from './pod-services.ts';
import { resourceSettings } from './resource-settings.ts';
import { latestContainer, type RuntimePod } from './runtime-pod.ts';

export class StartError extends Error {
  readonly reason: string;
  /** When trying again makes sense; absent: the worker's own pace. */
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: string,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.name = 'StartError';
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export interface StartContext {
  readonly pod: Pod;
  readonly observed: RuntimePod;
  readonly sandboxId: string;
  readonly sandbox: SandboxConfig;
  /** Of the Pod's RuntimeClass; empty: the default one. */
  readonly runtimeHandler: string;
  readonly podIps: readonly string[];
  readonly volumePaths: ReadonlyMap<string, string>;
  readonly pullSecrets: readonly Secret[];
  /** Where it was seen on the node just now. */
  readonly image: Image | undefined;
  readonly signal: AbortSignal;
}

const typeForMetrics = {
  regular: 'container',
  init: 'init_container',
  sidecar: 'init_container',
  ephemeral: 'ephemeral_container',
} as const satisfies Record<ContainerStart['kind'], string>;

/** The new container's id. */
export async function startContainer(
  services: PodServices,
  { spec, kind }: ContainerStart,
  context: StartContext,
): Promise<string> {
  checkBackoff(services, spec, context);
  const { metrics } = services;
  const type = typeForMetrics[kind];
  metrics.count('started_containers_total', { container_type: type });
  try {
    return await startNow(services, { kind, spec }, context);
  } catch (error) {
    const code = error instanceof StartError ? error.reason : messageOf(error);
    if (!context.signal.aborted) metrics.count('started_containers_errors_total', { container_type: type, code });
    throw error;
  }
}

async function startNow(
  services: PodServices,
  { kind, spec }: Pick<ContainerStart, 'kind' | 'spec'>,
  context: StartContext,
): Promise<string> {
  const { pod, signal } = context;
  const event = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    services.event(pod, type, reason, message, spec.name);
  const image = await ensureImage(services, spec, context, context.image);
  const images = await ensureImageVolumes(services, spec, context);
  const restartCount = nextRestartCount(spec, context);
  const config = await asStartError('CreateContainerConfigError', signal, event, async () => {
    const devices = await services.devices?.prepare(pod, spec);
    const claimed = services.dynamicResources?.cdiDevices(pod, spec) ?? [];
    const [declared] = await allEnded([
      environmentOf(services, spec, context),
      services.host.files.prepareContainer(pod, spec, restartCount),
    ]);
    const mounts = await mountsOf(services, spec, declared, { ...context, images });
    const { configuration } = services;
    return containerConfig(pod, spec, {
      kind,
      restartCount,
      environment: withDeclared(devices?.environment, declared),
      mounts: [...(devices?.mounts ?? []), ...mounts],
      devices: [...(devices?.devices ?? []), ...blockDevices(pod, spec, context.volumePaths)],
      cdiDevices: [...new Set([...(devices?.cdiDevices ?? []), ...claimed])],
      annotations: devices?.annotations,
      imageRef: image.ref,
      image: image.image,
      users: context.sandbox.security.namespaces.users,
      targetContainerId: targetOf(spec, context),
      ...resourceSettings(services),
      seccompDefault: configuration.seccompDefault,
      seccompProfileRoot: join(configuration.rootDirectory, 'seccomp'),
    });
  });
  const id = await asStartError('CreateContainerError', signal, event, () =>
    services.runtime.createContainer(context.sandboxId, config, context.sandbox, { signal }),
  );
  services.allocations.actuate(pod.metadata.uid ?? '', spec, id);
  event('Normal', 'Created', 'Container created');
  // Not given up when the Pod is to end: a start that is cut off halfway looks like a container that could not be started.
  await asStartError('RunContainerError', signal, event, () => services.runtime.startContainer(id));
  event('Normal', 'Started', 'Container started');
  await allEnded([services.host.files.linkLog(pod, spec, id, restartCount), postStart(services, spec, id, context)]);
  return id;
}

/** A container that ended waits longer each time before it starts again; its first restart is immediate. */
function checkBackoff(services: PodServices, spec: Container, { pod, observed }: StartContext): void {
  // One that the kubelet has just stopped itself does not count: it is replaced at once.
  const latest = observed.containers.find(({ name, state }) => name === spec.name && state === 'exited');
  if (!latest) return;
  const { clock, restartBackoff } = services;
  const key = `${pod.metadata.uid}_${spec.name}_${containerHash(spec)}`;
  const remainingMs = restartBackoff.remaining(key, latest.finishedAtMs, clock.now());
  if (remainingMs === 0) {
    restartBackoff.next(key, latest.finishedAtMs);
    return;
  }
  const podName = podText(pod);
  services.event(
    pod,
    'Warning',
    'BackOff',
    `Back-off restarting failed container ${spec.name} in pod ${podName}`,
    spec.name,
  );
  const message = `back-off ${formatDuration(restartBackoff.delay(key))} restarting failed container=${spec.name} pod=${podName}`;
  throw new StartError('CrashLoopBackOff', message, { retryAfterMs: remainingMs });
}

async function ensureImage(
  services: PodServices,
  spec: Container,
  context: StartContext,
  found?: Image,
): Promise<PresentImage> {
  const { pod, sandbox, pullSecrets, signal } = context;
  const event = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    services.event(pod, type, reason, message, spec.name);
  try {
    return await services.images.ensure({ pod, container: spec, sandbox, secrets: pullSecrets, found, signal, event });
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    event('Warning', 'Failed', `Error: ${error.reason}`);
    throw new StartError(error.reason, error.message, { cause: error, retryAfterMs: error.retryAfterMs });
  }
}

/** Images that the container mounts as volumes, by the volumes' names. */
async function ensureImageVolumes(
  services: PodServices,
  spec: Container,
  context: StartContext,
): Promise<ReadonlyMap<string, ImageSpec>> {
  const images = new Map<string, ImageSpec>();
  for (const { name, image } of context.pod.spec.volumes ?? []) {
    if (!image || !spec.volumeMounts?.some((mount) => mount.name === name)) continue;
    const { pullPolicy, reference = '' } = image;
    const { ref } = await ensureImage(
      services,
      { name: spec.name, image: reference, imagePullPolicy: pullPolicy },
      context,
    );
    images.set(name, { image: ref, userSpecifiedImage: reference, annotations: context.pod.metadata.annotations });
  }
  return images;
}

async function asStartError<T>(
  reason: string,
  signal: AbortSignal,
  event: (type: 'Warning', reason: string, message: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    const message = withoutRpcStatus(messageOf(error));
    event('Warning', 'Failed', `Error: ${message}`);
    throw new StartError(reason, message, { cause: error });
  }
}

/** What the runtime says, without the gRPC code in front of it: why a container cannot start is told in its own words. */
function withoutRpcStatus(message: string): string {
  return message.replace(/^rpc error: code = \w+ desc = /, '');
}

/** One more than the last container of this name, also when only the API still remembers that one. */
function nextRestartCount(spec: Container, { pod, observed }: StartContext): number {
  const latest = latestContainer(observed, spec.name);
  if (latest) return latest.restartCount + 1;
  const old = containerStatus(pod.status, spec.name);
  return old?.containerID ? old.restartCount + 1 : (old?.restartCount ?? 0);
}

function environmentOf(
  services: PodServices,
  spec: Container,
  { pod, podIps }: StartContext,
): Promise<EnvironmentVariable[]> {
  if (!services.servicesReady())
    throw new Error('services have not yet been read at least once, cannot construct envvars');
  return containerEnvironment(pod, spec, {
    objects: services.objects,
    services: services.services(),
    situation: {
      podIps,
      hostIps: services.hostIps(),
      nodeName: services.nodeName,
      allocatable: services.allocatable(),
    },
  });
}

/** What the Pod declares hides a plugin's variable of the same name. */
function withDeclared(
  own: readonly EnvironmentVariable[] = [],
  declared: readonly EnvironmentVariable[],
): readonly EnvironmentVariable[] {
  const names = new Set(declared.map(({ name }) => name));
  return [...own.filter(({ name }) => !names.has(name)), ...declared];
}

async function mountsOf(
  services: PodServices,
  spec: Container,
  environment: readonly EnvironmentVariable[],
  context: StartContext & { readonly images: ReadonlyMap<string, ImageSpec> },
): Promise<Mount[]> {
  const { images, pod, podIps, volumePaths } = context;
  const { files, volumes } = services.host;
  const mounts = await volumeMounts(pod, spec, environment, {
    paths: volumePaths,
    images,
    recursiveReadonly: services.runtimeHandler(context.runtimeHandler)?.recursiveReadOnlyMounts ?? false,
    subPath: (volume, path, { volumePath, index }) =>
      volumes.subPath(pod, path, { volume, volumePath, container: spec.name, index }),
  });
  const isMounted = (path: string) => mounts.some(({ containerPath }) => containerPath === path);
  const hosts = async () => {
    if (isMounted('/etc/hosts')) return undefined;
    const { clusterDomain } = services.configuration;
    const content = pod.spec.hostNetwork
      ? etcHostsOfHost(pod, await files.hostEtcHosts())
      : etcHosts(pod, podIps, clusterDomain);
    return files.hosts(pod, content);
  };
  const terminationPath = spec.terminationMessagePath ?? '/dev/termination-log';
  const hasLog = terminationPath !== '' && !isMounted(terminationPath);
  const own = await allEnded([hosts(), hasLog ? files.terminationLog(pod, spec) : undefined]);
  return [...mounts, ...own.filter((mount) => mount !== undefined)];
}

function targetOf(spec: Container, { pod, observed }: StartContext): string | undefined {
  const ephemeral = pod.spec.ephemeralContainers?.find(({ name }) => name === spec.name);
  if (!ephemeral?.targetContainerName) return undefined;
  const target = latestContainer(observed, ephemeral.targetContainerName);
  if (!target) throw new Error(`unable to find target container ${ephemeral.targetContainerName}`);
  return target.id;
}

async function postStart(
  services: PodServices,
  spec: Container,
  containerId: string,
  { pod, podIps, signal }: StartContext,
): Promise<void> {
  const hook = spec.lifecycle?.postStart;
  if (!hook) return;
  try {
    await runHook(
      services,
      hook,
      { pod, container: spec, containerId, ip: podIps[0] ?? services.hostIps()[0] ?? '' },
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    services.event(pod, 'Warning', 'FailedPostStartHook', 'PostStartHook failed', spec.name);
    services.event(pod, 'Normal', 'Killing', 'FailedPostStartHook', spec.name);
    await services.runtime.stopContainer(containerId, pod.spec.terminationGracePeriodSeconds ?? 30, { signal });
    throw new StartError('PostStartHookError', `PostStart handler failed: ${messageOf(error)}`, { cause: error });
  }
}

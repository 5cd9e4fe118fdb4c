/**
 * Carries out a `PodPlan`: stops what must go, makes the sandbox, then starts containers in the plan's order. A Pod that has to wait for a
 * volume gets no sandbox. What needs no waiting (files of volumes, a look for the images) is done while the runtime makes the sandbox.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { runtimeClasses } from '../../api/gen/node-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { overheadResources, podCgroupLimits, podResources } from '../containers/resources.ts';
import { sandboxConfig } from '../containers/sandbox-config.ts';
import { VolumePending } from '../csi/csi-attachments.ts';
import { changesWhole } from '../resize/pod-resize.ts';
import { actuatedPod, limitsWhileResizing, resizeContainers } from '../resize/resize-containers.ts';
import type { IdMapping, Image, SandboxConfig, SandboxStatus } from '../runtime/runtime.ts';
import { allEnded } from './all-ended.ts';
import { StartError, startContainer } from './container-starter.ts';
import type { WaitingReason } from './container-statuses.ts';
import { stopAll, stopContainer } from './container-stopper.ts';
import { earliest } from './earliest.ts';
import { isOwnMaking, mountVolumes, pullSecrets, resolveVolumes } from './pod-mounts.ts';
import type { ContainerStop, PodPlan } from './pod-plan.ts';
import type { PodServices } from './pod-services.ts';
import { resourceSettings } from './resource-settings.ts';
import { type RuntimeContainer, type RuntimePod, readySandbox } from './runtime-pod.ts';

export interface ExecutionContext {
  readonly pod: Pod;
  readonly observed: RuntimePod;
  /** Filled with why containers could not be started. */
  readonly waiting: Map<string, WaitingReason>;
  /** Resources of running containers cannot be changed now. */
  resizeFailed(message: string): void;
  readonly signal: AbortSignal;
}

export interface ExecutionOutcome {
  readonly didSomething: boolean;
  /** Something failed or has to wait. */
  readonly retryAfterMs?: number | undefined;
  /** Volumes must be looked at again then. */
  readonly renewAfterMs?: number | undefined;
  /** Containers that were started. */
  readonly made: readonly string[];
  /** The one that was made, as the runtime shows it. */
  readonly sandbox?: SandboxStatus | undefined;
}

const failedStartRetryMs = 10_000;

export async function executePlan(
  services: PodServices,
  plan: PodPlan,
  context: ExecutionContext,
): Promise<ExecutionOutcome> {
  const { pod, observed, signal } = context;
  const { files } = services.host;
  if (plan.reset.length > 0) {
    for (const container of plan.reset) await resetContainer(services, container, context);
    return { didSomething: true, made: [] };
  }
  const [volumes, hostResolvConf] = await allEnded([
    toldIfFailed(services, pod, resolveVolumes(services, pod)),
    files.resolvConf(services.configuration.resolvConf),
    ensureCgroups(services, pod, observed),
    // Before anything is put into the Pod's folder: it gives what is below its rights.
    files.prepare(pod),
  ]);
  const mount = (some: typeof volumes) => toldIfFailed(services, pod, mountVolumes(services, pod, some));
  const others = await mount(volumes.filter((volume) => !isOwnMaking(volume)));
  for (const stop of plan.stop) await stopForPlan(services, stop, context);
  const [{ sandbox, current }, own, secrets, images] = await allEnded([
    (plan.createSandbox ? makeSandbox : presentSandbox)(services, plan, { ...context, hostResolvConf }),
    mount(volumes.filter(isOwnMaking)),
    plan.start.length > 0 ? pullSecrets(services, pod) : [],
    lookUpImages(services, plan, signal),
  ]);
  const { runtimeHandler } = current;
  const volumePaths = new Map([...others.paths, ...own.paths]);
  const made: string[] = [];
  let retryAfterMs: number | undefined;
  let didSomething = plan.createSandbox || plan.stop.length > 0;
  const startOne = async (start: PodPlan['start'][number]) => {
    try {
      const podIps = pod.spec.hostNetwork ? services.hostIps() : current.ips;
      const id = await startContainer(services, start, {
        pod,
        observed,
        sandboxId: current.id,
        sandbox,
        runtimeHandler,
        podIps,
        volumePaths,
        pullSecrets: secrets,
        image: images.get(start.spec.name),
        signal,
      });
      made.push(id);
      context.waiting.delete(start.spec.name);
      didSomething = true;
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      context.waiting.set(start.spec.name, { reason: error.reason, message: error.message });
      const delayMs = error.retryAfterMs ?? failedStartRetryMs;
      retryAfterMs = Math.min(retryAfterMs ?? delayMs, delayMs);
    }
  };
  for (const start of plan.start) await startOne(start);
  const resized = await resize(services, plan, context);
  if (resized === 'failed') retryAfterMs = Math.min(retryAfterMs ?? failedStartRetryMs, failedStartRetryMs);
  didSomething ||= resized === 'done';
  const renewAtMs = earliest(others.renewAtMs, own.renewAtMs);
  const renewAfterMs = renewAtMs === undefined ? undefined : Math.max(1000, renewAtMs - services.clock.now());
  return { didSomething, retryAfterMs, renewAfterMs, made, sandbox: plan.createSandbox ? current : undefined };
}

/** What is on the node already, by container; only worth the question while there is something else to wait for. */
async function lookUpImages(
  { images }: PodServices,
  { createSandbox, start }: PodPlan,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Image>> {
  if (!createSandbox) return new Map();
  const found = await Promise.all(
    start.map(async ({ spec }) => [spec.name, await images.lookUp(spec, signal)] as const),
  );
  return new Map(found.filter((entry): entry is readonly [string, Image] => entry[1] !== undefined));
}

/** Its log stays until the Pod goes. */
async function resetContainer(
  services: PodServices,
  container: RuntimeContainer,
  { pod, observed, signal }: ExecutionContext,
): Promise<void> {
  const podIp = readySandbox(observed)?.ips[0] ?? '';
  if (container.state !== 'exited')
    await stopContainer(services, pod, container, { graceSeconds: 0, message: 'killing', podIp, signal });
  await services.runtime.removeContainer(container.id, { signal });
}

/** The classes first: a Pod's group has no more than those above it. Containers that still run with more than they are to have keep it. */
async function ensureCgroups(services: PodServices, pod: Pod, observed: RuntimePod): Promise<void> {
  const { cgroups } = services.host;
  const settings = resourceSettings(services);
  await services.ensureNodeCgroups();
  const before = podCgroupLimits(actuatedPod(services, pod, observed), settings);
  try {
    await cgroups.ensure(pod, limitsWhileResizing(before, podCgroupLimits(pod, settings)));
  } catch (error) {
    const message = `unable to ensure pod container exists: ${messageOf(error)}`;
    services.event(pod, 'Warning', 'FailedCreatePodContainer', message);
    throw error;
  }
  const isNew = services.allocations.actuatedAsWhole(pod.metadata.uid ?? '') === undefined;
  if (isNew) services.allocations.actuatePod(pod);
}

async function resize(
  services: PodServices,
  plan: PodPlan,
  context: ExecutionContext,
): Promise<'done' | 'failed' | 'nothing'> {
  const { pod, signal } = context;
  const hasRestarted = plan.stop.some(({ reason }) => reason === 'resize');
  if (plan.resize.length === 0 && !hasRestarted && !changesWhole(services, pod)) return 'nothing';
  try {
    await resizeContainers(services, plan.resize, context);
    await services.host.cgroups.ensure(pod, podCgroupLimits(pod, resourceSettings(services)));
  } catch (error) {
    signal.throwIfAborted();
    context.resizeFailed(messageOf(error));
    return 'failed';
  }
  services.allocations.actuatePod(pod);
  return 'done';
}

async function toldIfFailed<T>(services: PodServices, pod: Pod, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof VolumePending) || error.isOverdue)
      services.event(pod, 'Warning', 'FailedMount', messageOf(error));
    throw error;
  }
}

async function stopForPlan(
  services: PodServices,
  stop: ContainerStop,
  { pod, observed, signal }: ExecutionContext,
): Promise<void> {
  const probe =
    stop.reason === 'livenessProbe'
      ? stop.spec.livenessProbe
      : stop.reason === 'startupProbe'
        ? stop.spec.startupProbe
        : undefined;
  const graceSeconds = probe?.terminationGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  const podIp = readySandbox(observed)?.ips[0] ?? '';
  await stopContainer(services, pod, stop.container, { graceSeconds, message: stop.message, podIp, signal });
}

async function describeSandbox(
  services: PodServices,
  plan: PodPlan,
  { pod, hostResolvConf }: SandboxContext,
): Promise<SandboxConfig> {
  const { configuration, host } = services;
  const settings = resourceSettings(services);
  return sandboxConfig(pod, {
    attempt: plan.attempt,
    logDirectory: host.files.logDirectory(pod),
    cgroupParent: host.cgroups.parentOf(pod),
    clusterDns: configuration.clusterDns,
    clusterDomain: configuration.clusterDomain,
    hostResolvConf,
    resources: podResources(withoutOverhead(pod), settings),
    overhead: overheadResources(pod, settings),
    users: await ownUsers(services, pod),
  });
}

function withoutOverhead(pod: Pod): Pod {
  return pod.spec.overhead ? { ...pod, spec: { ...pod.spec, overhead: undefined } } : pod;
}

interface SandboxContext extends ExecutionContext {
  /** Content of the file that the Pod's own derives from. */
  readonly hostResolvConf: string;
}

interface PodSandbox {
  readonly sandbox: SandboxConfig;
  readonly current: SandboxStatus;
}

async function presentSandbox(services: PodServices, plan: PodPlan, context: SandboxContext): Promise<PodSandbox> {
  const current = readySandbox(context.observed);
  if (!current) throw new Error('pod sandbox is gone');
  return { sandbox: await describeSandbox(services, plan, context), current };
}

async function makeSandbox(services: PodServices, plan: PodPlan, context: SandboxContext): Promise<PodSandbox> {
  const { pod, observed, signal } = context;
  const { clock, metrics, runtime } = services;
  if (observed.sandboxes.length > 0) {
    services.event(pod, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
    const graceSeconds = pod.spec.terminationGracePeriodSeconds ?? 30;
    await stopAll(services, pod, observed, { graceSeconds, podIp: '', signal });
    for (const { id } of observed.sandboxes) await runtime.stopPodSandbox(id, { signal });
  }
  await prepareClaims(services, pod);
  const hasOwnUsers = pod.spec.hostUsers === false;
  metrics.count('started_pods_total');
  if (hasOwnUsers) metrics.count('started_user_namespaced_pods_total');
  try {
    const runtimeHandler = await handlerOf(services, pod, signal);
    checkUsers(services, pod, runtimeHandler);
    const sandbox = await describeSandbox(services, plan, context);
    const labels = { runtime_handler: runtimeHandler };
    const startedMs = clock.monotonic();
    const id = await runtime.runPodSandbox(sandbox, { signal, runtimeHandler }).catch((error) => {
      metrics.count('run_podsandbox_errors_total', labels);
      throw error;
    });
    metrics.time('run_podsandbox_duration_seconds', clock.monotonic() - startedMs, labels);
    return { sandbox, current: { ...(await runtime.podSandboxStatus(id, { signal })), runtimeHandler } };
  } catch (error) {
    signal.throwIfAborted();
    metrics.count('started_pods_errors_total');
    if (hasOwnUsers) metrics.count('started_user_namespaced_pods_errors_total');
    services.event(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${messageOf(error)}`);
    throw error;
  }
}

async function prepareClaims(services: PodServices, pod: Pod): Promise<void> {
  try {
    await services.dynamicResources?.prepare(pod);
  } catch (error) {
    const message = `Failed to prepare dynamic resources: ${messageOf(error)}`;
    services.event(pod, 'Warning', 'FailedPrepareDynamicResources', message);
    throw error;
  }
}

/** Without its own users a Pod that asks for them would be root on the node. */
function checkUsers(services: PodServices, pod: Pod, handler: string): void {
  if (pod.spec.hostUsers !== false || services.runtimeHandler(handler)?.userNamespaces) return;
  const who = handler === '' ? 'runtime' : `RuntimeClass handler "${handler}"`;
  throw new Error(`can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`);
}

/** Undefined: those of the node. */
async function ownUsers({ userNamespaces }: PodServices, pod: Pod): Promise<IdMapping | undefined> {
  return pod.spec.hostUsers === false ? userNamespaces.of(pod.metadata.uid ?? '') : undefined;
}

/** What the Pod's RuntimeClass calls the runtime's configuration; empty: the default one. */
async function handlerOf({ volumeSources }: PodServices, pod: Pod, signal: AbortSignal): Promise<string> {
  const name = pod.spec.runtimeClassName;
  if (!name) return '';
  try {
    return (await volumeSources.client.get(runtimeClasses, { name }, { signal })).handler;
  } catch (error) {
    throw new Error(`failed to get sandbox runtime: ${messageOf(error)}`, { cause: error });
  }
}

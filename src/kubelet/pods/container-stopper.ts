/**
 * Ends containers with grace: the event, the preStop hook, then the signal and what is left of the grace period. Sidecars end after
 * the others, last started first.
 */
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import type { Container, LifecycleHandler, Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import { runtimeAnnotations } from '../runtime/runtime.ts';
import type { PodServices } from './pod-services.ts';
import type { RuntimeContainer, RuntimePod } from './runtime-pod.ts';

export interface StopOptions {
  readonly graceSeconds: number;
  /** Of the Killing event; absent: `Stopping container NAME`. */
  readonly message?: string | undefined;
  /** For hooks over HTTP. */
  readonly podIp: string;
  readonly signal: AbortSignal;
}

/** A container gets this long even where the grace period says less, so that it is not killed outright. */
const minimumGraceSeconds = 2;

export async function stopContainer(
  services: PodServices,
  pod: Pod,
  container: RuntimeContainer,
  options: StopOptions,
): Promise<void> {
  const spec = specOf(pod, container);
  const { clock } = services;
  const startedMs = clock.monotonic();
  services.event(pod, 'Normal', 'Killing', options.message ?? `Stopping container ${container.name}`, container.name);
  if (spec.lifecycle?.preStop && options.graceSeconds > 0) await runPreStop(services, pod, spec, container, options);
  const usedSeconds = Math.floor((clock.monotonic() - startedMs) / 1000);
  const left = Math.max(options.graceSeconds - usedSeconds, minimumGraceSeconds);
  await services.runtime.stopContainer(container.id, left, { signal: options.signal });
}

/** All running containers of a Pod. Fails when one could not be ended. */
export async function stopAll(
  services: PodServices,
  pod: Pod,
  observed: RuntimePod,
  options: StopOptions,
): Promise<void> {
  const { clock } = services;
  const startedMs = clock.monotonic();
  const alive = observed.containers.filter(({ state }) => state === 'running' || state === 'unknown');
  const order = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const sidecars = alive
    .filter(({ name }) => order.includes(name))
    .sort((a, b) => order.indexOf(b.name) - order.indexOf(a.name));
  const others = alive.filter(({ name }) => !order.includes(name));
  await settleAll(others.map((container) => stopContainer(services, pod, container, options)));
  for (const container of sidecars) {
    const usedSeconds = Math.floor((clock.monotonic() - startedMs) / 1000);
    await stopContainer(services, pod, container, {
      ...options,
      graceSeconds: Math.max(0, options.graceSeconds - usedSeconds),
    });
  }
}

async function settleAll(work: readonly Promise<void>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).filter((result) => result.status === 'rejected');
  if (failures[0]) throw failures[0].reason;
}

async function runPreStop(
  services: PodServices,
  pod: Pod,
  spec: Container,
  container: RuntimeContainer,
  options: StopOptions,
): Promise<void> {
  const { clock, log } = services;
  const limit = new AbortController();
  const timer = clock.after(options.graceSeconds * 1000, () => limit.abort(new Error('grace period is over')));
  const signal = AbortSignal.any([options.signal, limit.signal]);
  try {
    await runHook(
      services,
      spec.lifecycle!.preStop!,
      { pod, container: spec, containerId: container.id, ip: options.podIp },
      signal,
    );
  } catch (error) {
    options.signal.throwIfAborted();
    log.info('preStop hook failed', { pod: pod.metadata.name, container: spec.name, error: messageOf(error) });
    services.event(pod, 'Warning', 'FailedPreStopHook', 'PreStopHook failed', spec.name);
  } finally {
    timer.cancel();
  }
}

export interface HookTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  readonly ip: string;
}

/** A postStart or preStop hook; throws when it fails. */
export async function runHook(
  services: PodServices,
  handler: LifecycleHandler,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (handler.exec) {
    const outcome = await untilAborted(services.prober.exec(target, handler.exec.command ?? [], 0, signal), signal);
    if (outcome.result !== 'success') throw new Error(outcome.output);
  } else if (handler.httpGet) {
    const outcome = await untilAborted(services.prober.httpGet(handler.httpGet, target, signal), signal);
    if (outcome.result !== 'success') throw new Error(outcome.output);
  } else if (handler.sleep) {
    await sleep(services.clock, handler.sleep.seconds * 1000, signal);
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** As the Pod declares it, or what the container's annotations remember of it when the Pod itself is forgotten. */
export function specOf(pod: Pod, container: RuntimeContainer): Container {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const declared = [...containers, ...initContainers, ...(ephemeralContainers as readonly Container[])].find(
    ({ name }) => name === container.name,
  );
  if (declared) return declared;
  return { name: container.name, image: container.image, lifecycle: rememberedHook(container) };
}

function rememberedHook({ annotations }: RuntimeContainer): Container['lifecycle'] {
  const text = annotations[runtimeAnnotations.preStopHandler];
  if (!text) return undefined;
  try {
    return { preStop: JSON.parse(text) as LifecycleHandler };
  } catch {
    return undefined;
  }
}

/**
 * A Pod as the runtime knows it: its sandboxes and containers, newest first. Observed anew before every decision, since nothing
 * the kubelet remembers survives its restart, and the runtime is the only one that knows what runs.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { ContainerRuntime, ContainerState, ContainerStatus, Sandbox, SandboxStatus } from '../runtime/runtime.ts';
import { isRuntimeNotFound, runtimeAnnotations, runtimeLabels } from '../runtime/runtime.ts';

export interface RuntimeContainer extends ContainerStatus {
  readonly sandboxId: string;
  /** How often a container of this name was started again before this one. */
  readonly restartCount: number;
  /** Of the container's definition that this one was made from. */
  readonly hash: string;
}

export interface RuntimePod {
  readonly sandboxes: readonly SandboxStatus[];
  readonly containers: readonly RuntimeContainer[];
}

export const emptyRuntimePod: RuntimePod = { sandboxes: [], containers: [] };

/** What an exited container's termination message is read with; the runtime does not know it. */
export type ReadTerminationMessage = (container: ContainerStatus) => Promise<string | undefined>;

export interface ObserveOptions {
  readonly signal?: AbortSignal | undefined;
  readonly readMessage: ReadTerminationMessage;
  /** Why an exited container has ended, where the runtime may not know it; default: as the runtime says. */
  readonly readReason?: ((container: ContainerStatus) => Promise<string>) | undefined;
  /** Of the observation before: an exited container is not asked about twice. */
  readonly previous?: RuntimePod | undefined;
  /** Containers that were made since then: asked about while all are listed, and not one after the other. */
  readonly made?: readonly string[] | undefined;
}

export async function observePod(runtime: ContainerRuntime, uid: string, options: ObserveOptions): Promise<RuntimePod> {
  const { signal } = options;
  const labels = { [runtimeLabels.podUid]: uid };
  const ask = (id: string) => unlessGone(runtime.containerStatus(id, { signal }));
  const asked = new Map((options.made ?? []).map((id) => [id, ask(id)]));
  // Whoever leaves because the list failed waits for none of them.
  for (const answer of asked.values()) answer.catch(() => undefined);
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandboxes({ labels }, { signal }),
    runtime.listContainers({ labels }, { signal }),
  ]);
  const known = new Map(options.previous?.containers.map((container) => [container.id, container]));
  const statuses = await Promise.all(
    containers.map(async (container): Promise<RuntimeContainer | undefined> => {
      const before = known.get(container.id);
      if (before && before.state === container.state && isSettled(before.state)) return before;
      const status = await (asked.get(container.id) ?? ask(container.id));
      if (!status) return undefined;
      const message = status.state === 'exited' ? await options.readMessage(status) : undefined;
      const reason = (status.state === 'exited' && (await options.readReason?.(status))) || status.reason;
      return { ...withRuntimeAnnotations(status, container.sandboxId), reason, ...(message ? { message } : {}) };
    }),
  );
  const sandboxStatuses = await Promise.all(sandboxes.map((sandbox) => sandboxStatus(runtime, sandbox, options)));
  return {
    sandboxes: sandboxStatuses
      .filter((sandbox) => sandbox !== undefined)
      .sort((a, b) => newestFirst(a, b) || b.metadata.attempt - a.metadata.attempt),
    containers: statuses
      .filter((container) => container !== undefined)
      .sort((a, b) => newestFirst(a, b) || b.attempt - a.attempt),
  };
}

const isSettled = (state: ContainerState) => state === 'exited' || state === 'running';

function withRuntimeAnnotations(status: ContainerStatus, sandboxId: string): RuntimeContainer {
  const count = Number(status.annotations[runtimeAnnotations.restartCount] ?? Number.NaN);
  return {
    ...status,
    sandboxId,
    restartCount: Number.isInteger(count) ? count : status.attempt,
    hash: status.annotations[runtimeAnnotations.containerHash] ?? '',
  };
}

function sandboxStatus(
  runtime: ContainerRuntime,
  sandbox: Sandbox,
  options: ObserveOptions,
): Promise<SandboxStatus | undefined> | SandboxStatus {
  // Addresses never change while a sandbox is ready, and one that has ended has none.
  const before = options.previous?.sandboxes.find(({ id, state }) => id === sandbox.id && state === sandbox.state);
  return before ?? unlessGone(runtime.podSandboxStatus(sandbox.id, { signal: options.signal }));
}

async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isRuntimeNotFound(error)) return undefined;
    throw error;
  }
}

function newestFirst(a: { createdAtMs: number }, b: { createdAtMs: number }): number {
  return b.createdAtMs - a.createdAtMs;
}

export function latestSandbox(observed: RuntimePod): SandboxStatus | undefined {
  return observed.sandboxes[0];
}

export function readySandbox(observed: RuntimePod): SandboxStatus | undefined {
  return observed.sandboxes.find(({ state }) => state === 'ready');
}

/** The newest container of that name, whichever sandbox it was in. */
export function latestContainer(observed: RuntimePod, name: string): RuntimeContainer | undefined {
  return observed.containers.find((container) => container.name === name);
}

export function runningContainers(observed: RuntimePod): readonly RuntimeContainer[] {
  return observed.containers.filter(({ state }) => state === 'running');
}

/**
 * Enough of a Pod to end it: what the labels of its sandboxes and containers tell. For Pods that the API server forgot while the
 * kubelet was away.
 */
export function podFromLabels(labels: Readonly<Record<string, string>>): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: labels[runtimeLabels.podName] ?? '',
      namespace: labels[runtimeLabels.podNamespace] ?? '',
      uid: labels[runtimeLabels.podUid] ?? '',
    },
    spec: { containers: [] },
  };
}

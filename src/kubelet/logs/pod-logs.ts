/** Finds the log of a Pod's container, or says in upstream's words why there is none. */

import { containerStatus } from '../../api/core/v1/pod-status.ts';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import { badRequest, notFound } from '../../apimachinery/status.ts';
import type { ContainerLogs } from '../host/host.ts';
import type { PodWorker } from '../pods/pod-worker.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import { type LogOptions, printLog } from './container-log.ts';

export interface LogContext {
  readonly runtime: ContainerRuntime;
  readonly logs: ContainerLogs;
  readonly nowMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Throws a `StatusError` before the first byte when there is nothing to read. */
export async function podLog(
  worker: PodWorker,
  container: string,
  options: LogOptions,
  context: LogContext,
): Promise<AsyncIterable<Uint8Array>> {
  const pod = worker.pod;
  const status = containerStatus(worker.status, container);
  if (!isContainerOf(pod, container))
    throw badRequest(`container ${container} is not valid for pod ${pod.metadata.name}`);
  const id = containerWithLog(pod, container, status, options.previous ?? false);
  const { runtime, logs, nowMs, signal } = context;
  const found = await runtime.containerStatus(id, { signal }).catch(() => undefined);
  if (!found) throw notFound({ group: '', resource: 'containers' }, container);
  const records = logs.read(found.logPath, {
    // What is chosen by time or stream is not counted from the end of the file.
    tail: options.stream && options.stream !== 'All' ? undefined : options.tailLines,
    follow: options.follow ?? false,
    isRunning: async () => (await runtime.containerStatus(id).catch(() => undefined))?.state === 'running',
    signal,
  });
  return printLog(records, options, nowMs);
}

function isContainerOf(pod: Pod, name: string): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].some((container) => container.name === name);
}

const pullReasons: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

function containerWithLog(pod: Pod, name: string, status: ContainerStatus | undefined, previous: boolean): string {
  const podName = JSON.stringify(pod.metadata.name);
  const container = JSON.stringify(name);
  if (!status) throw badRequest(`container ${container} in pod ${podName} is not available`);
  const last = status.lastState?.terminated?.containerID;
  if (previous) {
    if (!last) throw badRequest(`previous terminated container ${container} in pod ${podName} not found`);
    return withoutScheme(last);
  }
  const { running, terminated, waiting } = status.state ?? {};
  const current = (running && status.containerID) || terminated?.containerID;
  if (current) return withoutScheme(current);
  if (last) return withoutScheme(last);
  const reason = waiting?.reason ?? '';
  if (waiting)
    throw badRequest(`container ${container} in pod ${podName} is waiting to start: ${pullReasons[reason] ?? reason}`);
  throw badRequest(`container ${container} in pod ${podName} is not available`);
}

const withoutScheme = (id: string) => id.replace(/^[^:]*:\/\//, '');

/** `POST /checkpoint/NAMESPACE/POD/CONTAINER`: has the runtime write a running container's memory and files into an archive on the node. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseInt64 } from '../../apimachinery/go-number.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { KubeletView } from './kubelet-view.ts';
import { failure, json, type Reply } from './replies.ts';
import { runningContainer } from './streaming.ts';

export interface CheckpointRequest {
  /** Namespace, Pod and container. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function checkpoint(
  view: KubeletView,
  { segments, query, clock, signal }: CheckpointRequest,
): Promise<Reply> {
  const [namespace = '', name = '', containerName = ''] = segments;
  const pod = view.pod(namespace, name);
  if (!pod) return failure(404, 'pod does not exist');
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const all = [...containers, ...initContainers, ...ephemeralContainers];
  if (!all.some((container) => container.name === containerName))
    return failure(404, `container ${containerName} does not exist`);
  const timeoutSeconds = timeoutIn(query);
  if (timeoutSeconds === 'unreadable') return failure(404, 'cannot parse value of timeout parameter');
  try {
    const container = await runningContainer(view, pod.metadata.uid ?? '', containerName);
    if (!container) throw new Error(`container ${containerName} not found`);
    const directory = view.checkpointDirectory ?? '';
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const at = formatTime(clock.now());
    const location = join(directory, `checkpoint-${name}_${namespace}-${containerName}-${at}.tar`);
    await view.runtime.checkpointContainer(container.id, location, { timeoutSeconds, signal });
    return json({ items: [location] });
  } catch (error) {
    return failure(500, `checkpointing of ${namespace}/${name}/${containerName} failed (${messageOf(error)})`);
  }
}

/** The last one counts. */
function timeoutIn(query: URLSearchParams): number | 'unreadable' | undefined {
  const text = query.getAll('timeout').at(-1);
  if (text === undefined) return undefined;
  try {
    return parseInt64(text);
  } catch {
    return 'unreadable';
  }
}

/** Waiting for a Node to be Ready, with what it says meanwhile. */
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { CommandError } from '../command-error.ts';

export interface NodeReadiness {
  readonly nodeName: string;
  /** What was said before this time does not count; undefined: all counts. */
  readonly sinceMs: number | undefined;
  readonly withinMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** Resolves when the Node is Ready; rejects when time is up, with the Node's own reason. */
export async function nodeReady(client: Client, options: NodeReadiness): Promise<void> {
  const { nodeName, clock, signal, withinMs, note } = options;
  const limit = new AbortController();
  const timer = clock.after(withinMs, () => limit.abort());
  const ending = AbortSignal.any([signal, limit.signal]);
  let reason = 'it has not registered';
  try {
    while (!ending.aborted) {
      try {
        const watch = client.watch(nodes, { fieldSelector: `metadata.name=${nodeName}`, signal: ending });
        for await (const event of watch) {
          if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
          const obstacle = obstacleOf(event.object, options.sinceMs);
          if (obstacle === undefined) return;
          if (obstacle !== reason) note(obstacle);
          reason = obstacle;
        }
      } catch (error) {
        if (ending.aborted) break;
        reason = error instanceof Error ? error.message : String(error);
      }
      await sleep(clock, 100, ending).catch(() => {});
    }
  } finally {
    timer.cancel();
  }
  signal.throwIfAborted();
  throw new CommandError(
    `node ${nodeName} is not Ready after ${withinMs / 1000} s: ${reason}.`,
    'Its log is run/node.log in the data directory.',
  );
}

/** Why the Node is not Ready; undefined: it is. */
export function obstacleOf(node: Node, sinceMs: number | undefined): string | undefined {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  const heartbeatMs = Date.parse(ready?.lastHeartbeatTime ?? '') || 0;
  // Times in objects are whole seconds.
  if (!ready || (sinceMs !== undefined && heartbeatMs < Math.floor(sinceMs / 1000) * 1000))
    return 'waiting for the kubelet';
  return ready.status === 'True' ? undefined : (ready.message ?? ready.reason ?? 'not Ready');
}

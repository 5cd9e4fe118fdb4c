/**
 * Deletes finished Jobs `ttlSecondsAfterFinished` after their end, together with their Pods. What it deletes is looked at once more
 * at the API server, for the user may have lengthened its life meanwhile.
 */
import { type Job, jobs } from '../../api/gen/batch-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';

export interface TtlAfterFinishedOptions {
  readonly workers?: number | undefined;
}

export async function runTtlAfterFinishedController(
  context: ComponentContext,
  options: TtlAfterFinishedOptions = {},
): Promise<void> {
  const { client, clock, informers } = context;
  const all = informers.of(jobs);
  const controller = createController(context, {
    name: 'ttl-after-finished-controller',
    queue: 'ttl_jobs_to_delete',
    workers: options.workers ?? 5,
    waitFor: [all],
    async reconcile(key: string): Promise<ReconcileResult | undefined> {
      const seen = all.get(key);
      const seenLeft = seen && millisecondsLeft(seen, clock.now());
      if (!seen || seenLeft === undefined) return undefined;
      if (seenLeft > 0) return { againAfterMs: seenLeft };
      const { namespace, name = '', uid } = seen.metadata;
      try {
        const live = await client.get(jobs, { namespace, name });
        const left = millisecondsLeft(live, clock.now());
        if (live.metadata.uid !== uid || left === undefined) return undefined;
        if (left > 0) return { againAfterMs: left };
        const { resourceVersion } = live.metadata;
        await client.delete(
          jobs,
          { namespace, name },
          { propagationPolicy: 'Foreground', preconditions: { uid, resourceVersion } },
        );
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return undefined;
    },
  });
  controller.watch(all);
  await controller.run();
}

/** Until the Job may go; undefined for one that is not finished, is going already or has no such limit. */
export function millisecondsLeft({ metadata, spec, status }: Job, nowMs: number): number | undefined {
  if (metadata.deletionTimestamp || spec.ttlSecondsAfterFinished === undefined) return undefined;
  const end = status?.conditions?.find(
    ({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True',
  );
  if (!end?.lastTransitionTime) return undefined;
  return Math.max(0, Date.parse(end.lastTransitionTime) + spec.ttlSecondsAfterFinished * 1000 - nowMs);
}

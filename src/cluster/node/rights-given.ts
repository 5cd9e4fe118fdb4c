/**
 * For parts of a node whose rights are the cluster's to give: at its very first start they are a moment earlier than those, and an informer
 * that was refused waits for longer and longer.
 */
import type { ResourceType } from '../../apimachinery/resource.ts';
import { sleep } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';

const lookMs = 100;

/** Resolves when the part may list these, or must stop. */
export async function rightsGiven<T>(
  { client, clock, signal }: ComponentContext,
  type: ResourceType<T>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await client.list(type, { limit: 1, signal });
      return;
    } catch {
      await sleep(clock, lookMs, signal).catch(() => {});
    }
  }
}

/**
 * Tells kubelets, by an annotation on their Node, how long they may keep Secrets and ConfigMaps without asking again: the more
 * Nodes, the longer. The bounds overlap, so that a cluster that grows and shrinks by one Node does not rewrite all of them each time.
 */
import { nodes as nodeType } from '../../api/gen/core-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';

const annotation = 'node.alpha.kubernetes.io/ttl';

const bounds = [
  { sizeMin: 0, sizeMax: 100, ttlSeconds: 0 },
  { sizeMin: 90, sizeMax: 500, ttlSeconds: 15 },
  { sizeMin: 450, sizeMax: 1000, ttlSeconds: 30 },
  { sizeMin: 900, sizeMax: 2000, ttlSeconds: 60 },
  { sizeMin: 1800, sizeMax: Number.POSITIVE_INFINITY, ttlSeconds: 300 },
] as const;

/** The step for `size` Nodes, coming from `step`. */
export function ttlStep(size: number, step: number): number {
  let next = step;
  while (next + 1 < bounds.length && size > bounds[next]!.sizeMax) next++;
  while (next > 0 && size < bounds[next]!.sizeMin) next--;
  return next;
}

export async function runTtlController(context: ComponentContext): Promise<void> {
  const nodes = context.informers.of(nodeType);
  let step = 0;
  const controller = createController(context, {
    name: 'ttl-controller',
    queue: 'ttlcontroller',
    workers: 5,
    waitFor: [nodes],
    async reconcile(name: string) {
      const node = nodes.get(name);
      const ttl = String(bounds[step]?.ttlSeconds ?? 0);
      if (!node || node.metadata.annotations?.[annotation] === ttl) return;
      try {
        const body = { metadata: { annotations: { [annotation]: ttl } } };
        await context.client.patch(nodeType, { name }, { type: 'strategic', body });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  });
  const resize = () => {
    const next = ttlStep(nodes.list().length, step);
    if (next === step) return;
    step = next;
    for (const { metadata } of nodes.list()) controller.enqueue(metadata.name ?? '');
  };
  nodes.onChange({ added: resize, deleted: resize });
  controller.watch(nodes);
  await controller.run();
}

/**
 * Gives each Node its own block of Pod addresses, one per IP family. A block once given stays with its Node until the Node is
 * deleted; what Nodes hold already is noted before anything new is given.
 */
import { type Node, nodes as nodeType } from '../../api/gen/core-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { withKind } from '../shared/events.ts';
import { CidrSet } from './cidr-set.ts';

export interface NodeIpamOptions {
  /** One range, or one per family: `10.244.0.0/16`, `fd00:10:244::/56`. Empty: nothing is allocated. */
  readonly clusterCidrs: readonly string[];
  /** Ranges of Service addresses, of which no Node may get a part. */
  readonly serviceCidrs?: readonly string[] | undefined;
  /** Length of a Node's block; defaults 24 and 64. */
  readonly maskSizeIpv4?: number | undefined;
  readonly maskSizeIpv6?: number | undefined;
}

export async function runNodeIpamController(context: ComponentContext, options: NodeIpamOptions): Promise<void> {
  if (options.clusterCidrs.length === 0) return;
  const { client, informers, signal } = context;
  const sets = options.clusterCidrs.map((range) => {
    const mask = range.includes(':') ? (options.maskSizeIpv6 ?? 64) : (options.maskSizeIpv4 ?? 24);
    return new CidrSet(range, mask);
  });
  for (const set of sets) for (const range of options.serviceCidrs ?? []) set.occupy(range);
  const nodes = informers.of(nodeType);
  const events = context.eventRecorder('cidrAllocator');
  /** Blocks given to Nodes that the informer may not show yet. */
  const given = new Map<string, readonly string[]>();

  const controller = createController(context, {
    name: 'node-ipam-controller',
    // One at a time: two Nodes must never be promised the same block.
    workers: 1,
    waitFor: [nodes],
    async reconcile(name: string) {
      const node = nodes.get(name);
      if (!node) {
        for (const cidr of given.get(name) ?? []) for (const set of sets) set.release(cidr);
        given.delete(name);
        return;
      }
      if (hasBlocks(node)) return note(node);
      const blocks = given.get(name) ?? allocate(node);
      if (blocks) await assign(node, blocks);
    },
  });

  function note(node: Node): void {
    const blocks = blocksOf(node);
    for (const cidr of blocks) for (const set of sets) set.occupy(cidr);
    given.set(node.metadata.name ?? '', blocks);
  }

  function allocate(node: Node): readonly string[] | undefined {
    const blocks: string[] = [];
    for (const set of sets) {
      const block = set.allocate();
      if (block !== undefined) {
        blocks.push(block);
        continue;
      }
      blocks.forEach((taken, index) => void sets[index]?.release(taken));
      status(node, 'CIDRNotAvailable');
      throw new Error(
        `failed to allocate cidr: CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range`,
      );
    }
    given.set(node.metadata.name ?? '', blocks);
    return blocks;
  }

  async function assign(node: Node, blocks: readonly string[]): Promise<void> {
    const body = { spec: { podCIDR: blocks[0], podCIDRs: blocks } };
    try {
      await client.patch(nodeType, { name: node.metadata.name ?? '' }, { type: 'strategic', body });
    } catch (error) {
      if (isNotFound(error)) return;
      status(node, 'CIDRAssignmentFailed');
      throw error;
    }
  }

  function status(node: Node, reason: string): void {
    events.record(withKind(nodeType, node), 'Normal', reason, `Node ${node.metadata.name} status is now: ${reason}`);
  }

  try {
    await nodes.whenSynced(signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  for (const node of nodes.list()) if (hasBlocks(node)) note(node);
  controller.watch(nodes);
  await controller.run();
}

function blocksOf({ spec }: Node): readonly string[] {
  if (spec.podCIDRs && spec.podCIDRs.length > 0) return spec.podCIDRs;
  return spec.podCIDR ? [spec.podCIDR] : [];
}

function hasBlocks(node: Node): boolean {
  return blocksOf(node).length > 0;
}

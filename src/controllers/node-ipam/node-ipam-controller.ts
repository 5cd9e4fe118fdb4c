/**
 * Gives each Node its own block of Pod addresses, one per IP family. A block once given stays with its Node until the Node is
 * deleted; what Nodes hold already is noted before anything new is given.
 */
import { type Node, nodes as nodeType } from '../../api/gen/core-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import { withKind } from '../common/events.ts';
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
  const { informers, signal } = context;
  const nodes = informers.of(nodeType);
  const allocator = new BlockAllocator(context, options);
  const controller = createController(context, {
    name: 'node-ipam-controller',
    queue: 'cidrallocator_node',
    // One at a time: two Nodes must never be promised the same block.
    workers: 1,
    waitFor: [nodes],
    async reconcile(name: string) {
      const node = nodes.get(name);
      if (!node) allocator.release(name);
      else if (hasBlocks(node)) allocator.note(node);
      else await allocator.assign(node);
    },
  });
  try {
    await nodes.whenSynced(signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  for (const node of nodes.list()) if (hasBlocks(node)) allocator.note(node);
  controller.watch(nodes);
  await controller.run();
}

class BlockAllocator {
  readonly #context: ComponentContext;
  readonly #events: EventRecorder;
  readonly #sets: readonly CidrSet[];
  /** Blocks given to Nodes that the informer may not show yet. */
  readonly #given = new Map<string, readonly string[]>();

  constructor(context: ComponentContext, { clusterCidrs, serviceCidrs, maskSizeIpv4, maskSizeIpv6 }: NodeIpamOptions) {
    this.#context = context;
    this.#events = context.eventRecorder('cidrAllocator');
    this.#sets = clusterCidrs.map(
      (range) => new CidrSet(range, range.includes(':') ? (maskSizeIpv6 ?? 64) : (maskSizeIpv4 ?? 24)),
    );
    for (const set of this.#sets) for (const range of serviceCidrs ?? []) set.occupy(range);
  }

  /** The Node is gone. */
  release(name: string): void {
    for (const cidr of this.#given.get(name) ?? []) for (const set of this.#sets) set.release(cidr);
    this.#given.delete(name);
  }

  /** The Node has these blocks already. */
  note(node: Node): void {
    const blocks = blocksOf(node);
    for (const cidr of blocks) for (const set of this.#sets) set.occupy(cidr);
    this.#given.set(node.metadata.name ?? '', blocks);
  }

  async assign(node: Node): Promise<void> {
    const name = node.metadata.name ?? '';
    const blocks = this.#given.get(name) ?? this.#allocate(node);
    this.#given.set(name, blocks);
    const body = { spec: { podCIDR: blocks[0], podCIDRs: blocks } };
    try {
      await this.#context.client.patch(nodeType, { name }, { type: 'strategic', body });
    } catch (error) {
      if (isNotFound(error)) return;
      this.#tell(node, 'CIDRAssignmentFailed');
      throw error;
    }
  }

  #allocate(node: Node): readonly string[] {
    const blocks: string[] = [];
    for (const set of this.#sets) {
      const block = set.allocate();
      if (block !== undefined) {
        blocks.push(block);
        continue;
      }
      blocks.forEach((taken, index) => void this.#sets[index]?.release(taken));
      this.#tell(node, 'CIDRNotAvailable');
      throw new Error(
        'failed to allocate cidr: CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range',
      );
    }
    return blocks;
  }

  #tell(node: Node, reason: string): void {
    const message = `Node ${node.metadata.name} status is now: ${reason}`;
    this.#events.record(withKind(nodeType, node), 'Normal', reason, message);
  }
}

function blocksOf({ spec }: Node): readonly string[] {
  if (spec.podCIDRs && spec.podCIDRs.length > 0) return spec.podCIDRs;
  return spec.podCIDR ? [spec.podCIDR] : [];
}

function hasBlocks(node: Node): boolean {
  return blocksOf(node).length > 0;
}

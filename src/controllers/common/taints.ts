/** A Node's taints as controllers change them: the whole list is written, against the version it was read from. */
import { isSameTaint } from '../../api/core/v1/tolerations.ts';
import { type Node, nodes, type Taint } from '../../api/gen/core-v1.ts';
import { isConflict, isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';

const attempts = 5;

/** The list without `remove` and with `add`; the same array when that changes nothing. */
function withTaints(
  present: readonly Taint[] | undefined,
  add: readonly Taint[],
  remove: readonly Taint[],
): readonly Taint[] {
  const list = present ?? [];
  const kept = list.filter((taint) => !remove.some((other) => isSameTaint(other, taint)));
  const missing = add.filter((taint) => !kept.some((other) => isSameTaint(other, taint)));
  return kept.length === list.length && missing.length === 0 ? list : [...kept, ...missing];
}

export function hasTaint(node: Node, taint: Taint): boolean {
  return node.spec.taints?.some((other) => isSameTaint(other, taint)) ?? false;
}

/** Writes the change; a conflict is met with the newest Node. Returns whether anything was written; a Node that is gone needs none. */
export async function changeTaints(
  client: Client,
  node: Node,
  change: { readonly add?: readonly Taint[]; readonly remove?: readonly Taint[] },
): Promise<boolean> {
  const name = node.metadata.name ?? '';
  let present = node;
  for (let attempt = 1; ; attempt++) {
    const before = present.spec.taints ?? [];
    const taints = withTaints(before, change.add ?? [], change.remove ?? []);
    if (taints === before) return false;
    const body = { metadata: { resourceVersion: present.metadata.resourceVersion }, spec: { taints } };
    try {
      await client.patch(nodes, { name }, { type: 'merge', body });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error) || attempt === attempts) throw error;
      present = await client.get(nodes, { name });
    }
  }
}

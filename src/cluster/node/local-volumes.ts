/** Where the volumes of the class `local` are that a node of this machine has. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type DataDirectory, layOut } from '../data/data-directory.ts';

/**
 * Of the first node, whose data directory it is, or of a further one, which only joined the cluster and may make no volumes itself; undefined for
 * all others. Names come from claims, which anybody writes: nothing is made of them but a comparison.
 */
export function volumesOf(
  nodeName: string,
  first: { readonly nodeName: string; readonly directory: DataDirectory },
): string | undefined {
  const { volumes, localNodes } = first.directory;
  if (nodeName === first.nodeName) return volumes;
  const further = existsSync(localNodes) ? readdirSync(localNodes) : [];
  return further.includes(nodeName) ? layOut(join(localNodes, nodeName)).volumes : undefined;
}

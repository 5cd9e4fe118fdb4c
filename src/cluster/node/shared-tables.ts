/**
 * Tables of the kernel that have no owner: iptables, and CNI's plugins through it, make `nat` and `filter` when they first look. What was
 * not there before a node of ours came, and holds no rule after it has gone, goes with it; everything else is somebody's.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const shared = ['ip nat', 'ip6 nat', 'ip filter', 'ip6 filter'];

/** Writes down which of the tables are not there. The first note counts: later ones would find what the node has made. */
export function noteAbsentTables(nft: string, file: string): void {
  if (existsSync(file)) return;
  const present = spawnSync(nft, ['list', 'tables'], { encoding: 'utf8' }).stdout ?? '';
  const absent = shared.filter((table) => !present.split('\n').includes(`table ${table}`));
  writeFileSync(file, JSON.stringify(absent));
}

/** Takes away those of the noted tables that hold no rule. */
export function removeEmptyTables(nft: string, file: string): void {
  if (!existsSync(file)) return;
  for (const table of JSON.parse(readFileSync(file, 'utf8')) as string[]) {
    const listed = spawnSync(nft, ['-j', 'list', 'table', ...table.split(' ')], { encoding: 'utf8' });
    if (listed.status !== 0) continue;
    const { nftables } = JSON.parse(listed.stdout) as { readonly nftables: readonly object[] };
    if (nftables.every((entry) => !('rule' in entry))) spawnSync(nft, ['delete', 'table', ...table.split(' ')]);
  }
  rmSync(file);
}

/** Sets of processors or memory nodes in the kernel's notation: `0-3,8`. Sets are sorted lists without repetition. */

export type CpuSet = readonly number[];

/** Throws for what is no such list. */
export function parseCpuSet(text: string): CpuSet {
  const found = new Set<number>();
  for (const part of text.trim().split(',').filter(Boolean)) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!match) throw new Error(`invalid list of processors: ${JSON.stringify(text)}`);
    const last = Number(match[2] ?? match[1]);
    for (let id = Number(match[1]); id <= last; id++) found.add(id);
  }
  return sorted(found);
}

export function formatCpuSet(set: CpuSet): string {
  const ranges: string[] = [];
  for (let at = 0; at < set.length; ) {
    let end = at;
    while (set[end + 1] === set[end]! + 1) end++;
    ranges.push(end === at ? `${set[at]}` : `${set[at]}-${set[end]}`);
    at = end + 1;
  }
  return ranges.join(',');
}

export function union(...sets: readonly CpuSet[]): CpuSet {
  return sorted(new Set(sets.flat()));
}

export function without(set: CpuSet, removed: CpuSet): CpuSet {
  const gone = new Set(removed);
  return set.filter((id) => !gone.has(id));
}

export function intersection(set: CpuSet, other: CpuSet): CpuSet {
  const kept = new Set(other);
  return set.filter((id) => kept.has(id));
}

function sorted(ids: ReadonlySet<number>): CpuSet {
  return [...ids].sort((a, b) => a - b);
}

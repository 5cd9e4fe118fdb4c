/** Where the time of a process went, by a profile of V8 (`--cpu-prof`): each part's own time, leaving out how the process began. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  /** Microseconds. */
  readonly timeDeltas: readonly number[];
}

/** Of the newest profile in `folder`: milliseconds a minute by folder of ours, package, module of Node.js or what V8 does itself; the largest first. */
export function shares(folder: string, leaveOutMs: number): Readonly<Record<string, number>> {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(newestProfile(folder), 'utf8')) as CpuProfile;
  const parts = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]));
  const sums = new Map<string, number>();
  let atMs = 0;
  samples.forEach((sample, index) => {
    const tookMs = (timeDeltas[index] ?? 0) / 1000;
    atMs += tookMs;
    const part = parts.get(sample) ?? '';
    if (atMs > leaveOutMs && part !== '(idle)') sums.set(part, (sums.get(part) ?? 0) + tookMs);
  });
  const minutes = (atMs - leaveOutMs) / 60_000;
  const sorted = [...sums].sort(([, a], [, b]) => b - a).slice(0, 25);
  return Object.fromEntries(sorted.map(([part, ms]) => [part, Math.round(ms / minutes)]));
}

/** The folder may have profiles of earlier runs. */
function newestProfile(folder: string): string {
  const [newest] = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => join(folder, name))
    .map((path) => ({ path, writtenMs: statSync(path).mtimeMs }))
    .sort((a, b) => b.writtenMs - a.writtenMs);
  if (!newest) throw new Error(`there is no profile in ${folder}`);
  return newest.path;
}

function partOf({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName;
  const own = /\/src\/(.*)\/[^/]*$/.exec(url)?.[1];
  const library = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  return library ?? own ?? url;
}

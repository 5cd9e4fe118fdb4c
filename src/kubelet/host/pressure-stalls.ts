/** How long processes wait for processors, memory and disks, as the kernel tells it (`some avg10=0.00 avg60=0.00 avg300=0.00 total=0`). */
import { readFile } from 'node:fs/promises';
import type { PressureStalls, Stalls, StallTimes } from './host.ts';

/** `pathOf` gives the file for `cpu`, `memory` and `io`. Undefined when one is not there: the kernel does not measure it. */
export async function readPressure(pathOf: (resource: string) => string): Promise<PressureStalls | undefined> {
  const texts = await Promise.all(
    ['cpu', 'memory', 'io'].map((resource) => readFile(pathOf(resource), 'utf8').catch(() => '')),
  );
  const [cpu, memory, io] = texts.map(parseStalls);
  return cpu && memory && io ? { cpu, memory, io } : undefined;
}

export function parseStalls(text: string): Stalls | undefined {
  const times = (kind: string): StallTimes | undefined => {
    const match = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)$`, 'm').exec(text);
    if (!match) return undefined;
    const [avg10, avg60, avg300, total] = match.slice(1).map(Number) as [number, number, number, number];
    return { avg10, avg60, avg300, total };
  };
  const some = times('some');
  // Older kernels tell no full stall of processors.
  return some && { some, full: times('full') ?? { avg10: 0, avg60: 0, avg300: 0, total: 0 } };
}

/** CPU time of the whole machine, from the kernel's count. */
import { readFile } from 'node:fs/promises';

/** The kernel counts in hundredths of a second, whatever its own tick is. */
const ticksPerSecond = 100;

export async function linuxCpuNanoSeconds(): Promise<number> {
  const [first = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = first
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return ((user + nice + system + irq + softirq + steal) / ticksPerSecond) * 1e9;
}

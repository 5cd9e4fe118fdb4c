/** The machine's processors and memory nodes, from /sys. A machine without memory nodes has one. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pageResource } from '../cgroups/page-size.ts';
import { parseCpuSet } from './cpu-set.ts';
import type { MachineTopology, MemoryNode, Processor } from './machine-topology.ts';

const nodeDirectory = '/sys/devices/system/node';
const cpuDirectory = '/sys/devices/system/cpu';

const text = (path: string) =>
  readFile(path, 'utf8').then(
    (content) => content.trim(),
    () => '',
  );

export async function linuxTopology(memoryBytes: number): Promise<MachineTopology> {
  const online = parseCpuSet((await text(join(cpuDirectory, 'online'))) || '0');
  const ids = (await readdir(nodeDirectory).catch(() => []))
    .flatMap((name) => (/^node\d+$/.test(name) ? [Number(name.slice(4))] : []))
    .sort((a, b) => a - b);
  const nodes = await Promise.all(ids.map(memoryNode));
  const nodeOf = new Map<number, number>();
  for (const id of ids)
    for (const cpu of parseCpuSet(await text(join(nodeDirectory, `node${id}`, 'cpulist')))) nodeOf.set(cpu, id);
  const threadsOf = (node: number) => online.filter((id) => (nodeOf.get(id) ?? 0) === node).length;
  const processors = await Promise.all(
    online.map((id) => {
      const node = nodeOf.get(id) ?? 0;
      return processor(id, { node, threads: threadsOf(node) });
    }),
  );
  return {
    processors,
    nodes: nodes.length > 0 ? nodes : [{ id: 0, memoryBytes, hugepages: {}, distances: [10] }],
  };
}

/** The kernel counts cores within their socket; the lowest thread names the core over all. */
async function processor(
  id: number,
  { node, threads }: { readonly node: number; readonly threads: number },
): Promise<Processor> {
  const directory = join(cpuDirectory, `cpu${id}`);
  const [package_, siblings, cache] = await Promise.all([
    text(join(directory, 'topology', 'physical_package_id')),
    text(join(directory, 'topology', 'thread_siblings_list')),
    splitCache(join(directory, 'cache'), threads),
  ]);
  const socket = Math.max(0, Number(package_) || 0);
  return { id, core: parseCpuSet(siblings)[0] ?? id, socket, node, cache: cache ?? socket };
}

/** The cache above the second level that fewer processors share than the node has. */
async function splitCache(directory: string, threadsOfNode: number): Promise<number | undefined> {
  for (const name of await readdir(directory).catch(() => [])) {
    const [level, id, shared] = await Promise.all(
      ['level', 'id', 'shared_cpu_list'].map((file) => text(join(directory, name, file))),
    );
    if (Number(level) <= 2 || !shared) continue;
    const cpus = parseCpuSet(shared);
    if (cpus.length < threadsOfNode) return id ? Number(id) : cpus[0];
  }
  return undefined;
}

async function memoryNode(id: number): Promise<MemoryNode> {
  const directory = join(nodeDirectory, `node${id}`);
  const [memory, distances] = await Promise.all([text(join(directory, 'meminfo')), text(join(directory, 'distance'))]);
  const hugepages: Record<string, number> = {};
  for (const name of await readdir(join(directory, 'hugepages')).catch(() => [])) {
    const kib = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    const pages = Number(await text(join(directory, 'hugepages', name, 'nr_hugepages')));
    if (kib > 0) hugepages[pageResource(kib)] = pages * kib * 1024;
  }
  return {
    id,
    memoryBytes: Number(/MemTotal:\s+(\d+) kB/.exec(memory)?.[1] ?? 0) * 1024,
    hugepages,
    distances: distances.split(/\s+/).filter(Boolean).map(Number),
  };
}

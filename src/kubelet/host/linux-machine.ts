/** What the machine is and how much of it is in use, from /proc, /sys and the file systems. */
import { readdir, readFile, statfs } from 'node:fs/promises';
import { arch, availableParallelism, networkInterfaces, release } from 'node:os';
import type { FilesystemSpace, MachineFacts, MachineUsage } from './host.ts';

const text = (path: string) =>
  readFile(path, 'utf8').then(
    (content) => content.trim(),
    () => '',
  );

export async function machineFacts(rootDirectory: string): Promise<MachineFacts> {
  const [memory, machineId, dbusId, systemUuid, bootId, osRelease, space] = await Promise.all([
    memoryInfo(),
    text('/etc/machine-id'),
    text('/var/lib/dbus/machine-id'),
    text('/sys/class/dmi/id/product_uuid'),
    text('/proc/sys/kernel/random/boot_id'),
    text('/etc/os-release'),
    filesystemSpace(rootDirectory),
  ]);
  return {
    cpuCount: availableParallelism(),
    memoryBytes: memory.get('MemTotal') ?? 0,
    swapBytes: memory.get('SwapTotal') ?? 0,
    hugepages: await hugepages(),
    ephemeralStorageBytes: space.capacityBytes,
    machineId: machineId || dbusId,
    systemUuid: systemUuid || machineId || dbusId,
    bootId,
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? 'Unknown',
    operatingSystem: 'linux',
    architecture: arch() === 'x64' ? 'amd64' : arch(),
  };
}

export async function machineUsage(rootDirectory: string, imageDirectory: string | undefined): Promise<MachineUsage> {
  const [memory, nodefs, imagefs, pidsMax, processes] = await Promise.all([
    memoryInfo(),
    filesystemSpace(rootDirectory),
    filesystemSpace(imageDirectory ?? rootDirectory),
    text('/proc/sys/kernel/pid_max'),
    text('/proc/loadavg'),
  ]);
  return {
    memoryAvailableBytes: memory.get('MemAvailable') ?? 0,
    nodefs,
    imagefs,
    pidsMax: Number(pidsMax) || 32_768,
    // The fourth field is "runnable/existing".
    pidsUsed: Number(/\d+\/(\d+)/.exec(processes)?.[1] ?? 0),
  };
}

async function memoryInfo(): Promise<Map<string, number>> {
  const entries = (await text('/proc/meminfo')).matchAll(/^(\w+):\s+(\d+) kB$/gm);
  return new Map([...entries].map(([, name, kib]) => [name!, Number(kib) * 1024]));
}

async function filesystemSpace(path: string): Promise<FilesystemSpace> {
  const info = await statfs(path).catch(() => statfs('/'));
  return {
    capacityBytes: info.blocks * info.bsize,
    availableBytes: info.bavail * info.bsize,
    inodes: info.files,
    inodesFree: info.ffree,
  };
}

/** Pages of each size, in bytes, by the name that resources have: `hugepages-2Mi`. */
async function hugepages(): Promise<Record<string, number>> {
  const directory = '/sys/kernel/mm/hugepages';
  const sizes: Record<string, number> = {};
  for (const name of await readdir(directory).catch(() => [])) {
    const kib = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    if (kib === 0) continue;
    const pages = Number(await text(`${directory}/${name}/nr_hugepages`));
    sizes[`hugepages-${kib >= 1024 * 1024 ? `${kib / 1024 / 1024}Gi` : `${kib / 1024}Mi`}`] = pages * kib * 1024;
  }
  return sizes;
}

/** One address per family: that of the interface with the default route, else the first that leaves the machine. */
export function machineAddresses(routes: string): readonly string[] {
  const defaultInterface = routes
    .split('\n')
    .map((line) => line.split('\t'))
    .find((fields) => fields[1] === '00000000')?.[0];
  const all = Object.entries(networkInterfaces()).flatMap(([name, list = []]) =>
    list.map((address) => ({ name, ...address })),
  );
  const candidates = all.filter(
    ({ internal, address }) => !internal && !address.startsWith('fe80:') && !address.startsWith('169.254.'),
  );
  const ordered = [...candidates.filter(({ name }) => name === defaultInterface), ...candidates];
  const ofFamily = (family: 'IPv4' | 'IPv6') => ordered.find((address) => address.family === family)?.address;
  return [ofFamily('IPv4'), ofFamily('IPv6')].filter((address) => address !== undefined).slice(0, 1);
}

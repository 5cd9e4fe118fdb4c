/** What the machine is and how much of it is in use, from /proc, /sys and the file systems. */
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { arch, availableParallelism, networkInterfaces, release } from 'node:os';
import { join } from 'node:path';
import { pageResource } from '../cgroups/page-size.ts';
import type { FilesystemSpace, MachineFacts, MachineUsage } from './host.ts';
import { cgroupVersion } from './linux-cgroups.ts';

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
    cgroupVersion: await cgroupVersion(),
    hasSwapController: await hasSwapController(),
    pidsMax: await pidsMax(),
  };
}

export async function machineUsage(rootDirectory: string, imageDirectory: string | undefined): Promise<MachineUsage> {
  const [memory, nodefs, imagefs, pids, processes, devices] = await Promise.all([
    memoryInfo(),
    filesystemSpace(rootDirectory),
    filesystemSpace(imageDirectory ?? rootDirectory),
    pidsMax(),
    text('/proc/loadavg'),
    Promise.all([rootDirectory, imageDirectory ?? rootDirectory].map(deviceOf)),
  ]);
  return {
    // What is neither free nor a page of a file that could be dropped is the working set.
    memoryAvailableBytes: (memory.get('MemFree') ?? 0) + (memory.get('Inactive(file)') ?? 0),
    nodefs,
    imagefs,
    dedicatedImageFs: devices[0] !== devices[1],
    pidsMax: pids,
    // The fourth field is "runnable/existing".
    pidsUsed: Number(/\d+\/(\d+)/.exec(processes)?.[1] ?? 0),
  };
}

async function memoryInfo(): Promise<Map<string, number>> {
  const entries = (await text('/proc/meminfo')).matchAll(/^([\w()]+):\s+(\d+) kB$/gm);
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

/** Process ids, or threads, whichever run out first. */
async function pidsMax(): Promise<number> {
  const [ids, threads] = await Promise.all([text('/proc/sys/kernel/pid_max'), text('/proc/sys/kernel/threads-max')]);
  return Math.min(Number(ids) || 32_768, Number(threads) || Number.POSITIVE_INFINITY);
}

/** In v2 the root group has no such file, so our own is asked. */
async function hasSwapController(): Promise<boolean> {
  if ((await cgroupVersion()) === 'v1') return existsSync('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const own = /^0::(.*)$/m.exec(await text('/proc/self/cgroup'))?.[1] ?? '';
  return existsSync(join('/sys/fs/cgroup', own, 'memory.swap.max'));
}

async function deviceOf(path: string): Promise<number> {
  return (await stat(path).catch(() => stat('/'))).dev;
}

/** Pages of each size, in bytes, by the name that resources have: `hugepages-2Mi`. */
async function hugepages(): Promise<Record<string, number>> {
  const directory = '/sys/kernel/mm/hugepages';
  const sizes: Record<string, number> = {};
  for (const name of await readdir(directory).catch(() => [])) {
    const kib = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    if (kib === 0) continue;
    const pages = Number(await text(`${directory}/${name}/nr_hugepages`));
    sizes[pageResource(kib)] = pages * kib * 1024;
  }
  return sizes;
}

/**
 * Where `--node-ip` is not given: the IPv4 address of the interface with the default route, else the first one that leaves the machine;
 * an IPv6 address only where there is no other. `routes` is the text of `/proc/net/route`.
 */
export function machineAddresses(routes: string, interfaces = networkInterfaces()): readonly string[] {
  const defaultInterface = routes
    .split('\n')
    .map((line) => line.split('\t'))
    .find((fields) => fields[1] === '00000000')?.[0];
  const all = Object.entries(interfaces).flatMap(([name, list = []]) => list.map((address) => ({ name, ...address })));
  const candidates = all.filter(
    ({ internal, address }) => !internal && !address.startsWith('fe80:') && !address.startsWith('169.254.'),
  );
  const ordered = [...candidates.filter(({ name }) => name === defaultInterface), ...candidates];
  const ofFamily = (family: 'IPv4' | 'IPv6') => ordered.find((address) => address.family === family)?.address;
  return [ofFamily('IPv4'), ofFamily('IPv6')].filter((address) => address !== undefined).slice(0, 1);
}

/**
 * The cgroups of Pods and of the classes they are in, made by the kubelet with their limits: as folders, or as slices of systemd, which
 * then must know of each limit lest it puts its own back. Where the machine does not let the kubelet, the runtime makes the groups
 * without limits for Pods as a whole.
 */
import { mkdir, readdir, readFile, rmdir, stat, statfs, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Pod, PodQOSClass } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { NodeCgroupLimits } from '../cgroups/cgroup-limits.ts';
import { type CgroupLimits, type CgroupVersion, cgroupFiles, unitProperties } from '../cgroups/cgroup-limits.ts';
import {
  bestEffortGroup,
  burstableGroup,
  type CgroupDriver,
  type CgroupName,
  cgroupPath,
  podGroup,
  podsGroup,
  sliceOf,
} from '../cgroups/cgroup-names.ts';
import type { PodCgroups, PodsMemory, PressureStalls } from './host.ts';
import { tellsOfOomKill } from './kernel-log.ts';
import { readPressure } from './pressure-stalls.ts';
import { SystemdUnits } from './systemd/systemd-units.ts';

export interface LinuxCgroupsOptions {
  readonly driver: CgroupDriver;
  /** Parent of `kubepods`. */
  readonly root: string;
  readonly perQos: boolean;
  readonly log: Log;
  /** Where the kernel shows the hierarchies. */
  readonly mountPoint?: string;
}

const defaultMountPoint = '/sys/fs/cgroup';
const cgroup2Magic = 0x63677270;
const controllersV1 = [
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'pids',
  'blkio',
  'devices',
  'freezer',
  'hugetlb',
  'systemd',
];

/** `v2` where one hierarchy has all controllers. */
export async function cgroupVersion(mountPoint = defaultMountPoint): Promise<CgroupVersion> {
  const { type } = await statfs(mountPoint).catch(() => ({ type: 0 }));
  return type === cgroup2Magic ? 'v2' : 'v1';
}

export class LinuxCgroups implements PodCgroups {
  readonly #options: LinuxCgroupsOptions;
  readonly #mountPoint: string;
  readonly #units = new SystemdUnits();
  /** Limits as they were last set, by path. */
  readonly #applied = new Map<string, string>();
  #version: Promise<CgroupVersion> | undefined;
  /** The last of those who set the groups above Pods. */
  #nodeTurn: Promise<unknown> = Promise.resolve();
  /** A group of the kubelet's had its limits once: that the next one fails is no verdict on the machine. */
  #hasWorked = false;
  #isHandedOver = false;

  constructor(options: LinuxCgroupsOptions) {
    this.#options = options;
    this.#mountPoint = options.mountPoint ?? defaultMountPoint;
  }

  parentOf(pod: Pod): string {
    const { perQos, root } = this.#options;
    return perQos ? this.#pathOf(podGroup(pod.metadata.uid ?? '', qosClass(pod))) : root;
  }

  /** One after the other: who comes later knows newer limits, which an earlier one that is slow must not undo. */
  ensureNode(limits: () => NodeCgroupLimits): Promise<boolean> {
    const turn = this.#nodeTurn.then(() => this.#applyNode(limits));
    this.#nodeTurn = turn.catch(() => undefined);
    return turn;
  }

  async ensure(pod: Pod, limits: CgroupLimits): Promise<void> {
    if (this.#isOurs) await this.#apply(podGroup(pod.metadata.uid ?? '', qosClass(pod)), limits);
  }

  async remove(podUid: string, qos: PodQOSClass): Promise<void> {
    const { driver, perQos } = this.#options;
    if (!perQos || podUid === '') return;
    const name = podGroup(podUid, qos);
    this.#applied.delete(this.#pathOf(name));
    if (driver === 'systemd') await this.#units.stopSlice(sliceOf(name)).catch(() => undefined);
    for (const hierarchy of await this.#hierarchies()) await removeTree(join(hierarchy, this.#pathOf(name)));
  }

  async podsMemory(): Promise<PodsMemory | undefined> {
    if (!this.#options.perQos) return undefined;
    const path = this.#pathOf(podsGroup);
    return (await this.#whichVersion()) === 'v2'
      ? memoryV2(join(this.#mountPoint, path))
      : memoryV1(join(this.#mountPoint, 'memory', path));
  }

  async oomKills(pod: Pod): Promise<number | undefined> {
    if (!this.#options.perQos || (await this.#whichVersion()) === 'v1') return undefined;
    const text = await readFile(join(this.#mountPoint, this.parentOf(pod), 'memory.events'), 'utf8').catch(() => '');
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  wasOomKilled(containerId: string): boolean {
    return tellsOfOomKill(containerId);
  }

  async pressure(pod: Pod): Promise<PressureStalls | undefined> {
    if (!this.#options.perQos || (await this.#whichVersion()) === 'v1') return undefined;
    return readPressure((resource) => join(this.#mountPoint, this.parentOf(pod), `${resource}.pressure`));
  }

  async limitExisting(path: string, limits: CgroupLimits): Promise<void> {
    const unit = posix.basename(path);
    if (this.#options.driver === 'systemd' && unit.endsWith('.slice'))
      await this.#units.setProperties(unit, unitProperties(limits, await this.#whichVersion()));
    await this.#write(path, limits);
  }

  get #isOurs(): boolean {
    return this.#options.perQos && !this.#isHandedOver;
  }

  #pathOf(name: CgroupName): string {
    const { driver, root } = this.#options;
    return cgroupPath(name, driver, root);
  }

  #whichVersion(): Promise<CgroupVersion> {
    this.#version ??= cgroupVersion(this.#mountPoint);
    return this.#version;
  }

  async #hierarchies(): Promise<readonly string[]> {
    return (await this.#whichVersion()) === 'v1'
      ? controllersV1.map((controller) => join(this.#mountPoint, controller))
      : [this.#mountPoint];
  }

  /** A group that fails keeps no other from its limits. */
  async #applyNode(limits: () => NodeCgroupLimits): Promise<boolean> {
    if (!this.#isOurs) return false;
    const { pods, burstable, bestEffort } = limits();
    const errors: unknown[] = [];
    for (const [name, own] of [
      [podsGroup, pods],
      [burstableGroup, burstable],
      [bestEffortGroup, bestEffort],
    ] as const)
      await this.#apply(name, own).catch((error) => errors.push(error));
    if (errors.length > 0) throw errors[0];
    return this.#isOurs;
  }

  /** Rejects where trying again makes sense. */
  async #apply(name: CgroupName, limits: CgroupLimits): Promise<void> {
    const path = this.#pathOf(name);
    const wanted = JSON.stringify(limits);
    if (!this.#isOurs || this.#applied.get(path) === wanted) return;
    // Should it fail half-way, nobody knows what the group has.
    this.#applied.delete(path);
    try {
      await this.#make(name, limits);
    } catch (error) {
      if (this.#hasWorked) throw error;
      this.#handOver(error);
      return;
    }
    try {
      await this.#write(path, limits);
    } catch (error) {
      if (this.#hasWorked || !isForbidden(error)) throw error;
      this.#handOver(error);
      return;
    }
    this.#applied.set(path, wanted);
    this.#hasWorked = true;
  }

  async #make(name: CgroupName, limits: CgroupLimits): Promise<void> {
    const version = await this.#whichVersion();
    if (this.#options.driver === 'systemd')
      await this.#units.ensureSlice(sliceOf(name), unitProperties(limits, version));
    await (version === 'v1' ? makeV1 : makeV2)(this.#mountPoint, this.#pathOf(name));
  }

  #handOver(error: unknown): void {
    this.#isHandedOver = true;
    this.#options.log.warn('cgroups of Pods are left to the runtime, without limits for Pods as a whole', {
      error: messageOf(error),
    });
  }

  async #write(path: string, limits: CgroupLimits): Promise<void> {
    const version = await this.#whichVersion();
    for (const { controller, name, value } of cgroupFiles(limits, version)) {
      const directory = version === 'v1' ? join(this.#mountPoint, controller, path) : join(this.#mountPoint, path);
      // The kernel may lack huge pages of some size, or the controller altogether.
      const isOptional = controller === 'hugetlb' || controller === 'pids';
      await writeFile(join(directory, name), value).catch((error) => {
        if (!isOptional) throw error;
      });
    }
  }
}

/** The group is not the kubelet's, or lacks the controller. A limit that the kernel refuses for now fails otherwise. */
function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

async function makeV1(mountPoint: string, name: string): Promise<void> {
  const make = async (controller: string) => {
    const hierarchy = join(mountPoint, controller);
    if (!(await stat(hierarchy).catch(() => undefined))?.isDirectory()) return;
    if (controller === 'cpuset') await makeCpuset(hierarchy, name);
    else await mkdir(join(hierarchy, name), { recursive: true });
  };
  await Promise.all(controllersV1.map(make));
}

/** A new cpuset is empty, and no process can be put into it until it has its parent's processors and memory nodes. */
async function makeCpuset(hierarchy: string, name: string): Promise<void> {
  let directory = hierarchy;
  for (const part of name.split('/').filter(Boolean)) {
    const parent = directory;
    directory = join(directory, part);
    await mkdir(directory, { recursive: true });
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if ((await readFile(join(directory, file), 'utf8')).trim() !== '') continue;
      await writeFile(join(directory, file), (await readFile(join(parent, file), 'utf8')).trim());
    }
  }
}

/** Each group on the way hands all its controllers down. */
async function makeV2(mountPoint: string, name: string): Promise<void> {
  let directory = mountPoint;
  for (const part of name.split('/').filter(Boolean)) {
    const available = (await readFile(join(directory, 'cgroup.controllers'), 'utf8'))
      .trim()
      .split(/\s+/)
      .filter(Boolean);
    for (const controller of available)
      await writeFile(join(directory, 'cgroup.subtree_control'), `+${controller}`).catch(() => undefined);
    directory = join(directory, part);
    await mkdir(directory, { recursive: true });
  }
}

/** Limits beyond this are none: the kernel of v1 has a number for it. */
const largestLimit = 2 ** 62;

async function memoryV1(directory: string): Promise<PodsMemory | undefined> {
  const limitBytes = await numberIn(join(directory, 'memory.limit_in_bytes'));
  if (limitBytes === undefined || limitBytes >= largestLimit) return undefined;
  const usage = (await numberIn(join(directory, 'memory.usage_in_bytes'))) ?? 0;
  return { limitBytes, workingSetBytes: Math.max(0, usage - (await statistic(directory, 'total_inactive_file'))) };
}

async function memoryV2(directory: string): Promise<PodsMemory | undefined> {
  const limitBytes = await numberIn(join(directory, 'memory.max'));
  if (limitBytes === undefined) return undefined;
  const usage = (await numberIn(join(directory, 'memory.current'))) ?? 0;
  return { limitBytes, workingSetBytes: Math.max(0, usage - (await statistic(directory, 'inactive_file'))) };
}

/** Undefined for `max`, and where there is no such file. */
async function numberIn(path: string): Promise<number | undefined> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim();
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

async function statistic(directory: string, name: string): Promise<number> {
  const text = await readFile(join(directory, 'memory.stat'), 'utf8').catch(() => '');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

async function removeTree(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(directory, entry.name));
  if (entries.length > 0) await rmdir(directory).catch(() => undefined);
}

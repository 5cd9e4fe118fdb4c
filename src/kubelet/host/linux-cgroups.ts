/**
 * The cgroup of each Pod, in the tree of quality classes: `kubepods/podUID` (Guaranteed), `kubepods/burstable/podUID`,
 * `kubepods/besteffort/podUID`. Made by the kubelet with the Pod's limits where the machine lets it; where it does not, or systemd
 * owns the tree, the runtime makes the groups without them.
 */
import { mkdir, readdir, readFile, rmdir, stat, statfs, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Pod, PodQOSClass } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { LinuxResources } from '../runtime/runtime.ts';
import type { PodCgroups } from './host.ts';

export interface LinuxCgroupsOptions {
  readonly driver: 'cgroupfs' | 'systemd';
  /** Parent of `kubepods`. */
  readonly root: string;
  readonly perQos: boolean;
  readonly log: Log;
}

const mountPoint = '/sys/fs/cgroup';
const cgroup2Magic = 0x63677270;
const controllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'blkio', 'devices', 'freezer', 'systemd'];

/** `v2` where one hierarchy has all controllers. */
export async function cgroupVersion(): Promise<'v1' | 'v2'> {
  const { type } = await statfs(mountPoint).catch(() => ({ type: 0 }));
  return type === cgroup2Magic ? 'v2' : 'v1';
}

export class LinuxCgroups implements PodCgroups {
  readonly #options: LinuxCgroupsOptions;
  readonly #applied = new Map<string, string>();
  #version: 'v1' | 'v2' | undefined;
  #isHandedOver = false;

  constructor(options: LinuxCgroupsOptions) {
    this.#options = options;
  }

  parentOf(pod: Pod): string {
    return this.#nameOf(pod.metadata.uid ?? '', qosClass(pod));
  }

  async ensure(pod: Pod, resources: LinuxResources): Promise<void> {
    const { driver, perQos, log } = this.#options;
    const uid = pod.metadata.uid ?? '';
    const wanted = JSON.stringify(resources);
    if (!perQos || driver === 'systemd' || this.#isHandedOver || this.#applied.get(uid) === wanted) return;
    this.#version ??= await cgroupVersion();
    try {
      await (this.#version === 'v1' ? ensureV1 : ensureV2)(this.parentOf(pod), resources);
      this.#applied.set(uid, wanted);
    } catch (error) {
      this.#isHandedOver = true;
      log.warn('cgroups of Pods are left to the runtime, without limits for Pods as a whole', {
        error: messageOf(error),
      });
    }
  }

  async remove(podUid: string, qos: PodQOSClass): Promise<void> {
    this.#applied.delete(podUid);
    const { driver, perQos } = this.#options;
    if (!perQos || driver === 'systemd' || podUid === '') return;
    const name = this.#nameOf(podUid, qos);
    const hierarchies =
      (await cgroupVersion()) === 'v1' ? controllers.map((controller) => join(mountPoint, controller)) : [mountPoint];
    for (const hierarchy of hierarchies) await removeTree(join(hierarchy, name));
  }

  #nameOf(uid: string, qos: PodQOSClass): string {
    const { driver, root, perQos } = this.#options;
    if (!perQos) return root;
    const level = qos === 'Guaranteed' ? '' : qos.toLowerCase();
    if (driver === 'cgroupfs') return posix.join(root, 'kubepods', level, `pod${uid}`);
    // Each slice names all those above it; in systemd a dash means "below".
    const slices = ['kubepods', ...(level ? [`kubepods-${level}`] : [])];
    const last = `${slices.at(-1)}-pod${uid.replaceAll('-', '_')}`;
    return posix.join(root, ...[...slices, last].map((slice) => `${slice}.slice`));
  }
}

async function ensureV1(name: string, resources: LinuxResources): Promise<void> {
  const make = async (controller: string) => {
    const hierarchy = join(mountPoint, controller);
    if (!(await stat(hierarchy).catch(() => undefined))?.isDirectory()) return;
    if (controller === 'cpuset') await makeCpuset(hierarchy, name);
    else await mkdir(join(hierarchy, name), { recursive: true });
  };
  await Promise.all(controllers.map(make));
  const set = (controller: string, file: string, value: number | undefined) =>
    value === undefined ? undefined : writeFile(join(mountPoint, controller, name, file), String(value));
  await Promise.all([
    set('cpu', 'cpu.shares', resources.cpuShares),
    // A quota is valid only against its period.
    Promise.resolve(set('cpu', 'cpu.cfs_period_us', resources.cpuPeriod)).then(() =>
      set('cpu', 'cpu.cfs_quota_us', resources.cpuQuota),
    ),
    set('memory', 'memory.limit_in_bytes', resources.memoryLimitBytes),
  ]);
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

async function ensureV2(name: string, resources: LinuxResources): Promise<void> {
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
  if (resources.cpuShares !== undefined)
    await writeFile(join(directory, 'cpu.weight'), String(cpuWeight(resources.cpuShares)));
  if (resources.cpuQuota)
    await writeFile(join(directory, 'cpu.max'), `${resources.cpuQuota} ${resources.cpuPeriod ?? 100_000}`);
  if (resources.memoryLimitBytes) await writeFile(join(directory, 'memory.max'), String(resources.memoryLimitBytes));
}

/** Shares 2 to 262144 become weights 1 to 10000. */
export function cpuWeight(shares: number): number {
  return Math.floor(1 + ((shares - 2) * 9999) / 262_142);
}

async function removeTree(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(directory, entry.name));
  if (entries.length > 0) await rmdir(directory).catch(() => undefined);
}

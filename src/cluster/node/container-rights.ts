/**
 * Whether this machine lets its root run containers at all: cgroups to put them in, and the right to make namespaces for them. A container without
 * privileges gives neither, and what a runtime says about that helps nobody.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../command-error.ts';
import { findProgram, type Machine } from '../machine/requirements.ts';

/** What a Pod's limits need. */
const neededControllers = ['cpu', 'memory', 'pids'];

const otherwise = 'in a container, give that all privileges (docker run --privileged), or use --runtime simulated';

/** Throws a `CommandError` for the first thing that is not allowed. */
export function checkContainersAllowed(machine: Machine, cgroupMount = '/sys/fs/cgroup'): void {
  checkCgroups(cgroupMount);
  const unshare = findProgram(machine, 'unshare', ['/usr/bin']);
  if (unshare === undefined) return;
  // Of all programs it is the one that is known to be here.
  const { status, stderr, error } = spawnSync(unshare, ['--mount', unshare, '--version'], { encoding: 'utf8' });
  if (status === 0) return;
  // Of a program that could not even be started there is nothing to read.
  const why = (stderr ?? error?.message ?? '').trim().replace(/^unshare: /, '');
  throw new CommandError(
    `root may not make namespaces here, and containers need them: ${why}.`,
    `Run it on the machine itself; ${otherwise}.`,
  );
}

/** Version 2 has one hierarchy with a list of its controllers, version 1 a folder for each. */
function checkCgroups(mount: string): void {
  const listed = readText(join(mount, 'cgroup.controllers'));
  const controllers = listed === undefined ? folders(mount).flatMap((name) => name.split(',')) : listed.split(/\s+/);
  if (listed === undefined && !controllers.some((name) => neededControllers.includes(name)))
    throw new CommandError(
      `this machine has no cgroups at ${mount}, and containers need them.`,
      `Mount them (mount -t cgroup2 none ${mount}); ${otherwise}.`,
    );
  const missing = neededControllers.filter((name) => !controllers.includes(name));
  if (missing.length > 0)
    throw new CommandError(
      `this machine's cgroups lack ${missing.join(', ')}, and containers need that.`,
      `Let its kernel have it (boot with ${missing.map((name) => `cgroup_enable=${name}`).join(' ')}), or use --runtime simulated.`,
    );
  const probed = listed === undefined ? neededControllers.map((name) => folderOf(mount, name)) : [mount];
  for (const folder of probed) {
    const probe = join(folder, `coracle-${process.pid}`);
    try {
      mkdirSync(probe);
      rmdirSync(probe);
    } catch (error) {
      throw new CommandError(
        `no cgroups can be made in ${folder} (${(error as NodeJS.ErrnoException).code}), and containers need them.`,
        `Mount it writable (mount -o remount,rw ${folder}); ${otherwise}.`,
      );
    }
  }
}

/** `cpu` may be served as `cpu,cpuacct`. */
function folderOf(mount: string, controller: string): string {
  return join(mount, folders(mount).find((name) => name.split(',').includes(controller)) ?? controller);
}

function folders(mount: string): string[] {
  try {
    return readdirSync(mount);
  } catch {
    return [];
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

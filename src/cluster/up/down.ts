/** `coracle down`: ends everything of one data directory, in order, whatever of it runs. Safe to repeat. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { DataDirectoryLockedError, type DirectoryLock, lockDirectory } from '../../storage/lmdb/directory-lock.ts';
import { CommandError } from '../command-error.ts';
import { type DataDirectory, layOut } from '../data/data-directory.ts';
import { readSettings } from '../data/up-settings.ts';
import { type TakenOut, takeOutOfOwn } from '../kubeconfigs/merged-kubeconfig.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { mountsBelow, tearDownNode } from '../node/node-teardown.ts';
import { forgetProcess, identify, stopProcess } from '../processes/processes.ts';

export interface DownOptions {
  readonly clock: Clock;
  readonly machine: ThisMachine;
  /** Remove the data too. */
  readonly purge: boolean;
}

export interface DownResult {
  readonly outcome: 'nothing there' | 'stopped' | 'removed';
  /** Kubeconfigs of users that named the removed cluster. */
  readonly kubeconfigs: readonly TakenOut[];
}

const controlPlaneGraceMs = 30_000;

export async function takeDown(root: string, options: DownOptions): Promise<DownResult> {
  const { clock, machine, purge } = options;
  const directory = layOut(root);
  if (!existsSync(directory.root)) return { outcome: 'nothing there', kubeconfigs: [] };
  if (!existsSync(join(directory.root, 'format')))
    throw new CommandError(
      `${directory.root} was not made by Coracle; nothing was touched.`,
      'Give the folder of the cluster with --data-dir.',
    );
  const lock = existsSync(directory.run) ? await lockAfterStopping(directory, clock) : undefined;
  try {
    forgetProcess(directory.run, 'control-plane');
    if (readSettings(directory).nodes !== undefined) {
      const { localNodesOf } = await import('../local-nodes/local-nodes.ts');
      await localNodesOf(root, { clock, machine }).takeDown({ purge });
    }
    await tearDownNode(directory, { clock, machine, graceSeconds: purge ? 1 : 10 });
    if (!purge) return { outcome: 'stopped', kubeconfigs: [] };
    const [mount] = mountsBelow([directory.root]);
    if (mount !== undefined)
      throw new CommandError(
        `${mount} is still mounted, so the data is not removed.`,
        `Unmount it (umount ${mount}), then try again.`,
      );
    const kubeconfigs = takeOutOfOwn(directory);
    // Tried again where somebody else starts on it just now.
    rmSync(directory.root, { recursive: true, force: true, maxRetries: 3 });
    return { outcome: 'removed', kubeconfigs };
  } finally {
    await lock?.release();
  }
}

/** Whoever has the lock is the control plane: it is asked to end, and then the lock is ours. */
async function lockAfterStopping(directory: DataDirectory, clock: Clock): Promise<DirectoryLock> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await lockDirectory(directory.run, process.pid);
    } catch (error) {
      const owner = error instanceof DataDirectoryLockedError ? identify(error.pid) : undefined;
      if (isDenied(error))
        throw new CommandError(
          `${directory.root} belongs to another user.`,
          'Run the command as the user who started the cluster.',
        );
      if (!owner || attempt >= 3) throw error;
      await stopProcess(clock, owner, controlPlaneGraceMs);
    }
  }
}

function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/**
 * How a disk is held while a Pod has it, in upstream's layout: a second mount of its device file, named for the Pod, and a loop device on that.
 * The loop device keeps the disk open: were it taken out of the machine, no other disk could get its number, which containers have.
 *
 *     plugins/kubernetes.io/csi/volumeDevices/NAME/dev/UID      the disk once more
 *     plugins/kubernetes.io/local-volume/volumeDevices/NAME/UID
 */
import { execFile } from 'node:child_process';
import { mkdir, open, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../apimachinery/status.ts';
import { isMountPoint, mountProgram, unmount } from './mounts.ts';

export interface BlockMap {
  /** Of all Pods that have the disk. */
  readonly folder: string;
  readonly podUid: string;
}

export interface BlockMaps {
  /** Nothing happens where it is held already. */
  hold(device: string, map: BlockMap): Promise<void>;
  /** Nothing happens where it is not held. */
  release(map: BlockMap): Promise<void>;
}

const run = promisify(execFile);

export const linuxBlockMaps: BlockMaps = {
  async hold(device, { folder, podUid }) {
    const path = join(folder, podUid);
    try {
      await mkdir(folder, { recursive: true, mode: 0o750 });
      await (await open(path, 'a', 0o750)).close();
      if (!(await isMountPoint(path))) await mountProgram('--bind', device, path);
    } catch (error) {
      const where = `devicePath: ${device}, globalMapPath:${folder}, podUID: ${podUid}, bindMount: true`;
      throw new Error(`blkUtil.MapDevice failed. ${where}: ${messageOf(error)}`, { cause: error });
    }
    try {
      if (!(await loopDeviceOf(path))) await run('losetup', ['-f', path]);
    } catch (error) {
      const where = `globalMapPath:${folder}, podUID: ${podUid}`;
      const why = `makeLoopDevice failed for path ${path}: losetup -f ${path} failed: ${messageOf(error)}`;
      throw new Error(`blkUtil.AttachFileDevice failed. ${where}: ${why}`, { cause: error });
    }
  },

  async release({ folder, podUid }) {
    const path = join(folder, podUid);
    if (!(await stat(path).catch(() => undefined))) return;
    const loop = await loopDeviceOf(path);
    if (loop) await run('losetup', ['-d', loop]);
    if (await isMountPoint(path)) await unmount(path);
    await rm(path, { force: true });
  },
};

/** As the kernel tells it. */
async function loopDeviceOf(path: string): Promise<string | undefined> {
  const names = new Set([path, await realpath(path)]);
  for (const device of await readdir('/sys/block')) {
    if (!device.startsWith('loop')) continue;
    const backing = await readFile(join('/sys/block', device, 'loop', 'backing_file'), 'utf8').catch(() => '');
    if (names.has(backing.trim().replace(/\s*\(deleted\)$/, ''))) return join('/dev', device);
  }
  return undefined;
}

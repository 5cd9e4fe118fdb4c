/**
 * A disk whose every write and flush is written down in order, and what of it a power cut would have left (`write-log.ts`). A real ext4 lies
 * on it: the kernel's loop device on a file that QEMU's storage daemon serves and logs.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../../src/base/random.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { flushed, type LoggedWrite, loggedWrites, sectorBytes, survivors } from './write-log.ts';

const diskBytes = 32 << 20;

export class LoggedDisk implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'coracle-disk-'));
  readonly #daemon: ChildProcess;
  #device = '';

  private constructor() {
    for (const name of ['disk', 'log', 'served']) writeFileSync(join(this.folder, name), '');
    truncateSync(join(this.folder, 'disk'), diskBytes);
    const file = (name: string) => ['--blockdev', `driver=file,node-name=${name},filename=${join(this.folder, name)}`];
    const logging = `driver=blklogwrites,node-name=top,file=disk,log=log,log-sector-size=${sectorBytes}`;
    const exported = `type=fuse,id=export,node-name=top,mountpoint=${join(this.folder, 'served')},writable=on`;
    const words = [...file('disk'), ...file('log'), '--blockdev', logging, '--export', exported];
    this.#daemon = spawn('qemu-storage-daemon', words, { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  static async open(): Promise<LoggedDisk> {
    const disk = new LoggedDisk();
    const served = join(disk.folder, 'served');
    await eventually(() => statSync(served).size > 0);
    disk.#device = run('losetup', '--show', '-f', served);
    run('mkfs.ext4', '-q', disk.#device);
    mkdirSync(disk.path);
    run('mount', disk.#device, disk.path);
    run('sync', '-f', disk.path);
    return disk;
  }

  /** Where its file system is mounted. */
  get path(): string {
    return join(this.folder, 'mounted');
  }

  /** All that is done by now is in the log before this place. */
  get position(): number {
    return statSync(join(this.folder, 'log')).size;
  }

  log(): Buffer {
    return readFileSync(join(this.folder, 'log'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    run('umount', '-l', this.path);
    run('losetup', '-d', this.#device);
    this.#daemon.kill('SIGKILL');
    await once(this.#daemon, 'exit');
    run('umount', '-l', join(this.folder, 'served'));
    rmSync(this.folder, { recursive: true });
  }
}

/** Images of the disk after cuts at places of its log, which have to rise. */
export class PowerCuts {
  readonly #log: Buffer;
  readonly #writes: readonly LoggedWrite[];
  /** Made safe by flushes. */
  readonly #safe = Buffer.alloc(diskBytes);
  #applied = 0;

  constructor(log: Buffer) {
    this.#log = log;
    const read = (at: number, length: number) => log.subarray(at, at + length);
    this.#writes = [...loggedWrites({ length: log.length, read })];
  }

  cut(position: number, random: Random): Buffer {
    const later = this.#writes.findIndex(({ end }) => end > position);
    const done = this.#writes.slice(0, later < 0 ? this.#writes.length : later);
    const safe = flushed(done);
    for (; this.#applied < safe; this.#applied++) this.#write(this.#safe, done[this.#applied]!);
    const image = Buffer.from(this.#safe);
    for (const write of survivors(done.slice(safe), random)) this.#write(image, write);
    return image;
  }

  #write(image: Buffer, { begin, end, offset }: LoggedWrite): void {
    this.#log.copy(image, offset, begin, end);
  }
}

/** Mounts an image for as long as `look` takes; the file system repairs itself by its journal, as after any cut. */
export async function withMounted<T>(image: Buffer, look: (path: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-cut-'));
  const [file, path] = [join(folder, 'image'), join(folder, 'mounted')];
  writeFileSync(file, image);
  mkdirSync(path);
  run('mount', '-o', 'loop', file, path);
  try {
    return await look(path);
  } finally {
    run('umount', '-l', path);
    rmSync(folder, { recursive: true });
  }
}

function run(program: string, ...words: string[]): string {
  return execFileSync(program, words, { encoding: 'utf8' }).trim();
}

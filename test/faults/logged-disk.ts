/**
 * A disk whose every write and flush is written down in order, and what of it a power cut would have left. A real ext4 lies on it: the
 * kernel's loop device on a file that QEMU's storage daemon serves and logs (`blklogwrites`, the format of the kernel's dm-log-writes).
 *
 * After a cut there is everything that a finished flush made safe; of what was written since then, any part or nothing, in any order, as a
 * drive with a volatile cache may have it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../../src/base/random.ts';
import { eventually } from '../../src/testing/eventually.ts';

const diskBytes = 32 << 20;
const sectorBytes = 512;
const flags = { flush: 1, forceUnitAccess: 2, discard: 4 } as const;

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

interface Logged {
  /** Where it ends in the log. */
  readonly end: number;
  readonly flags: number;
  readonly offset: number;
  readonly data: Buffer;
}

/** Images of the disk after cuts at places of its log, which have to rise. */
export class PowerCuts {
  readonly #entries: readonly Logged[];
  /** Made safe by flushes. */
  readonly #safe = Buffer.alloc(diskBytes);
  #applied = 0;

  constructor(log: Buffer) {
    this.#entries = [...readLog(log)];
  }

  cut(position: number, random: Random): Buffer {
    const written = this.#entries.findIndex(({ end }) => end > position);
    const until = written < 0 ? this.#entries.length : written;
    const flushed = this.#entries.findLastIndex((entry, i) => i < until && (entry.flags & flags.flush) !== 0);
    for (; this.#applied <= flushed; this.#applied++) write(this.#safe, this.#entries[this.#applied]!);
    const image = Buffer.from(this.#safe);
    const since = this.#entries.slice(this.#applied, until);
    const share = random.next();
    for (const entry of since)
      if ((entry.flags & flags.forceUnitAccess) !== 0 || random.next() < share) write(image, entry);
    return image;
  }
}

/** Each entry: a sector with its place, length and flags as 64-bit numbers, and then the data. The first sector tells of the whole. */
function* readLog(log: Buffer): Generator<Logged> {
  for (let at = sectorBytes; at + sectorBytes <= log.length; ) {
    const [sector, sectors, kind] = [0, 8, 16].map((field) => Number(log.readBigUInt64LE(at + field))) as [
      number,
      number,
      number,
    ];
    const begin = at + sectorBytes;
    at = begin + ((kind & flags.discard) === 0 ? sectors * sectorBytes : 0);
    yield { end: at, flags: kind, offset: sector * sectorBytes, data: log.subarray(begin, at) };
  }
}

function write(image: Buffer, { offset, data }: Logged): void {
  data.copy(image, offset);
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

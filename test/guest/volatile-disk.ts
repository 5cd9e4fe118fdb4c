/**
 * The disk of a guest as a drive with a volatile cache: QEMU, killed, leaves all it has handed to the kernel of the machine around it, so
 * every write and flush is logged besides, and after a cut the image is set to what the log says that such a drive would have kept
 * (`test/faults/write-log.ts`).
 */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, openSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import type { Random } from '../../src/base/random.ts';
import { flushed, loggedWrites, sectorBytes, survivors, type WriteLog } from '../faults/write-log.ts';

const mostBytesAtOnce = 1 << 20;

export class VolatileDisk {
  /** What the guest works on. */
  readonly #image: string;
  /** As it was when the guest was switched on. */
  readonly #safe: string;
  readonly #log: string;
  readonly #random: Random;

  constructor(image: string, random: Random) {
    this.#image = image;
    this.#safe = `${image}.safe`;
    this.#log = `${image}.log`;
    this.#random = random;
  }

  /** Words that make QEMU log the image as the block device of this name. */
  switchOn(name: string): readonly string[] {
    if (existsSync(this.#log)) this.#settle('ended in order');
    if (!existsSync(this.#safe)) execFileSync('cp', ['--sparse=always', this.#image, this.#safe]);
    writeFileSync(this.#log, '');
    // Nothing has to reach the disk of the machine around, but each flush has to reach the log.
    const file = (node: string, path: string) => [
      '-blockdev',
      `driver=file,node-name=${name}-${node},filename=${path},cache.no-flush=on`,
    ];
    const logging = `driver=blklogwrites,node-name=${name},file=${name}-image,log=${name}-log,log-sector-size=${sectorBytes}`;
    return [...file('image', this.#image), ...file('log', this.#log), '-blockdev', logging];
  }

  /** The guest is off: loses what was not flushed, or some of it. */
  cut(): void {
    this.#settle('cut');
  }

  #settle(how: 'cut' | 'ended in order'): void {
    using image = new OpenFile(this.#image);
    using safe = new OpenFile(this.#safe);
    using log = new OpenFile(this.#log);
    const writes = [...loggedWrites(log)];
    const safeWrites = how === 'cut' ? flushed(writes) : writes.length;
    for (const write of [...writes.slice(0, safeWrites), ...survivors(writes.slice(safeWrites), this.#random)])
      copy(log, safe, { from: write.begin, to: write.offset, length: write.end - write.begin });
    // The two differ only where something was written.
    for (const { begin, end, offset } of writes) copy(safe, image, { from: offset, to: offset, length: end - begin });
    rmSync(this.#log);
  }
}

class OpenFile implements WriteLog, Disposable {
  readonly #descriptor: number;
  readonly length: number;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'r+');
    this.length = fstatSync(this.#descriptor).size;
  }

  read(at: number, length: number): Buffer {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(this.#descriptor, buffer, 0, length, at));
  }

  write(at: number, bytes: Buffer): void {
    writeSync(this.#descriptor, bytes, 0, bytes.length, at);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

function copy(source: OpenFile, target: OpenFile, { from, to, length }: Range): void {
  for (let done = 0; done < length; done += mostBytesAtOnce)
    target.write(to + done, source.read(from + done, Math.min(mostBytesAtOnce, length - done)));
}

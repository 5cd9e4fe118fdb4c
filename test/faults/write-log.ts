/**
 * What QEMU writes down of a disk (`blklogwrites`, the format of the kernel's dm-log-writes), and what of it a power cut would have left: all
 * that a finished flush made safe; of what was written since then, any part or nothing, in any order, as a drive with a volatile cache may
 * have it.
 */
import type { Random } from '../../src/base/random.ts';

export const sectorBytes = 512;
const flags = { flush: 1, forceUnitAccess: 2, discard: 4 } as const;

export interface LoggedWrite {
  /** Where its data begin and end in the log; the next write is logged after that. */
  readonly begin: number;
  readonly end: number;
  readonly flags: number;
  /** On the disk. */
  readonly offset: number;
}

export interface WriteLog {
  readonly length: number;
  read(at: number, length: number): Buffer;
}

/** Each entry: a sector with its place, length and flags as 64-bit numbers, and then the data. The first sector tells of the whole. */
export function* loggedWrites(log: WriteLog): Generator<LoggedWrite> {
  for (let at = sectorBytes; at + sectorBytes <= log.length; ) {
    const head = log.read(at, 24);
    const [sector, sectors, kind] = [0, 8, 16].map((field) => Number(head.readBigUInt64LE(field))) as [
      number,
      number,
      number,
    ];
    const begin = at + sectorBytes;
    at = begin + ((kind & flags.discard) === 0 ? sectors * sectorBytes : 0);
    yield { begin, end: Math.min(at, log.length), flags: kind, offset: sector * sectorBytes };
  }
}

/** How many of the first writes are safe. */
export function flushed(writes: readonly LoggedWrite[]): number {
  return writes.findLastIndex((write) => (write.flags & flags.flush) !== 0) + 1;
}

/** Those writes since the last flush that a cut has left. */
export function survivors(since: readonly LoggedWrite[], random: Random): readonly LoggedWrite[] {
  const share = random.next();
  return since.filter((write) => (write.flags & flags.forceUnitAccess) !== 0 || random.next() < share);
}

/**
 * How one change lies in the database, under its revision:
 *
 *   byte 0      1: removal, 0: put
 *   byte 1      layout: 1, or 0 as the first releases wrote it, without the time and the checksum
 *   bytes 2-3   length of the key in bytes
 *   bytes 4-11  create revision (double)
 *   bytes 12-19 wall time in ms at which the key disappears (double), 0: never
 *   bytes 20-27 wall time in ms of the change (double)
 *   then        the key in UTF-8, then the value
 *   then        checksum: CRC-32 of all before it, begun with the revision, so that a record in another's place is found out too
 *
 * All numbers are little-endian. The format record (`database.ts`) guards this layout: whoever changes it raises the format version.
 */
import { crc32 } from 'node:zlib';

/** Everything of a change but its value. */
export interface RecordHeader {
  readonly key: string;
  readonly createRevision: number;
  readonly removed: boolean;
  readonly expiresAtMs: number;
  /** 0: not known. */
  readonly writtenAtMs: number;
}

const layout = 1;
const fixedLength = 28;
const oldFixedLength = 20;
const checksumLength = 4;
export const longestKeyBytes = 0xffff;

export function recordLength(keyBytes: number, valueBytes: number): number {
  return fixedLength + keyBytes + valueBytes + checksumLength;
}

export interface WrittenRecord {
  readonly revision: number;
  readonly header: RecordHeader;
  readonly value: Buffer | undefined;
}

/** Writes the record at `start` of `target` and returns where it ends. */
export function writeRecord(target: Buffer, start: number, { revision, header, value }: WrittenRecord): number {
  const keyLength = target.write(header.key, start + fixedLength, 'utf8');
  target[start] = header.removed ? 1 : 0;
  target[start + 1] = layout;
  target.writeUInt16LE(keyLength, start + 2);
  target.writeDoubleLE(header.createRevision, start + 4);
  target.writeDoubleLE(header.expiresAtMs, start + 12);
  target.writeDoubleLE(header.writtenAtMs, start + 20);
  const valueStart = start + fixedLength + keyLength;
  const end = valueStart + (value ? value.copy(target, valueStart) : 0);
  target.writeUInt32LE(checksum(target.subarray(start, end), revision), end);
  return end + checksumLength;
}

export function readHeader(record: Buffer): RecordHeader {
  return {
    key: record.toString('utf8', fixedLengthOf(record), valueStart(record)),
    createRevision: record.readDoubleLE(4),
    removed: record[0] === 1,
    expiresAtMs: record.readDoubleLE(12),
    writtenAtMs: record[1] === 0 ? 0 : record.readDoubleLE(20),
  };
}

/** A copy of the value, for `record` may be a window on memory that the next read overwrites. */
export function readValue(record: Buffer): Buffer {
  const end = record.length - (record[1] === 0 ? 0 : checksumLength);
  return Buffer.from(record.subarray(valueStart(record), end));
}

/** Whether the record is whole, and the one that was written under this revision. */
export function isWhole(record: Buffer, revision: number): boolean {
  if (record.length < oldFixedLength || (record[0]! | record[1]!) > 1) return false;
  if (record[1] === 0) return valueStart(record) <= record.length;
  const end = record.length - checksumLength;
  if (end < fixedLength || valueStart(record) > end) return false;
  return checksum(record.subarray(0, end), revision) === record.readUInt32LE(end);
}

function checksum(bytes: Buffer, revision: number): number {
  return crc32(bytes, revision % 0x1_0000_0000);
}

function fixedLengthOf(record: Buffer): number {
  return record[1] === 0 ? oldFixedLength : fixedLength;
}

function valueStart(record: Buffer): number {
  return fixedLengthOf(record) + record.readUInt16LE(2);
}

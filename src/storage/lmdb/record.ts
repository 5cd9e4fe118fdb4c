/**
 * How one change lies in the database, under its revision:
 *
 *   byte 0      1: removal, 0: put
 *   byte 1      0
 *   bytes 2-3   length of the key in bytes
 *   bytes 4-11  create revision (double)
 *   bytes 12-19 wall time in ms at which the key disappears (double), 0: never
 *   then        the key in UTF-8, then the value
 *
 * All numbers are little-endian. The format record (`database.ts`) guards this layout: whoever changes it raises the format version.
 */

/** Everything of a change but its value. */
export interface RecordHeader {
  readonly key: string;
  readonly createRevision: number;
  readonly removed: boolean;
  readonly expiresAtMs: number;
}

const fixedLength = 20;
export const longestKeyBytes = 0xffff;

export function recordLength(keyBytes: number, valueBytes: number): number {
  return fixedLength + keyBytes + valueBytes;
}

/** Writes the record at `offset` of `target` and returns where it ends. */
export function writeRecord(target: Buffer, offset: number, header: RecordHeader, value: Buffer | undefined): number {
  const keyLength = target.write(header.key, offset + fixedLength, 'utf8');
  target[offset] = header.removed ? 1 : 0;
  target[offset + 1] = 0;
  target.writeUInt16LE(keyLength, offset + 2);
  target.writeDoubleLE(header.createRevision, offset + 4);
  target.writeDoubleLE(header.expiresAtMs, offset + 12);
  const valueStart = offset + fixedLength + keyLength;
  return valueStart + (value ? value.copy(target, valueStart) : 0);
}

export function readHeader(record: Buffer): RecordHeader {
  return {
    key: record.toString('utf8', fixedLength, valueStart(record)),
    createRevision: record.readDoubleLE(4),
    removed: record[0] === 1,
    expiresAtMs: record.readDoubleLE(12),
  };
}

/** A copy of the value, for `record` may be a window on memory that the next read overwrites. */
export function readValue(record: Buffer, recordBytes: number): Buffer {
  return Buffer.from(record.subarray(valueStart(record), recordBytes));
}

function valueStart(record: Buffer): number {
  return fixedLength + record.readUInt16LE(2);
}

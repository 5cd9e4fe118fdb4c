/**
 * A snapshot: all objects of a store at one moment, in one file that proves itself.
 *
 *     coracle-snapshot 1\n
 *     frame  head     JSON: revision, objects, when, of what
 *     frame  object   ...
 *     frame  end      JSON: objects, SHA-256 of everything before this frame
 *
 * A frame is its length (4 bytes), the CRC-32 of its content (4 bytes) begun with its number, so that none can be lost or change places,
 * and its content, whose first byte says what it is. An object: revision, create revision and end of life (doubles), length
 * of the key (2 bytes), key, value. All numbers are little-endian.
 *
 * Invariant: a file under the name asked for is whole. It is written beside it and gets its name when it is on disk.
 */
import { createHash, type Hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pid } from 'node:process';
import { crc32 } from 'node:zlib';
import { type StoredObject, type Told, TransferError, type TransferSource, tellEvery } from './transfer.ts';

export interface SnapshotHead {
  readonly revision: number;
  readonly objects: number;
  /** RFC 3339. */
  readonly takenAt: string;
  /** The program that took it. */
  readonly program: string;
  /** Of what store, for people. */
  readonly from: string;
}

interface SnapshotEnd {
  readonly objects: number;
  readonly sha256: string;
}

export interface SaveOptions {
  readonly head: Pick<SnapshotHead, 'takenAt' | 'program' | 'from'>;
  /** Take the place of a file that is there. */
  readonly replace?: boolean;
  readonly told?: Told | undefined;
}

const magic = Buffer.from('coracle-snapshot 1\n');
const magicOfAny = 'coracle-snapshot ';
const frameHeadBytes = 8;
const objectHeadBytes = 1 + 8 + 8 + 8 + 2;
const largestFrameBytes = 256 << 20;
const tags = { head: 1, object: 2, end: 3 } as const;
const writeBytes = 1 << 20;

/** Resolves to the length of the file, once it is on disk. */
export async function saveSnapshot(file: string, source: TransferSource, options: SaveOptions): Promise<number> {
  const { head, replace = false, told } = options;
  if (!replace) refuseExisting(file);
  const partial = `${file}.partial-${pid}`;
  // What is in a store is as secret as its Secrets.
  const handle = await open(partial, 'wx', 0o600);
  try {
    const frames = new FrameWriter(handle);
    await frames.begin();
    const whole: SnapshotHead = { ...head, revision: source.revision, objects: source.count };
    await frames.write(tags.head, [Buffer.from(JSON.stringify(whole))]);
    let objects = 0;
    for await (const object of source.read()) {
      await frames.write(tags.object, encodeObject(object));
      if (++objects % tellEvery === 0) told?.(objects, source.count);
    }
    const end: SnapshotEnd = { objects, sha256: await frames.digest() };
    await frames.write(tags.end, [Buffer.from(JSON.stringify(end))]);
    const length = await frames.finish();
    if (replace) await rename(partial, file);
    else {
      await link(partial, file).catch(() => refuseExisting(file));
      await rm(partial);
    }
    await syncFolder(dirname(file));
    return length;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    await handle.close().catch(() => {});
  }
}

/** A source over the file. Every frame is checked as it is read, and `read` throws at the end of a file that is not whole. */
export async function openSnapshot(file: string): Promise<TransferSource & { readonly head: SnapshotHead }> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new TransferError(error.code === 'ENOENT' ? `there is no file ${file}` : `${file}: ${error.message}`);
  });
  try {
    const { size } = await stat(file);
    const frames = new FrameReader(handle, file, size);
    await frames.begin();
    const first = await frames.next();
    if (first.tag !== tags.head) throw frames.damaged('it does not begin with its head');
    const head = JSON.parse(first.content.toString()) as SnapshotHead;
    return {
      head,
      revision: head.revision,
      count: head.objects,
      read: () => readObjects(frames, head),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Rejects with a `TransferError` that says where the file is not what was written. */
export async function verifySnapshot(file: string, told?: Told): Promise<SnapshotHead> {
  await using snapshot = await openSnapshot(file);
  let done = 0;
  for await (const _ of snapshot.read()) if (++done % tellEvery === 0) told?.(done, snapshot.count);
  return snapshot.head;
}

async function* readObjects(frames: FrameReader, head: SnapshotHead): AsyncIterable<StoredObject> {
  let objects = 0;
  for (;;) {
    const sha256 = frames.digest();
    const { tag, content } = await frames.next();
    if (tag === tags.object) {
      objects++;
      yield decodeObject(content);
      continue;
    }
    if (tag !== tags.end) throw frames.damaged('it has something in it that no snapshot has');
    const end = JSON.parse(content.toString()) as SnapshotEnd;
    if (end.sha256 !== sha256() || end.objects !== objects || head.objects !== objects)
      throw frames.damaged(`it has ${objects} objects of ${head.objects}, and its checksum is wrong`);
    if (!frames.atEnd) throw frames.damaged('something follows its end');
    return;
  }
}

function encodeObject({ key, value, revision, createRevision, expiresAtMs }: StoredObject): Buffer[] {
  const name = Buffer.from(key);
  const head = Buffer.alloc(objectHeadBytes - 1);
  head.writeDoubleLE(revision, 0);
  head.writeDoubleLE(createRevision, 8);
  head.writeDoubleLE(expiresAtMs, 16);
  head.writeUInt16LE(name.length, 24);
  return [head, name, value];
}

function decodeObject(content: Buffer): StoredObject {
  const keyEnd = objectHeadBytes - 1 + content.readUInt16LE(24);
  return {
    revision: content.readDoubleLE(0),
    createRevision: content.readDoubleLE(8),
    expiresAtMs: content.readDoubleLE(16),
    key: content.toString('utf8', objectHeadBytes - 1, keyEnd),
    value: content.subarray(keyEnd),
  };
}

class FrameWriter {
  readonly #handle: FileHandle;
  readonly #hash: Hash = createHash('sha256');
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #number = 0;
  #length = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async begin(): Promise<void> {
    await this.#add(magic);
  }

  async write(tag: number, parts: readonly Buffer[]): Promise<void> {
    const content = Buffer.concat([Buffer.of(tag), ...parts]);
    const head = Buffer.alloc(frameHeadBytes);
    head.writeUInt32LE(content.length, 0);
    head.writeUInt32LE(crc32(content, this.#number++), 4);
    await this.#add(head);
    await this.#add(content);
  }

  /** Of all that has been written. */
  async digest(): Promise<string> {
    await this.#flush();
    return this.#hash.copy().digest('hex');
  }

  async finish(): Promise<number> {
    await this.#flush();
    await this.#handle.sync();
    return this.#length;
  }

  async #add(bytes: Buffer): Promise<void> {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= writeBytes) await this.#flush();
  }

  async #flush(): Promise<void> {
    const block = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#hash.update(block);
    await this.#handle.writeFile(block);
    this.#length += block.length;
  }
}

interface Frame {
  readonly tag: number;
  /** Without the tag. */
  readonly content: Buffer;
}

class FrameReader {
  readonly #handle: FileHandle;
  readonly #file: string;
  readonly #size: number;
  readonly #hash: Hash = createHash('sha256');
  #block = Buffer.alloc(0);
  #position = 0;
  #number = 0;

  constructor(handle: FileHandle, file: string, size: number) {
    this.#handle = handle;
    this.#file = file;
    this.#size = size;
  }

  get atEnd(): boolean {
    return this.#position === this.#size;
  }

  async begin(): Promise<void> {
    const start = await this.#take(Math.min(magic.length, this.#size));
    if (start.equals(magic)) return;
    const problem = start.toString('latin1').startsWith(magicOfAny)
      ? 'was written by a newer release: use that release'
      : 'is no snapshot of Coracle';
    throw new TransferError(`${this.#file} ${problem}`);
  }

  async next(): Promise<Frame> {
    const at = this.#position;
    const head = await this.#take(frameHeadBytes);
    const length = head.readUInt32LE(0);
    if (length < 1 || length > largestFrameBytes) throw this.damaged(`what begins at byte ${at} cannot be`);
    const content = Buffer.from(await this.#take(length));
    if (crc32(content, this.#number) !== head.readUInt32LE(4))
      throw this.damaged(`what begins at byte ${at} is not what was written`);
    this.#number++;
    return { tag: content[0]!, content: content.subarray(1) };
  }

  /** Of all that has been read by now. */
  digest(): () => string {
    const hash = this.#hash.copy();
    return () => hash.digest('hex');
  }

  damaged(detail: string): TransferError {
    return new TransferError(`${this.#file} is damaged: ${detail}`);
  }

  async #take(length: number): Promise<Buffer> {
    if (this.#position + length > this.#size) throw this.damaged(`it is cut off after ${this.#size} bytes`);
    while (this.#block.length < length) {
      const more = Buffer.allocUnsafe(Math.max(writeBytes, length));
      const { bytesRead } = await this.#handle.read(more, 0, more.length, null);
      if (bytesRead === 0) throw this.damaged(`it is cut off after ${this.#size} bytes`);
      this.#block = Buffer.concat([this.#block, more.subarray(0, bytesRead)]);
    }
    const taken = this.#block.subarray(0, length);
    this.#block = this.#block.subarray(length);
    this.#hash.update(taken);
    this.#position += length;
    return taken;
  }
}

function refuseExisting(file: string): void {
  if (existsSync(file)) throw new TransferError(`${file} is there already`);
}

/** The name of a file is as durable as its folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

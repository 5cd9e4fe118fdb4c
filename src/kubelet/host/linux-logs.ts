/**
 * Log files as the runtime writes them, read from the end backwards for the last lines and followed across rotation: a followed file
 * that was moved away is read to its end before the new one is opened.
 */
import { createReadStream, createWriteStream, watch } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Clock, sleep } from '../../base/clock.ts';
import { type LogRecord, parseRecord } from '../logs/container-log.ts';
import type { ContainerLogs, LogReading, LogRotation } from './host.ts';

const chunkBytes = 64 * 1024;
const newline = 0x0a;
/** A container that ended may have ended without another line. */
const endCheckMs = 1000;

export class LinuxLogs implements ContainerLogs {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async *read(path: string, reading: LogReading): AsyncIterable<LogRecord> {
    let file = await open(path, 'r');
    try {
      let position = reading.tail === undefined ? 0 : await tailStart(file, reading.tail);
      for (;;) {
        const wasRunning = reading.follow && (await reading.isRunning());
        for await (const { record, end } of linesFrom(file, position)) {
          position = end;
          if (record) yield record;
          reading.signal?.throwIfAborted();
        }
        const fresh = await replacement(path, file);
        if (fresh) {
          await file.close();
          file = fresh;
          position = 0;
        } else if (!wasRunning) return;
        else await this.#untilChanged(path, reading.signal);
      }
    } finally {
      await file.close();
    }
  }

  async rotate(path: string, { maxBytes, maxFiles, nowMs, reopen }: LogRotation): Promise<void> {
    const size = await stat(path).then(
      (info) => info.size,
      () => 0,
    );
    if (size < maxBytes) return;
    const rotated = await rotatedFiles(path);
    // The present file and the one about to be made count as well.
    for (const old of rotated.slice(0, Math.max(0, rotated.length - (maxFiles - 2)))) await rm(old, { force: true });
    for (const plain of (await rotatedFiles(path)).filter((file) => !file.endsWith('.gz'))) {
      await pipeline(createReadStream(plain), createGzip(), createWriteStream(`${plain}.tmp`));
      await rename(`${plain}.tmp`, `${plain}.gz`);
      await rm(plain);
    }
    const away = `${path}.${new Date(nowMs)
      .toISOString()
      .replace(/[-:]|\..*$/g, '')
      .replace('T', '-')}`;
    await rename(path, away);
    try {
      await reopen();
    } catch (error) {
      // The runtime still writes into the old file: it must keep its name.
      await rename(away, path);
      throw error;
    }
  }

  async remove(path: string): Promise<void> {
    for (const file of [path, ...(await rotatedFiles(path))]) await rm(file, { force: true });
  }

  async #untilChanged(path: string, signal: AbortSignal | undefined): Promise<void> {
    const woken = new AbortController();
    const either = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal;
    const watcher = watchFile(path, () => woken.abort());
    await sleep(this.#clock, endCheckMs, either).catch(() => undefined);
    watcher?.close();
    signal?.throwIfAborted();
  }
}

/** Oldest first: their names end in the time. */
async function rotatedFiles(path: string): Promise<string[]> {
  const names = await readdir(dirname(path)).catch(() => []);
  return names
    .filter((name) => name.startsWith(`${basename(path)}.`) && !name.endsWith('.tmp'))
    .sort()
    .map((name) => join(dirname(path), name));
}

function watchFile(path: string, onChange: () => void) {
  try {
    const watcher = watch(path, { persistent: false }, onChange);
    watcher.on('error', onChange);
    return watcher;
  } catch {
    return undefined;
  }
}

/** The file that is at the path now, when it is another one. */
async function replacement(path: string, file: FileHandle): Promise<FileHandle | undefined> {
  const now = await stat(path).catch(() => undefined);
  if (!now || now.ino === (await file.stat()).ino) return undefined;
  return open(path, 'r').catch(() => undefined);
}

/** Where the last `count` lines begin. */
async function tailStart(file: FileHandle, count: number): Promise<number> {
  const { size } = await file.stat();
  if (count <= 0) return size;
  let lines = 0;
  for (let end = size; end > 0; end -= chunkBytes) {
    const start = Math.max(0, end - chunkBytes);
    const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    for (let i = buffer.length - 1; i >= 0; i--) {
      // The newline that closes the file begins no line.
      if (buffer[i] === newline && start + i !== size - 1 && ++lines === count) return start + i + 1;
    }
  }
  return 0;
}

interface Line {
  readonly record: LogRecord | undefined;
  /** Position after it. */
  readonly end: number;
}

/** Whole lines from there to the present end. */
async function* linesFrom(file: FileHandle, from: number): AsyncIterable<Line> {
  let position = from;
  let rest = Buffer.alloc(0);
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position + rest.length);
    if (bytesRead === 0) return;
    rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    let start = 0;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline, start)) {
      const line = rest.subarray(start, end);
      start = end + 1;
      yield { record: parseRecord(line), end: position + start };
    }
    position += start;
    rest = rest.subarray(start);
  }
}

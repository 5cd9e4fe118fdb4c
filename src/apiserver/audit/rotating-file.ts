/**
 * A file of lines that starts anew when it has grown too large. What was full keeps its name with the moment of its end in it, and goes
 * when there are too many or it is too old:
 *
 *     audit.log    audit-2026-01-01T10-00-00.000.log    audit-2026-01-01T09-00-00.000.log.gz
 *
 * Every write is on its way to the disk before it returns: a request that is told of has been told of.
 */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { parseTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { LineWriter } from './sink.ts';

export interface RotatingFileOptions {
  readonly path: string;
  readonly clock: Clock;
  /** 0: 100 MB, as upstream. */
  readonly maxBytes: number;
  /** 0: no limit. */
  readonly maxBackups: number;
  /** 0: no limit. */
  readonly maxAgeDays: number;
  readonly compress: boolean;
}

const defaultMaxBytes = 100 * 1024 * 1024;
const dayMs = 86_400_000;

/** Throws when the file cannot be opened. */
export function rotatingFile(options: RotatingFileOptions): LineWriter {
  return new RotatingFile(options);
}

class RotatingFile implements LineWriter {
  readonly #options: RotatingFileOptions;
  #descriptor: number;
  #bytes: number;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
    mkdirSync(dirname(options.path), { recursive: true, mode: 0o755 });
    this.#descriptor = openSync(options.path, 'a', 0o600);
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    const limit = this.#options.maxBytes || defaultMaxBytes;
    if (this.#bytes > 0 && this.#bytes + bytes.length > limit) this.#rotate();
    let written = 0;
    while (written < bytes.length) written += writeSync(this.#descriptor, bytes, written);
    this.#bytes += bytes.length;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #rotate(): void {
    const { path, clock, compress } = this.#options;
    closeSync(this.#descriptor);
    const full = backupName(path, clock.now());
    renameSync(path, full);
    this.#descriptor = openSync(path, 'a', 0o600);
    this.#bytes = 0;
    if (compress) void compressed(full);
    this.#removeOld();
  }

  #removeOld(): void {
    const { path, clock, maxBackups, maxAgeDays } = this.#options;
    const backups = readdirSync(dirname(path))
      .map((name) => ({ name, atMs: backupTime(path, name) }))
      .filter((backup): backup is { name: string; atMs: number } => backup.atMs !== undefined)
      .sort((a, b) => b.atMs - a.atMs);
    const oldest = maxAgeDays > 0 ? clock.now() - maxAgeDays * dayMs : Number.NEGATIVE_INFINITY;
    backups.forEach(({ name, atMs }, index) => {
      if ((maxBackups > 0 && index >= maxBackups) || atMs < oldest) rmSync(join(dirname(path), name), { force: true });
    });
  }
}

/** Meanwhile the log goes on; what cannot be compressed stays as it is. */
async function compressed(path: string): Promise<void> {
  const target = `${path}.gz`;
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(target, { mode: 0o600 }));
    rmSync(path, { force: true });
  } catch {
    rmSync(target, { force: true });
  }
}

function backupName(path: string, nowMs: number): string {
  const extension = extname(path);
  const stamp = new Date(nowMs).toISOString().slice(0, -1).replaceAll(':', '-');
  return `${path.slice(0, path.length - extension.length)}-${stamp}${extension}`;
}

/** When a backup of this file ended; undefined for any other file. */
function backupTime(path: string, name: string): number | undefined {
  const extension = extname(path);
  const stem = `${basename(path, extension)}-`;
  const plain = name.endsWith('.gz') ? name.slice(0, -3) : name;
  if (!plain.startsWith(stem) || !plain.endsWith(extension)) return undefined;
  const stamp = plain.slice(stem.length, plain.length - extension.length);
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp);
  return parts ? parseTime(`${parts[1]}T${parts[2]}:${parts[3]}:${parts[4]}Z`) : undefined;
}

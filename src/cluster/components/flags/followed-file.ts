/**
 * A configuration file that is read again when it changes: each minute, and as soon as the file system tells of it. Editors and mounted
 * volumes replace files, so the folder is watched and the content compared.
 */
import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, Timer } from '../../../base/clock.ts';

export interface FollowedFileOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Called one at a time. Must not reject. */
  look(): Promise<void>;
}

const everyMs = 60_000;
/** One change of a file is told by several events. */
const settleMs = 100;

/** `close` resolves when a look that is under way has ended: what it has made is then its owner's to close. */
export function followFile({ path, clock, look }: FollowedFileOptions): { close(): Promise<void> } {
  let timer: Timer | undefined;
  let looking: Promise<void> | undefined;
  let closed = false;
  const lookIn = (delayMs: number) => {
    timer?.cancel();
    if (!closed) timer = clock.after(delayMs, () => void lookNow());
  };
  const lookNow = async () => {
    looking = look();
    await looking;
    looking = undefined;
    lookIn(everyMs);
  };
  const watcher = watchFolder(dirname(path), () => {
    if (!looking) lookIn(settleMs);
  });
  lookIn(everyMs);
  return {
    async close() {
      closed = true;
      timer?.cancel();
      watcher?.close();
      await looking;
    },
  };
}

/** As metrics tell which content is in force. */
export function contentHash(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** Where folders cannot be watched, looking each minute must do. */
function watchFolder(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

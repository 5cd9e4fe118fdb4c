/**
 * The kernel's log, read from its beginning each time: the only place where cgroup v1 leaves a trace of a container that was killed for its
 * memory and is gone, group and all.
 */
import { closeSync, constants, openSync, readSync } from 'node:fs';

const path = '/dev/kmsg';
/** Of one record. */
const longestRecordBytes = 8192;

/** Whether it tells of such a kill in a group of that container. False where the log may not be read. */
export function tellsOfOomKill(containerId: string): boolean {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  const record = Buffer.alloc(longestRecordBytes);
  try {
    for (;;) {
      const text = nextRecord(file, record);
      if (text === undefined) return false;
      if (text.includes('oom-kill:') && text.includes(`/${containerId}`)) return true;
    }
  } finally {
    closeSync(file);
  }
}

/** Undefined after the last one; empty for one that was overwritten meanwhile. */
function nextRecord(file: number, record: Buffer): string | undefined {
  try {
    return record.toString('utf8', 0, readSync(file, record));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPIPE' ? '' : undefined;
  }
}

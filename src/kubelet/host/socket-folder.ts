/** A folder in which the kubelet and programs of the node meet on sockets. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SocketFolder } from './host.ts';
import { stateFiles } from './state-files.ts';

export function socketFolder(path: string): SocketFolder {
  return {
    path,
    state: stateFiles(path),
    async clear() {
      await mkdir(path, { recursive: true, mode: 0o750 });
      const entries = await readdir(path, { withFileTypes: true });
      await Promise.all(entries.filter((entry) => entry.isSocket()).map(({ name }) => rm(join(path, name))));
    },
  };
}

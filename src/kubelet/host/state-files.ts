/** The kubelet's memory across restarts, in its root directory under upstream's names. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StateFiles } from './host.ts';

export function stateFiles(directory: string): StateFiles {
  return {
    read: (name) => readFile(join(directory, name), 'utf8').catch(() => undefined),
    async write(name, text) {
      await mkdir(directory, { recursive: true, mode: 0o750 });
      const unfinished = join(directory, `.${name}.new`);
      await writeFile(unfinished, text, { mode: 0o600, flush: true });
      await rename(unfinished, join(directory, name));
    },
  };
}

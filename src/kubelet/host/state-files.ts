/** The kubelet's memory across restarts, in its root directory under upstream's names. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { StateFolder } from './host.ts';

export function stateFiles(directory: string): StateFolder {
  return {
    read: (name) => readFile(join(directory, name), 'utf8').catch(() => undefined),
    async write(name, text) {
      const file = join(directory, name);
      await mkdir(dirname(file), { recursive: true, mode: 0o750 });
      const unfinished = join(dirname(file), `.${basename(name)}.new`);
      await writeFile(unfinished, text, { mode: 0o600, flush: true });
      await rename(unfinished, file);
    },
    async names(folder) {
      const names = await readdir(join(directory, folder)).catch(() => []);
      return names.filter((name) => !name.startsWith('.'));
    },
    remove: (name) => rm(join(directory, name), { force: true }),
  };
}

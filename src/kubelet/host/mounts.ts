/** The machine's table of mounts, and the programs that change it. */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export async function mountProgram(...words: readonly string[]): Promise<void> {
  await run('mount', [...words]);
}

export async function unmount(path: string): Promise<void> {
  await run('umount', [path]).catch(() => run('umount', ['-l', path]));
}

export async function isMountPoint(path: string): Promise<boolean> {
  return (await mountsBelow(path)).includes(path);
}

/** Whether a file system begins here; what is bound from elsewhere on the same one is not told apart. */
export async function beginsFileSystem(path: string): Promise<boolean> {
  const [own, above] = await Promise.all([stat(path), stat(dirname(path))]);
  return own.dev !== above.dev;
}

/** The folder itself, where it is one, and what is mounted below it; deepest first. */
export async function mountsBelow(directory: string): Promise<string[]> {
  const table = await readFile('/proc/self/mounts', 'utf8');
  const paths = table
    .split('\n')
    .map((line) =>
      (line.split(' ')[1] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
  return paths
    .filter((path) => path === directory || path.startsWith(`${directory}/`))
    .sort((a, b) => b.length - a.length);
}

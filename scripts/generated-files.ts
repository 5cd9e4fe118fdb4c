/**
 * What every generator ends with: derived files are written, or under `--check` compared with what is on disk, and a file that
 * differs is named and fails the run. Nothing is written under `--check`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export const root: string = join(import.meta.dirname, '..');

export function readFacts(path: string) {
  return JSON.parse(readFileSync(join(root, 'facts', path), 'utf8'));
}

/** Paths are relative to the project. In `ownFolders` nothing else may lie: what does is stale and is removed. */
export function publish(files: ReadonlyMap<string, string>, ownFolders: readonly string[] = []): void {
  const stale = [...files].filter(([path, text]) => textOf(path) !== text).map(([path]) => path);
  const left = ownFolders
    .flatMap((folder) =>
      (existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : []).map((name) => `${folder}/${name}`),
    )
    .filter((path) => !files.has(path));
  const generator = basename(process.argv[1] ?? '');
  if (process.argv.includes('--check')) {
    for (const path of [...stale, ...left]) console.error(`stale: ${path}: run node scripts/${generator}`);
    if (stale.length + left.length > 0) process.exitCode = 1;
    return;
  }
  for (const path of left) rmSync(join(root, path));
  for (const path of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), files.get(path)!);
  }
  console.log(`${generator}: ${files.size} files, ${stale.length + left.length} changed`);
}

function textOf(path: string): string | undefined {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

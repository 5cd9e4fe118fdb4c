/** What is wrong with a node's parts: a file that the node's process keeps and `coracle status` reads. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataDirectory } from '../data/data-directory.ts';

const fileOf = (directory: DataDirectory) => join(directory.run, 'node-problems.json');

/** By the name of the part. */
export function writeNodeProblems(directory: DataDirectory, problems: ReadonlyMap<string, string>): void {
  const file = fileOf(directory);
  if (problems.size === 0) return rmSync(file, { force: true });
  writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(problems)));
  renameSync(`${file}.new`, file);
}

export function readNodeProblems(directory: DataDirectory): Readonly<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(fileOf(directory), 'utf8')) as Record<string, string>;
  } catch {
    return {};
  }
}

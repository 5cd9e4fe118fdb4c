/**
 * Kubeconfig files on disk: one of the cluster's own, which nobody else's entries may be lost for, and, only when asked, an entry in
 * the user's.
 */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../apimachinery/status.ts';
import { emptyKubeconfig, formatKubeconfig, mergeKubeconfig, parseKubeconfig } from '../client/kubeconfig.ts';
import { CommandError } from './command-error.ts';
import { makeFolders } from './data-directory.ts';
import type { ThisMachine } from './machine.ts';

/** Throws where writing would fail, or overwrite what is not ours. */
export function checkKubeconfig(path: string): void {
  const file = resolve(path);
  try {
    makeFolders(dirname(file));
    accessSync(dirname(file), constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unwritable(file, error);
  }
  if (!existsSync(file)) return;
  const config = read(file);
  const foreign = Object.keys(config.contexts).find((name) => name !== 'coracle');
  if (foreign !== undefined)
    throw new CommandError(
      `${file} holds another cluster's context (${foreign}) and will not be overwritten.`,
      'Choose another file with --kubeconfig, or add to your own with --merge-kubeconfig.',
    );
}

/** Returns the file's absolute path. */
export function writeKubeconfig(path: string, text: string): string {
  const file = resolve(path);
  write(file, text);
  return file;
}

/** Adds the cluster to the file that kubectl reads when nothing else is said. Returns its path. */
export function mergeIntoOwn(machine: ThisMachine, text: string): string {
  const named = (machine.environment.KUBECONFIG ?? '').split(':').find(Boolean);
  const path = resolve(named ?? join(machine.home, '.kube', 'config'));
  const file = existsSync(path) ? realpathSync(path) : path;
  const before = existsSync(file) ? read(file) : emptyKubeconfig;
  write(file, formatKubeconfig(mergeKubeconfig(before, parseKubeconfig(text))));
  return file;
}

function read(file: string) {
  try {
    return parseKubeconfig(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandError(`${file} is no kubeconfig: ${messageOf(error)}`, 'Choose another file with --kubeconfig.');
  }
}

/** Readable for its owner only, for it holds a key; renamed into place, so that nobody reads half of it. */
function write(file: string, text: string): void {
  try {
    makeFolders(dirname(file));
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    chmodSync(`${file}.new`, 0o600);
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw unwritable(file, error);
  }
}

function unwritable(file: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException;
  return new CommandError(`${file} cannot be written (${code}).`, 'Choose another file with --kubeconfig.');
}

/** Kubeconfig files on disk: read, written whole, and never over what is somebody else's. */
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../apimachinery/status.ts';
import { type Kubeconfig, parseKubeconfig } from '../client/kubeconfig.ts';
import { CommandError } from './command-error.ts';
import { makeFolders } from './data-directory.ts';

/** Of the context that `adminKubeconfig` names. */
export const contextName = 'coracle';

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
  const config = readKubeconfig(file);
  const foreign = Object.keys(config.contexts).find((name) => name !== contextName);
  if (foreign !== undefined)
    throw new CommandError(
      `${file} holds another cluster's context (${foreign}) and will not be overwritten.`,
      'Choose another file with --kubeconfig, or add to your own with --merge-kubeconfig.',
    );
}

/** Returns the file's absolute path. */
export function writeKubeconfig(path: string, text: string): string {
  const file = resolve(path);
  makeFile(file, text);
  return file;
}

/** Throws a `CommandError` when the file is no kubeconfig. */
export function readKubeconfig(file: string): Kubeconfig {
  try {
    return parseKubeconfig(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandError(`${file} is no kubeconfig: ${messageOf(error)}`, 'Choose another file with --kubeconfig.');
  }
}

/**
 * Readable for its owner only, for it holds a key; renamed into place, so that nobody reads half of it. A file that is there keeps its
 * owner: with `sudo` the user's own is written by root.
 */
function makeFile(file: string, text: string): void {
  try {
    makeFolders(dirname(file));
    const before = statSync(file, { throwIfNoEntry: false });
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    chmodSync(`${file}.new`, 0o600);
    if (before && process.geteuid?.() === 0) chownSync(`${file}.new`, before.uid, before.gid);
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw unwritable(file, error);
  }
}

function unwritable(file: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException;
  return new CommandError(`${file} cannot be written (${code}).`, 'Choose another file with --kubeconfig.');
}

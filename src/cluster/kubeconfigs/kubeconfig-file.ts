/**
 * Kubeconfig files on disk: read, written whole, and never over what is somebody else's.
 *
 * The room: kubeconfigs for people, and the clients that commands make of them. It writes the user's own kubeconfig only when asked
 * (`merged-kubeconfig.ts`); which one a command takes is decided in `cluster-client.ts`.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../apimachinery/status.ts';
import { type Kubeconfig, parseKubeconfig } from '../../client/kubeconfig.ts';
import { contextName } from '../certificates/cluster-pki.ts';
import { CommandError } from '../command-error.ts';
import { makeFolders } from '../data/data-directory.ts';

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
 * Readable for its owner only, for it holds a key; renamed into place, so that nobody reads half of it. Always a file that was made here:
 * whoever owns the folder may have put a link where it is written.
 */
function makeFile(file: string, text: string): void {
  const made = `${file}.new`;
  try {
    makeFolders(dirname(file));
    const owner = process.geteuid?.() === 0 ? ownerOf(file) : undefined;
    if (lstatSync(made, { throwIfNoEntry: false })) unlinkSync(made);
    const descriptor = openSync(made, 'wx', 0o600);
    try {
      fchmodSync(descriptor, 0o600);
      if (owner) fchownSync(descriptor, owner.uid, owner.gid);
      writeFileSync(descriptor, text);
    } finally {
      closeSync(descriptor);
    }
    renameSync(made, file);
  } catch (error) {
    throw unwritable(file, error);
  }
}

/**
 * Who is to keep a file that root writes, as with `sudo` the user's own: the owner of the folder too. In folders that others may write to,
 * anybody could have put the file there, and would be given the administrator's key.
 */
function ownerOf(file: string): Stats | undefined {
  const before = lstatSync(file, { throwIfNoEntry: false });
  return before?.isFile() && before.uid === statSync(dirname(file)).uid ? before : undefined;
}

function unwritable(file: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException;
  return new CommandError(`${file} cannot be written (${code}).`, 'Choose another file with --kubeconfig.');
}

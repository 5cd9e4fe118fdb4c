/**
 * Where a cluster keeps everything it must remember, under one folder. A folder of another format version, of somebody else, or
 * one that cannot be written is refused with a sentence that says what to do; nothing is ever overwritten to find out.
 *
 * The room: what a cluster keeps. It reads and writes the data directory, and stores while nobody else does. A new file of the directory
 * gets its place here; what a later `up` remembers, in `up-settings.ts`; how a store is named, in `store-address.ts`; whole stores copied,
 * in `snapshots.ts` and `migration.ts`.
 */
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CommandError } from '../command-error.ts';

/** Raised whenever a newer Coracle could not read what an older one wrote. */
const dataFormat = 1;

export interface DataDirectory {
  readonly root: string;
  readonly pki: string;
  readonly store: string;
  readonly kubeconfig: string;
  /** Paths of kubeconfigs of users that this cluster was merged into, one a line. */
  readonly mergedKubeconfigs: string;
  /** Process ids and logs of what runs now. */
  readonly run: string;
  readonly node: string;
  /** The further nodes of this machine: a data directory for each, under its name. */
  readonly localNodes: string;
  /** What the class `local` gives of this machine. */
  readonly volumes: string;
  readonly containerdRoot: string;
  readonly kubeletRoot: string;
  readonly podLogs: string;
  readonly staticPods: string;
  readonly cniConfig: string;
  /** Sockets and mounts: on tmpfs, gone after a reboot, and short enough for a unix socket's path (108 bytes). */
  readonly state: string;
}

export interface DefaultPlaces {
  readonly isRoot: boolean;
  readonly home: string;
  readonly xdgDataHome: string | undefined;
}

export function defaultDataDirectory(places: DefaultPlaces): string {
  if (places.isRoot) return '/var/lib/coracle';
  return join(places.xdgDataHome || join(places.home, '.local/share'), 'coracle');
}

export function layOut(root: string): DataDirectory {
  const absolute = resolve(root);
  const node = join(absolute, 'node');
  const shortName = createHash('sha256').update(absolute).digest('hex').slice(0, 8);
  return {
    root: absolute,
    pki: join(absolute, 'pki'),
    store: join(absolute, 'store'),
    kubeconfig: join(absolute, 'kubeconfig'),
    mergedKubeconfigs: join(absolute, 'merged-kubeconfigs'),
    run: join(absolute, 'run'),
    node,
    localNodes: join(absolute, 'nodes'),
    volumes: join(absolute, 'volumes'),
    containerdRoot: join(node, 'containerd'),
    kubeletRoot: join(node, 'kubelet'),
    podLogs: join(node, 'pod-logs'),
    staticPods: join(node, 'static-pods'),
    cniConfig: join(node, 'cni'),
    state: `/run/coracle-${shortName}`,
  };
}

/** Makes the folder ready for use, or throws a `CommandError` that says why it is not and what to do. */
export function openDataDirectory(root: string): DataDirectory {
  const directory = layOut(root);
  const versionFile = join(directory.root, 'format');
  try {
    makeFolders(directory.root);
    accessSync(directory.root, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new CommandError(
      `the data directory ${directory.root} cannot be written (${code}).`,
      'Choose another with --data-dir, or run as the user who owns it.',
    );
  }
  if (existsSync(versionFile)) checkFormat(directory.root, readFileSync(versionFile, 'utf8').trim());
  else if (readdirSync(directory.root).length > 0)
    throw new CommandError(
      `${directory.root} is not empty and was not made by Coracle.`,
      'Choose an empty or new folder with --data-dir.',
    );
  else writeFileSync(versionFile, `${dataFormat}\n`);
  for (const folder of [directory.pki, directory.run, directory.node])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  return directory;
}

/** One folder at a time: where the system lets nobody make any (`/proc`), Node's recursive form tries for ever. */
export function makeFolders(path: string): void {
  if (existsSync(path)) {
    if (statSync(path).isDirectory()) return;
    throw Object.assign(new Error(`${path} is a file`), { code: 'ENOTDIR' });
  }
  makeFolders(dirname(path));
  mkdirSync(path, { mode: 0o755 });
}

function checkFormat(root: string, text: string): void {
  const format = Number(text);
  if (format === dataFormat) return;
  if (Number.isInteger(format) && format > dataFormat)
    throw new CommandError(
      `the data in ${root} has format ${format}; this Coracle knows formats up to ${dataFormat}.`,
      'Start it with the newer Coracle that wrote it, or choose another folder with --data-dir.',
    );
  throw new CommandError(
    `${join(root, 'format')} says ${JSON.stringify(text)}, which is no format of Coracle.`,
    'Choose another folder with --data-dir.',
  );
}

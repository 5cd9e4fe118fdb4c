/** Images of the node: brought in from archives with `ctr`, listed through the runtime's own interface. */
import { spawn } from 'node:child_process';
import { createReadStream, existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { type Clock, sleep } from '../../base/clock.ts';
import { connectRuntime } from '../../kubelet/runtime/cri/cri-runtime.ts';
import type { Image } from '../../kubelet/runtime/runtime.ts';
import { CommandError } from '../command-error.ts';
import { type DataDirectory, layOut } from '../data/data-directory.ts';
import { findProgram, type Machine } from '../machine/requirements.ts';
import { readNodeConfig } from './node-config.ts';
import { containerdSocket } from './private-containerd.ts';

/** containerd's namespace for what belongs to its CRI plugin. */
const criNamespace = 'k8s.io';

/**
 * `coracle image load`, into all nodes that run on this machine. `-` is standard input; a pipe's name will do too. Resolves to the
 * images' names once every runtime shows them.
 */
export async function loadImages(
  root: string,
  file: string,
  { machine, clock }: { readonly machine: Machine; readonly clock: Clock },
): Promise<string[]> {
  const path = resolve(file);
  const isReadOnce = file === '-' || !checkArchive(path).isFile();
  const directory = layOut(root);
  const sockets = [runtimeSocket(directory), ...furtherRuntimes(directory.localNodes)];
  const content = file === '-' ? () => process.stdin : () => createReadStream(path);
  if (isReadOnce && sockets.length > 1)
    throw new CommandError(
      `${file === '-' ? 'standard input' : path} can be read for one node only.`,
      'Write the archive to a file, and give that.',
    );
  const loaded = await Promise.all(
    sockets.map((socket) => loadInto(socket, { machine, clock, name: file, content: content() })),
  );
  return loaded[0] ?? [];
}

/** Throws a `CommandError` for what cannot be read as one. */
function checkArchive(path: string): Stats {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found)
    throw new CommandError(`there is no file ${path}.`, 'Give the path of an archive, or - for standard input.');
  if (!found.isDirectory()) return found;
  const isLayout = existsSync(join(path, 'oci-layout'));
  throw new CommandError(
    `${path} is a folder, not an archive.`,
    isLayout
      ? `It is an OCI image layout: tar -C ${path} -cf - . | coracle image load -`
      : 'Give one archive, as `docker save` or `skopeo copy ... oci-archive:FILE` writes it, or - for standard input.',
  );
}

/** Of the further nodes of this machine that run. */
function furtherRuntimes(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.map((name) => containerdSocket(layOut(join(folder, name)))).filter((socket) => existsSync(socket));
}

async function loadInto(
  socket: string,
  { machine, clock, name, content }: { machine: Machine; clock: Clock; name: string; content: Readable },
): Promise<string[]> {
  const names = await importImages(machine, socket, { name, content });
  const runtime = await connectRuntime({ clock, endpoint: `unix://${socket}` });
  try {
    // The interface learns of an import by an event, a moment later.
    const deadline = clock.monotonic() + visibleWithinMs;
    for (const image of names)
      while (!(await runtime.imageStatus({ image })) && clock.monotonic() < deadline) await sleep(clock, 20);
  } finally {
    runtime.close();
  }
  return names;
}

const visibleWithinMs = 5000;

/** `coracle image ls`. */
export async function listImages(
  directory: DataDirectory,
  { clock }: { readonly clock: Clock },
): Promise<readonly Image[]> {
  const runtime = await connectRuntime({ clock, endpoint: `unix://${runtimeSocket(directory)}` });
  try {
    return await runtime.listImages();
  } finally {
    runtime.close();
  }
}

function runtimeSocket(directory: DataDirectory): string {
  let own: string | undefined;
  let socket: string;
  try {
    const config = readNodeConfig(directory);
    if (config.runtime === 'simulated')
      throw new CommandError(
        'a simulated node has no images.',
        'It pretends to have every image whose name does not contain "does-not-exist".',
      );
    own = config.containerRuntimeEndpoint?.replace('unix://', '');
    socket = own ?? containerdSocket(directory);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(
      `no node has been started on ${directory.root}.`,
      'Start it with `coracle up`, or name its folder with --data-dir.',
    );
  }
  if (existsSync(socket)) return socket;
  throw new CommandError(`nothing listens at ${socket}.`, 'Start the cluster with `coracle up`.');
}

export interface Archive {
  /** For messages. */
  readonly name: string;
  readonly content: Readable;
}

/** From an OCI or docker archive. Resolves to the names of the images. */
export function importImages(machine: Machine, socket: string, archive: Archive): Promise<string[]> {
  const ctr = findProgram(machine, 'ctr', ['/usr/bin', '/usr/local/bin']);
  if (!ctr)
    return Promise.reject(
      new CommandError('ctr, a part of containerd, is not installed.', 'Install the package containerd.'),
    );
  return new Promise((resolve, reject) => {
    const child = spawn(ctr, ['--address', socket, '--namespace', criNamespace, 'images', 'import', '-'], {
      stdio: 'pipe',
      env: { PATH: machine.path.join(':') },
    });
    let output = '';
    let problem = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      problem += text;
    });
    // The program may end before it has read everything.
    child.stdin.on('error', () => {});
    archive.content.once('error', reject);
    archive.content.pipe(child.stdin);
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve(importedNames(output));
      reject(
        new CommandError(
          `the images in ${archive.name === '-' ? 'standard input' : archive.name} could not be imported: ${lastProblem(problem, code)}`,
          'Give an archive as `docker save` or `skopeo copy ... oci-archive:FILE` writes it.',
        ),
      );
    });
  });
}

/** `ctr` prints a line for each image: `unpacking NAME (sha256:...)...done`, and from containerd 2 on `NAME    saved`. */
export function importedNames(output: string): string[] {
  return [...output.matchAll(/^(?:unpacking (\S+)|(\S+)\s+saved\s*$)/gm)].map((match) => (match[1] ?? match[2])!);
}

function lastProblem(text: string, code: number | null): string {
  const line = text.trim().split('\n').pop() ?? '';
  return line.replace(/^ctr: /, '') || `ctr ended with status ${code}`;
}

/**
 * One process per data directory. LMDB itself lets many processes in, but the store decides compare-and-set in memory, so a
 * second writer would break it.
 *
 * The lock is a listening unix socket in a folder `writer-<pid>-<random>` of the data directory: the kernel closes it with the
 * process, however that dies, so no lock outlives its owner and no pid is mistaken for another. Invariant: who holds the
 * lock had its own socket listening before it looked for others, so of two that start at the same moment at most one
 * gets in (both may be refused).
 */
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { basename, join } from 'node:path';

export interface DirectoryLock {
  release(): Promise<void>;
}

/** Another process (or another store of this one) has the directory open. */
export class DataDirectoryLockedError extends Error {
  override readonly name = 'DataDirectoryLockedError';
  readonly path: string;
  readonly pid: number;
  constructor(path: string, pid: number) {
    super(
      `the data directory ${path} is in use by process ${pid}: ` +
        'stop that process, or choose another data directory for this one',
    );
    this.path = path;
    this.pid = pid;
  }
}

const lockName = /^writer-(\d+)-/;

export async function lockDirectory(path: string, pid: number): Promise<DirectoryLock> {
  const folder = mkdtempSync(join(path, `writer-${pid}-`));
  const release = async (server?: Server) => {
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    rmSync(folder, { recursive: true, force: true });
  };
  let server: Server | undefined;
  try {
    server = await listen(join(folder, 'alive'));
  } catch (error) {
    // Whoever came at the same moment may have taken the folder of this one, still without its socket, for a dead one.
    await release();
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' && (error as NodeJS.ErrnoException).code !== 'EACCES')
      throw error;
  }
  const other = await findLivingOwner(path, basename(folder));
  if (other !== undefined || !server) {
    await release(server);
    throw new DataDirectoryLockedError(path, other ?? pid);
  }
  return { release: () => release(server) };
}

/** The pid of another living owner; the folders of dead ones are removed on the way. */
async function findLivingOwner(path: string, own: string): Promise<number | undefined> {
  for (const name of readdirSync(path)) {
    const pid = lockName.exec(name)?.[1];
    if (!pid || name === own) continue;
    if (await isAlive(join(path, name, 'alive'))) return Number(pid);
    rmSync(join(path, name), { recursive: true, force: true });
  }
  return undefined;
}

function listen(path: string): Promise<Server> {
  const short = shortSocketPath(path);
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(short.path, () => {
      short.close();
      resolve(server);
    });
  });
}

/** Refused or absent: dead. Connected, or refused for lack of rights: alive. */
function isAlive(path: string): Promise<boolean> {
  const short = shortSocketPath(path);
  return new Promise((resolve) => {
    const socket = connect(short.path);
    const settle = (alive: boolean) => {
      short.close();
      socket.destroy();
      resolve(alive);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => settle(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}

/** The kernel takes socket paths of up to 107 bytes; longer ones go through a descriptor of their folder. */
function shortSocketPath(path: string): { readonly path: string; close(): void } {
  if (Buffer.byteLength(path) <= 100) return { path, close() {} };
  let folder: number;
  try {
    folder = openSync(join(path, '..'), 'r');
  } catch {
    return { path: '/nonexistent/alive', close() {} };
  }
  return { path: `/proc/self/fd/${folder}/${basename(path)}`, close: () => closeSync(folder) };
}

/**
 * The kubelet's own files of Pods: folders under the root directory, logs, `/etc/hosts`, termination messages. Layout and names are
 * upstream's, for log collectors and tools look for them.
 *
 *     ROOT/pods/UID/{volumes,containers,etc-hosts}
 *     LOGS/NAMESPACE_NAME_UID/CONTAINER/N.log
 */
import {
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { Random } from '../../base/random.ts';
import { type ContainerStatus, type Mount, runtimeAnnotations, runtimeLabels } from '../runtime/runtime.ts';
import type { PodFiles } from './host.ts';

export interface LinuxFilesOptions {
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  readonly containerLogsDirectory: string;
  readonly random: Random;
}

const maxMessageBytes = 4096;
const maxLogTailBytes = 2048;
const maxLogTailLines = 80;

export class LinuxFiles implements PodFiles {
  readonly #options: LinuxFilesOptions;
  readonly #prepared = new Set<string>();

  constructor(options: LinuxFilesOptions) {
    this.#options = options;
  }

  logDirectory(pod: Pod): string {
    const { namespace, name, uid } = pod.metadata;
    return join(this.#options.podLogsDirectory, `${namespace}_${name}_${uid}`);
  }

  podDirectory(uid: string): string {
    return join(this.#options.rootDirectory, 'pods', uid);
  }

  async prepare(pod: Pod): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    if (this.#prepared.has(uid)) return;
    const folders = ['volumes', 'plugins', 'containers'].map((part) => join(this.podDirectory(uid), part));
    await Promise.all([
      ...folders.map((folder) => mkdir(folder, { recursive: true, mode: 0o750 })),
      mkdir(this.logDirectory(pod), { recursive: true, mode: 0o755 }),
    ]);
    this.#prepared.add(uid);
  }

  async prepareContainer(pod: Pod, container: Container): Promise<void> {
    await mkdir(join(this.logDirectory(pod), container.name), { recursive: true, mode: 0o755 });
  }

  async hosts(pod: Pod, content: string): Promise<Mount> {
    const path = join(this.podDirectory(pod.metadata.uid ?? ''), 'etc-hosts');
    await writeFile(path, content, { mode: 0o644 });
    return { hostPath: path, containerPath: '/etc/hosts', readonly: false };
  }

  hostEtcHosts(): Promise<string> {
    return readFile('/etc/hosts', 'utf8').catch(() => '');
  }

  resolvConf(path: string): Promise<string> {
    return path === '' ? Promise.resolve('') : readFile(path, 'utf8').catch(() => '');
  }

  async terminationLog(pod: Pod, container: Container): Promise<Mount> {
    const directory = join(this.podDirectory(pod.metadata.uid ?? ''), 'containers', container.name);
    await mkdir(directory, { recursive: true, mode: 0o750 });
    const path = join(directory, Buffer.from(this.#options.random.bytes(4)).toString('hex'));
    await writeFile(path, '');
    // Whoever the container runs as may write its last words.
    await chmod(path, 0o666);
    return {
      hostPath: path,
      containerPath: container.terminationMessagePath ?? '/dev/termination-log',
      readonly: false,
    };
  }

  async terminationMessage(container: ContainerStatus): Promise<string | undefined> {
    const path = container.annotations[runtimeAnnotations.terminationMessagePath];
    const mount = container.mounts.find(({ containerPath }) => containerPath === path);
    const written = mount ? await head(mount.hostPath, maxMessageBytes) : '';
    const policy = container.annotations[runtimeAnnotations.terminationMessagePolicy];
    if (written !== '' || policy !== 'FallbackToLogsOnError' || container.exitCode === 0)
      return written || container.message || undefined;
    return (await logTail(container.logPath)) || container.message || undefined;
  }

  async linkLog(pod: Pod, container: Container, containerId: string, attempt: number): Promise<void> {
    const { containerLogsDirectory } = this.#options;
    if (containerLogsDirectory === '') return;
    const path = join(
      containerLogsDirectory,
      linkName(pod.metadata.name ?? '', pod.metadata.namespace ?? '', container.name, containerId),
    );
    await mkdir(containerLogsDirectory, { recursive: true });
    await symlink(join(this.logDirectory(pod), container.name, `${attempt}.log`), path).catch(() => undefined);
  }

  async unlinkLog({ labels, name, id }: ContainerStatus): Promise<void> {
    const { containerLogsDirectory } = this.#options;
    if (containerLogsDirectory === '') return;
    const link = linkName(labels[runtimeLabels.podName] ?? '', labels[runtimeLabels.podNamespace] ?? '', name, id);
    await unlink(join(containerLogsDirectory, link)).catch(() => undefined);
  }

  async removePod(podUid: string): Promise<void> {
    this.#prepared.delete(podUid);
    if (podUid === '') return;
    await rm(this.podDirectory(podUid), { recursive: true, force: true });
  }

  async removeLogs(pod: Pod): Promise<void> {
    if (pod.metadata.uid) await rm(this.logDirectory(pod), { recursive: true, force: true });
  }

  async removeOrphanedLogs(hasPod: (uid: string) => boolean): Promise<void> {
    const { podLogsDirectory, containerLogsDirectory } = this.#options;
    const folders = await readdir(podLogsDirectory).catch(() => []);
    for (const folder of folders) {
      const [, , uid] = folder.split('_');
      if (uid && !hasPod(uid)) await rm(join(podLogsDirectory, folder), { recursive: true, force: true });
    }
    if (containerLogsDirectory === '') return;
    for (const name of await readdir(containerLogsDirectory).catch(() => [])) {
      const link = join(containerLogsDirectory, name);
      const target = await readlink(link).catch(() => undefined);
      // A log that is being rotated is missing for a moment; its folder is not.
      if (target?.startsWith(`${podLogsDirectory}/`) && !(await exists(dirname(target))))
        await unlink(link).catch(() => undefined);
    }
  }

  async podUids(): Promise<readonly string[]> {
    return readdir(join(this.#options.rootDirectory, 'pods')).catch(() => []);
  }
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

function linkName(pod: string, namespace: string, container: string, id: string): string {
  return basename(`${pod}_${namespace}_${container}-${id}.log`);
}

async function head(path: string, bytes: number): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
      return buffer.subarray(0, bytesRead).toString();
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}

/** The last lines of a log in the runtime's format, without its time stamps. */
async function logTail(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.trimEnd().split('\n').slice(-maxLogTailLines);
  const messages = lines.map((line) => {
    const [, , tag = '', ...rest] = line.split(' ');
    return `${rest.join(' ')}${tag.startsWith('P') ? '' : '\n'}`;
  });
  return Buffer.from(messages.join('')).subarray(-maxLogTailBytes).toString();
}

/**
 * A private containerd for one test, the first on the PATH: its own root, state, socket, CNI network and bridge in a temporary folder, with Coracle's
 * pause image in it. `stop()` ends it and what it started, and removes everything again.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../base/clock.ts';
import { forgetPodNetworks } from '../cluster/node/cni-results.ts';
import { pauseImageArchive, pauseImageReference } from '../kubelet/images/pause-image.ts';
import { connectRuntime } from '../kubelet/runtime/cri/cri-runtime.ts';

const run = promisify(execFile);

export interface TestContainerd {
  readonly directory: string;
  /** `unix:///...`. */
  readonly endpoint: string;
  /** Folder of `hosts.toml` files per registry. */
  readonly registryDirectory: string;
  readonly podCidr: string;
  /** A cgroup for this test alone, removed with all below it. */
  readonly cgroupRoot: string;
  importImage(archive: Uint8Array): Promise<void>;
  /** `ctr` in the runtime's own namespace. */
  ctr(...args: string[]): Promise<string>;
  /** Ends the daemon but not the containers, as a crash does. */
  kill(): Promise<void>;
  /** After `kill`; with another PATH it may be another release. */
  restart(path?: string): Promise<void>;
  stop(): Promise<void>;
}

/** `path`: where programs are looked for instead of the PATH; `parent`: where its folder is made. */
export async function startContainerd(path = process.env.PATH ?? '', parent = tmpdir()): Promise<TestContainerd> {
  const directory = await mkdtemp(join(parent, 'coracle-containerd-'));
  // Containers with users of their own start as somebody else, who has to reach their root.
  await chmod(directory, 0o711);
  // Those that run side by side need addresses and bridges of their own: both derive from the folder's random name.
  const unique = createHash('sha256').update(directory).digest();
  const bridge = `crt${unique.toString('hex', 0, 5)}`;
  const cgroupRoot = `/${basename(directory)}`;
  const podCidr = `10.${56 + (unique[5]! % 100)}.${unique[6]}.0/24`;
  await mkdir(join(directory, 'cni'), { recursive: true });
  await mkdir(join(directory, 'certs.d'));
  await writeFile(join(directory, 'config.toml'), configuration(directory));
  await writeFile(join(directory, 'cni', '10-pods.conflist'), cniConfiguration(directory, bridge, podCidr));
  let daemon = await launch(directory, path);

  const ctr = async (...args: string[]) => {
    const words = ['-a', join(directory, 'containerd.sock'), '-n', 'k8s.io', ...args];
    return (await run('ctr', words, { env: { ...process.env, PATH: path } })).stdout;
  };
  const importImage = async (archive: Uint8Array) => {
    const file = join(directory, `import-${systemClock.monotonic()}.tar`);
    await writeFile(file, archive);
    await ctr('images', 'import', file);
    await rm(file);
  };
  const stop = async () => {
    await removeContainers(ctr);
    await end(daemon, 'SIGTERM');
    await endLeftovers(directory);
    forgetPodNetworks(directory);
    await unmountBelow(directory);
    await removeCgroups(cgroupRoot);
    await run('ip', ['link', 'delete', bridge]).catch(() => undefined);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await importImage(pauseImageArchive());
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    directory,
    endpoint: `unix://${join(directory, 'containerd.sock')}`,
    registryDirectory: join(directory, 'certs.d'),
    podCidr,
    cgroupRoot,
    importImage,
    ctr,
    kill: () => end(daemon, 'SIGKILL'),
    async restart(other = path) {
      daemon = await launch(directory, other);
    },
    stop,
  };
}

async function launch(directory: string, path: string): Promise<ChildProcess> {
  const daemon = spawn('containerd', ['-c', join(directory, 'config.toml'), '--log-level', 'warn'], {
    stdio: 'ignore',
    env: { ...process.env, PATH: path },
  });
  try {
    const endpoint = `unix://${join(directory, 'containerd.sock')}`;
    const runtime = await connectRuntime({ clock: systemClock, endpoint, waitMs: 10_000 });
    runtime.close();
    return daemon;
  } catch (error) {
    await end(daemon, 'SIGKILL');
    throw new Error('containerd does not serve after 10 s', { cause: error });
  }
}

async function end(daemon: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = new Promise((resolve) => daemon.once('exit', resolve));
  daemon.kill(signal);
  await ended;
}

async function removeContainers(ctr: TestContainerd['ctr']): Promise<void> {
  const tasks = (await ctr('tasks', 'ls', '-q').catch(() => '')).split('\n').filter(Boolean);
  await Promise.all(tasks.map((id) => ctr('tasks', 'delete', '--force', id).catch(() => undefined)));
  const containers = (await ctr('containers', 'ls', '-q').catch(() => '')).split('\n').filter(Boolean);
  await Promise.all(containers.map((id) => ctr('containers', 'delete', id).catch(() => undefined)));
}

/** Shims of containers that were made while everything ended, and what runs below them. All were started from this folder. */
async function endLeftovers(directory: string): Promise<void> {
  const processes: { readonly id: number; readonly parent: number; readonly isShim: boolean }[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const [command, stat] = await Promise.all([
      readFile(join('/proc', name, 'cmdline'), 'utf8').catch(() => ''),
      readFile(join('/proc', name, 'stat'), 'utf8').catch(() => ''),
    ]);
    const isShim = command.includes('containerd-shim') && command.includes(`${directory}/`);
    processes.push({
      id: Number(name),
      parent: Number(
        stat
          .slice(stat.lastIndexOf(')') + 1)
          .trim()
          .split(' ')[1],
      ),
      isShim,
    });
  }
  const doomed = new Set(processes.filter(({ isShim }) => isShim).map(({ id }) => id));
  for (let before = -1; before !== doomed.size; ) {
    before = doomed.size;
    for (const { id, parent } of processes) if (doomed.has(parent)) doomed.add(id);
  }
  for (const id of doomed) {
    try {
      process.kill(id, 'SIGKILL');
    } catch {
      // It has ended by itself meanwhile.
    }
  }
}

async function removeCgroups(name: string): Promise<void> {
  const hierarchies = await readdir('/sys/fs/cgroup');
  for (const hierarchy of [...hierarchies.map((entry) => join('/sys/fs/cgroup', entry)), '/sys/fs/cgroup']) {
    await run('find', [join(hierarchy, name), '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']).catch(
      () => undefined,
    );
  }
}

async function unmountBelow(directory: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const path of mounts.filter((mount) => mount.startsWith(`${directory}/`)).reverse()) {
    await run('umount', ['-l', path]).catch(() => undefined);
  }
}

function configuration(directory: string): string {
  return `version = 2
root = "${directory}/root"
state = "${directory}/state"
[grpc]
  address = "${directory}/containerd.sock"
[ttrpc]
  address = "${directory}/containerd.sock.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImageReference}"
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
  enable_cdi = true
  cdi_spec_dirs = ["${directory}/cdi"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${directory}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${directory}/certs.d"
[plugins."io.containerd.internal.v1.opt"]
  path = "${directory}/opt"
`;
}

function cniConfiguration(directory: string, bridge: string, podCidr: string): string {
  return JSON.stringify({
    // The latest that containerd 1.4 knows.
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        isDefaultGateway: true,
        hairpinMode: true,
        ipMasq: false,
        ipam: { type: 'host-local', dataDir: join(directory, 'ipam'), ranges: [[{ subnet: podCidr }]] },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  });
}

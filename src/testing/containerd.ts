/**
 * A private containerd for one test: its own root, state, socket, CNI network and bridge in a temporary folder, with Coracle's
 * pause image in it. `stop()` ends it and what it started, and removes everything again.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { sleep, systemClock } from '../base/clock.ts';
import { pauseImageArchive, pauseImageReference } from '../kubelet/images/pause-image.ts';

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
  /** After `kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Why real containers cannot run here, or undefined when they can. */
export function containerdMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  const needed = ['/usr/bin/containerd', '/usr/bin/ctr', '/usr/sbin/runc', '/usr/lib/cni/bridge', '/bin/busybox'];
  const missing = needed.filter((path) => !existsSync(path));
  return missing.length > 0 ? `missing ${missing.join(', ')}` : undefined;
}

export async function startContainerd(): Promise<TestContainerd> {
  const directory = await mkdtemp(join(tmpdir(), 'coracle-containerd-'));
  // Parallel tests need addresses and bridges of their own: both derive from the process id.
  const network = process.pid % 200;
  const bridge = `crt${process.pid % 100000}`;
  const cgroupRoot = `/${basename(directory)}`;
  const podCidr = `10.${56 + (Math.floor(process.pid / 200) % 50)}.${network}.0/24`;
  await mkdir(join(directory, 'cni'), { recursive: true });
  await mkdir(join(directory, 'certs.d'));
  await writeFile(join(directory, 'config.toml'), configuration(directory));
  await writeFile(join(directory, 'cni', '10-pods.conflist'), cniConfiguration(directory, bridge, podCidr));
  let daemon = await launch(directory);

  const ctr = async (...args: string[]) => {
    const { stdout } = await run('ctr', ['-a', join(directory, 'containerd.sock'), '-n', 'k8s.io', ...args]);
    return stdout;
  };
  const importImage = async (archive: Uint8Array) => {
    const file = join(directory, `import-${systemClock.monotonic()}.tar`);
    await writeFile(file, archive);
    await ctr('images', 'import', file);
    await rm(file);
  };
  await importImage(pauseImageArchive());
  return {
    directory,
    endpoint: `unix://${join(directory, 'containerd.sock')}`,
    registryDirectory: join(directory, 'certs.d'),
    podCidr,
    cgroupRoot,
    importImage,
    ctr,
    kill: () => end(daemon, 'SIGKILL'),
    async restart() {
      daemon = await launch(directory);
    },
    async stop() {
      await removeContainers(ctr);
      await end(daemon, 'SIGTERM');
      await unmountBelow(directory);
      await removeCgroups(cgroupRoot);
      await run('ip', ['link', 'delete', bridge]).catch(() => undefined);
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function launch(directory: string): Promise<ChildProcess> {
  const daemon = spawn('containerd', ['-c', join(directory, 'config.toml'), '--log-level', 'warn'], {
    stdio: 'ignore',
  });
  const socket = join(directory, 'containerd.sock');
  for (let attempt = 0; attempt < 400; attempt++) {
    if (daemon.exitCode !== null) throw new Error(`containerd ended with code ${daemon.exitCode}`);
    const isServing =
      existsSync(socket) &&
      (await run('ctr', ['-a', socket, '--connect-timeout', '1s', 'version']).then(
        () => true,
        () => false,
      ));
    if (isServing) return daemon;
    await sleep(systemClock, 25);
  }
  await end(daemon, 'SIGKILL');
  throw new Error('containerd does not serve after 10 s');
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
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
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
    cniVersion: '1.0.0',
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

/**
 * Takes a node's leavings off the machine: its process, its Pods, its container runtime, its tables in the kernel, its mounts and
 * cgroups. Each step looks for what is this data directory's own and finds nothing when it is gone already, so it can be repeated and
 * interrupted. Data stays.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Clock, withTimeout } from '../../base/clock.ts';
import { connectRuntime } from '../../kubelet/runtime/cri/cri-runtime.ts';
import { type ContainerRuntime, runtimeAnnotations, runtimeLabels } from '../../kubelet/runtime/runtime.ts';
import { removeTables } from '../../proxy/proxy.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { findProgram } from '../machine/requirements.ts';
import { identify, isRunning, runningProcess } from '../processes/processes.ts';
import { forgetPodNetworks } from './cni-results.ts';
import { type NodeConfig, readNodeConfig } from './node-config.ts';
import { absentTablesFile, commonCniFolder, nodeKernel } from './node-network.ts';
import { removeRoutes } from './node-routes.ts';
import { connectStarting } from './node-runtime.ts';
import { stopNodeProcess } from './node-supervisor.ts';
import {
  configuredPodCidrs,
  removeEmptyPortMappings,
  removeMasquerade,
  removePodNetwork,
  withdrawForwarded,
} from './pod-network.ts';
import { containerdSocket, startPrivateContainerd, stopContainerd } from './private-containerd.ts';
import { removeEmptyTables } from './shared-tables.ts';

export interface TearDownOptions {
  readonly clock: Clock;
  readonly machine: ThisMachine;
  /** How long containers have to end by themselves, at most; default 10 s. */
  readonly graceSeconds?: number | undefined;
}

export async function tearDownNode(directory: DataDirectory, options: TearDownOptions): Promise<void> {
  const { clock } = options;
  await stopNodeProcess(directory, clock);
  const config = configOf(directory);
  // Told by what lies there, not by what the node is now: it may have been another before.
  if (config && (existsSync(directory.containerdRoot) || existsSync(join(directory.run, 'nft')))) {
    await stopPods(directory, config, options);
    await stopContainerd(directory, clock);
    await killLeftovers(directory, clock);
    await removeKernelTables(directory, options);
    removeNetwork(directory, config, options);
    forgetPodNetworks(directory.root);
    unmountBelow([directory.root, directory.state]);
    removeCgroups(basename(directory.state));
  }
  rmSync(directory.state, { recursive: true, force: true });
}

/** All processes of a node end at once, as in a power cut: the ones that would start others again first. Nothing is taken away. */
export async function killNode(
  directory: DataDirectory,
  { clock, keeper }: { readonly clock: Clock; readonly keeper: string },
): Promise<void> {
  for (const name of [keeper, 'node', 'containerd']) {
    const running = runningProcess(directory.run, name);
    if (running) process.kill(running.pid, 'SIGKILL');
  }
  await killLeftovers(directory, clock);
}

function configOf(directory: DataDirectory): NodeConfig | undefined {
  try {
    return readNodeConfig(directory);
  } catch {
    return undefined;
  }
}

const wholeStopMs = 60_000;

/** Stops the Pods through the runtime, which then also gives their addresses back. What it cannot stop is left to `killLeftovers`. */
async function stopPods(directory: DataDirectory, config: NodeConfig, options: TearDownOptions): Promise<void> {
  const { clock, machine, graceSeconds = 10 } = options;
  const own = config.containerRuntimeEndpoint;
  let runtime: ContainerRuntime | undefined;
  try {
    runtime = own
      ? await connectRuntime({ clock, endpoint: own })
      : await connectPrivate(directory, { clock, machine });
    if (!runtime) return;
    // In a runtime that others use too, ours are the Pods that have a folder here.
    const isOurs = (uid: string) => !own || existsSync(join(directory.kubeletRoot, 'pods', uid));
    const work = stopAll(runtime, isOurs, graceSeconds);
    await withTimeout(clock, work, wholeStopMs, () => new Error('the runtime does not stop the Pods'));
  } catch {
  } finally {
    runtime?.close();
  }
}

async function stopAll(
  runtime: ContainerRuntime,
  isOurs: (podUid: string) => boolean,
  graceSeconds: number,
): Promise<void> {
  const containers = await runtime.listContainers({ state: 'running' });
  const running = containers.filter(({ labels }) => isOurs(labels[runtimeLabels.podUid] ?? ''));
  await Promise.allSettled(
    running.map((container) => {
      const asked = Number(container.annotations[runtimeAnnotations.podTerminationGracePeriod] ?? 30);
      return runtime.stopContainer(container.id, Math.min(asked, graceSeconds));
    }),
  );
  const sandboxes = (await runtime.listPodSandboxes()).filter(({ metadata }) => isOurs(metadata.uid));
  await Promise.allSettled(sandboxes.map(({ id }) => runtime.stopPodSandbox(id)));
}

/** Containers outlive a runtime that was killed: it is started once more to end them in order. Undefined: there are none. */
async function connectPrivate(
  directory: DataDirectory,
  options: { readonly clock: Clock; readonly machine: ThisMachine },
): Promise<ContainerRuntime | undefined> {
  if (!runningProcess(directory.run, 'containerd') && shims(directory).length === 0) return undefined;
  const { socket, process } = await startPrivateContainerd(directory, options);
  return connectStarting(`unix://${socket}`, process, options.clock);
}

/** Processes that hold this runtime's containers: each was started with its socket's path. */
function shims(directory: DataDirectory): number[] {
  const address = `\0${containerdSocket(directory)}\0`;
  return processIds().filter((pid) => {
    const commandLine = readText(`/proc/${pid}/cmdline`);
    return commandLine.split('\0')[0]?.includes('containerd-shim') && commandLine.includes(address);
  });
}

function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** What still runs in the node's cgroups, and the shims above it, ends now. */
async function killLeftovers(directory: DataDirectory, clock: Clock): Promise<void> {
  const victims = [...shims(directory), ...cgroupFolders(basename(directory.state)).flatMap(membersOf)]
    .map(identify)
    .filter((process) => process !== undefined);
  for (const { pid } of victims) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {}
  }
  for (let i = 0; i < 100 && victims.some(isRunning); i++) await new Promise<void>((done) => clock.after(20, done));
}

function membersOf(folder: string): number[] {
  return readText(join(folder, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);
}

async function removeKernelTables(directory: DataDirectory, { machine }: TearDownOptions): Promise<void> {
  const made = join(directory.run, 'nft');
  if (existsSync(made)) {
    const kernel = nodeKernel(directory, machine, 'proxy');
    await removeTables(kernel, ['ip', 'ip6']);
    await removeMasquerade(kernel);
    rmSync(made, { recursive: true, force: true });
  }
}

function removeNetwork(directory: DataDirectory, config: NodeConfig, { machine }: TearDownOptions): void {
  const folder = config.containerRuntimeEndpoint ? commonCniFolder : directory.cniConfig;
  const iptables = findProgram(machine, 'iptables');
  withdrawForwarded(iptables, configuredPodCidrs(folder));
  removeEmptyPortMappings(iptables);
  const ip = findProgram(machine, 'ip');
  if (ip) removeRoutes(ip);
  const nft = findProgram(machine, 'nft');
  if (nft) removeEmptyTables(nft, absentTablesFile(directory));
  // In a private runtime's own folder the ranges stay valid for the next start.
  if (config.containerRuntimeEndpoint) removePodNetwork(folder);
}

/** Innermost first. A mount that is still in use is detached and goes with its last user. */
export function unmountBelow(folders: readonly string[]): void {
  for (const path of mountsBelow(folders)) {
    if (spawnSync('umount', [path], { stdio: 'ignore' }).status !== 0) spawnSync('umount', ['-l', path]);
  }
}

export function mountsBelow(folders: readonly string[], mountInfo = readText('/proc/self/mountinfo')): string[] {
  return mountInfo
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((path) => path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))))
    .filter((path) => folders.some((folder) => path === folder || path.startsWith(`${folder}/`)))
    .reverse();
}

/** All folders of a cgroup and those below it, deepest first, in every hierarchy there is. */
function cgroupFolders(name: string): string[] {
  const mountPoint = '/sys/fs/cgroup';
  const hierarchies = [mountPoint, ...subfolders(mountPoint)];
  const walk = (folder: string): string[] => [...subfolders(folder).flatMap(walk), folder];
  return hierarchies.map((hierarchy) => join(hierarchy, name)).flatMap((root) => (existsSync(root) ? walk(root) : []));
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(folder, entry.name));
  } catch {
    return [];
  }
}

function removeCgroups(name: string): void {
  for (const folder of cgroupFolders(name)) {
    try {
      rmdirSync(folder);
    } catch {}
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

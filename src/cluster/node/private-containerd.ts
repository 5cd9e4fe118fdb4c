/**
 * A containerd of the cluster's own: root, state, socket and network configuration below the data directory, so that it neither sees
 * nor disturbs another one on the machine. It outlives the node process: containers keep running while the kubelet is away.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { type Clock, sleep } from '../../base/clock.ts';
import { pauseImageReference } from '../../kubelet/images/pause-image.ts';
import { CommandError } from '../command-error.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { cniPluginFolder, findProgram } from '../machine/requirements.ts';
import { rotate } from '../processes/process-log.ts';
import {
  forgetProcess,
  isRunning,
  type ProcessIdentity,
  runningProcess,
  startDetached,
  stopProcess,
} from '../processes/processes.ts';

export interface PrivateContainerd {
  readonly socket: string;
  readonly process: ProcessIdentity;
  /** For messages. */
  readonly logFile: string;
}

export interface ContainerdOptions {
  readonly clock: Clock;
  readonly machine: ThisMachine;
}

/** Takes over the one that already runs, or starts it, and resolves once its socket answers. */
export async function startPrivateContainerd(
  directory: DataDirectory,
  options: ContainerdOptions,
): Promise<PrivateContainerd> {
  const state = join(directory.state, 'containerd');
  const socket = containerdSocket(directory);
  const logFile = join(directory.run, 'containerd.log');
  for (const folder of [directory.containerdRoot, directory.cniConfig, join(directory.node, 'registries'), state])
    mkdirSync(folder, { recursive: true, mode: 0o711 });
  // One that runs and does not answer is still starting, or stuck for a while: a second one beside it would do harm.
  const running = runningProcess(directory.run, 'containerd');
  if (running) return answering(running, { socket, logFile, clock: options.clock });
  const { clock, machine } = options;
  const program = findProgram(machine, 'containerd');
  if (!program)
    throw new CommandError(
      'containerd is not installed on this machine.',
      'Run coracle up without --no-install, or use --runtime simulated.',
    );
  const configFile = join(directory.node, configFileName);
  writeFileSync(configFile, containerdConfig(directory, socket));
  rotate(logFile);
  const identity = startDetached(directory.run, 'containerd', {
    command: program,
    arguments: ['--config', configFile],
    environment: { ...machine.environment, PATH: [...machine.path, '/usr/sbin', '/sbin'].join(':') },
    logFile,
  });
  return answering(identity, { socket, logFile, clock });
}

const configFileName = 'containerd.toml';

/** The data directory of a process with this command line; undefined when it is no containerd of ours. */
export function rootOfRuntime([command = '', option, file = '']: readonly string[]): string | undefined {
  const isOurs =
    basename(command) === 'containerd' && option === '--config' && file.endsWith(`/node/${configFileName}`);
  return isOurs ? dirname(dirname(file)) : undefined;
}

const answerTimeoutMs = 20_000;

async function answering(
  process: ProcessIdentity,
  { socket, logFile, clock }: { readonly socket: string; readonly logFile: string; readonly clock: Clock },
): Promise<PrivateContainerd> {
  const deadline = clock.monotonic() + answerTimeoutMs;
  while (!(await answers(socket))) {
    const alive = isRunning(process);
    if (!alive || clock.monotonic() > deadline)
      throw new CommandError(
        `containerd ${alive ? `did not answer within ${answerTimeoutMs / 1000} s` : 'ended at once'}: ${lastLine(logFile)}`,
        `Its log is ${logFile}. Without a container runtime, use --runtime simulated.`,
      );
    await sleep(clock, 20);
  }
  return { socket, logFile, process };
}

export function containerdSocket(directory: DataDirectory): string {
  return join(directory.state, 'containerd', 'containerd.sock');
}

export async function stopContainerd(directory: DataDirectory, clock: Clock): Promise<void> {
  const identity = runningProcess(directory.run, 'containerd');
  if (identity) await stopProcess(clock, identity, 10_000);
  forgetProcess(directory.run, 'containerd');
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

function lastLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').pop() ?? '';
  } catch {
    return '';
  }
}

/** Whether this process may lower a process's OOM score: CAP_SYS_RESOURCE is bit 24 of the effective set. */
function mayLowerOomScore(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${effective}`) >> 24n) % 2n === 1n;
}

function appArmorWorks(): boolean {
  const enabled = '/sys/module/apparmor/parameters/enabled';
  return existsSync(enabled) && readFileSync(enabled, 'utf8').startsWith('Y') && existsSync('/sbin/apparmor_parser');
}

/** Version 2 of the format is read by containerd 1.4 and all later ones, which skip what they do not know. */
function containerdConfig(directory: DataDirectory, socket: string): string {
  const text = (value: string) => JSON.stringify(value);
  return `# Written by coracle up; changes are lost.
version = 2
root = ${text(directory.containerdRoot)}
state = ${text(join(directory.state, 'containerd', 'state'))}
[grpc]
  address = ${text(socket)}
[ttrpc]
  address = ${text(`${socket}.ttrpc`)}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${text(pauseImageReference)}
  netns_mounts_under_state_dir = true
  enable_cdi = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = ${!appArmorWorks()}
  restrict_oom_score_adj = ${!mayLowerOomScore()}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${text(cniPluginFolder())}
    conf_dir = ${text(directory.cniConfig)}
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = ${text(join(directory.node, 'registries'))}
[plugins."io.containerd.internal.v1.opt"]
  path = ${text(join(directory.containerdRoot, 'opt'))}
`;
}

/** `coracle status`: what of a cluster runs, as values; the command prints them. */
import { existsSync, readFileSync } from 'node:fs';
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { CommandError } from '../command-error.ts';
import { connectionOf, kubeconfigOptions } from '../components/flags/connection.ts';
import { layOut } from '../data/data-directory.ts';
import { keeperProcess } from '../joining/join.ts';
import { nodeConfigFile, readNodeConfig } from '../node/node-config.ts';
import { readNodeProblems } from '../node/node-problems.ts';
import { obstacleOf } from '../node/node-readiness.ts';
import { type ProcessIdentity, runningProcess } from '../processes/processes.ts';

export interface ProcessStatus {
  readonly name: string;
  /** Absent: it does not run. */
  readonly pid?: number;
  readonly uptimeSeconds?: number;
  /** Its share of memory (PSS), or what is resident where that cannot be read. */
  readonly memoryBytes?: number;
}

export interface NodeStatus {
  readonly name: string;
  readonly version: string;
  /** Absent: Ready. */
  readonly problem?: string;
}

export interface ClusterStatus {
  readonly dataDirectory: string;
  readonly kubeconfig: string;
  readonly server?: string;
  readonly processes: readonly ProcessStatus[];
  readonly nodes: readonly NodeStatus[];
  /** Parts of the node that failed and are started again, by name: `kubelet`, `kube-proxy`, `containerd`. */
  readonly nodeProblems: Readonly<Record<string, string>>;
  /** Why the API server did not answer. */
  readonly apiProblem?: string;
  /** Control plane (or what keeps a joined node), node and API server all answer. */
  readonly isRunning: boolean;
}

const requestTimeoutMs = 5000;

export async function clusterStatus(root: string, { clock }: { readonly clock: Clock }): Promise<ClusterStatus> {
  const directory = layOut(root);
  checkReadable(directory.pki, directory.root);
  const joined = existsSync(nodeConfigFile(directory)) ? readNodeConfig(directory) : undefined;
  const main = joined?.joined ? keeperProcess : 'control-plane';
  const processes = [main, 'node', 'containerd'].map((name) => {
    const identity = runningProcess(directory.run, name);
    return { name, ...(identity ? measure(identity) : {}) };
  });
  const { kubeconfig } = directory;
  const runs = (name: string) => processes.some((process) => process.name === name && 'pid' in process);
  const nodeProblems = runs('node') ? readNodeProblems(directory) : {};
  const base = { dataDirectory: directory.root, kubeconfig, processes, nodeProblems };
  if (!existsSync(kubeconfig) || !runs(main)) return { ...base, nodes: [], isRunning: false };
  const options = await kubeconfigOptions(kubeconfig, { flag: '--kubeconfig', clock });
  const { server } = options;
  await using connection = connectionOf({ ...options, timeoutMs: requestTimeoutMs });
  try {
    // A node that joined may read no Node but its own.
    const fieldSelector = joined?.joined ? `metadata.name=${joined.nodeName}` : undefined;
    const { items } = await connection.client.list(nodes, { fieldSelector });
    return { ...base, server, nodes: items.map(nodeStatus), isRunning: runs('node') };
  } catch (error) {
    return { ...base, server, nodes: [], apiProblem: messageOf(error), isRunning: false };
  }
}

function nodeStatus(node: Node): NodeStatus {
  const problem = obstacleOf(node, undefined);
  return {
    name: node.metadata.name ?? '',
    version: node.status?.nodeInfo?.kubeletVersion ?? '',
    ...(problem === undefined ? {} : { problem }),
  };
}

function checkReadable(folder: string, root: string): void {
  try {
    if (existsSync(root)) readFileSync(`${folder}/ca.crt`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return;
    throw new CommandError(`${root} belongs to another user.`, 'Run the command as the user who started the cluster.');
  }
}

function measure({ pid, startTicks }: ProcessIdentity): Omit<ProcessStatus, 'name'> {
  const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
  // The kernel counts start times in hundredths of a second on every architecture Node.js runs on.
  return { pid, uptimeSeconds: Math.max(0, uptime - Number(startTicks) / 100), memoryBytes: memoryOf(pid) };
}

function memoryOf(pid: number): number {
  for (const [file, pattern] of [
    ['smaps_rollup', /^Pss:\s+(\d+) kB/m],
    ['status', /^VmRSS:\s+(\d+) kB/m],
  ] as const) {
    try {
      const kib = pattern.exec(readFileSync(`/proc/${pid}/${file}`, 'utf8'))?.[1];
      if (kib) return Number(kib) * 1024;
    } catch {}
  }
  return 0;
}

/**
 * The further nodes of `coracle up --nodes N`: each joins the cluster like any machine, from a data directory of its own below the cluster's,
 * and can be stopped, crashed and cut off without the others. With a simulated runtime they are processes; with containers each has a
 * network of its own. Their processes outlive the one that started them.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../base/clock.ts';
import { CommandError } from '../command-error.ts';
import { type DataDirectory, layOut } from '../data/data-directory.ts';
import { type ClusterSettings, readSettings } from '../data/up-settings.ts';
import { keeperProcess } from '../joining/join.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { nodeConfigFile, readNodeConfig } from '../node/node-config.ts';
import { killNode } from '../node/node-teardown.ts';
import { runningProcess } from '../processes/processes.ts';
import { LocalMachines } from './local-machines.ts';

export interface LocalNodesOptions {
  /** Of the cluster. */
  readonly directory: DataDirectory;
  readonly settings: Pick<ClusterSettings, 'nodeName' | 'nodes' | 'runtime' | 'clusterCidrs'>;
  readonly machine: ThisMachine;
  readonly clock: Clock;
}

/** How a node that never joined gets in. */
export interface Introduction {
  /** `HOST:PORT` of the API server as other machines reach it. */
  readonly server: string;
  readonly caHash: string;
  token(): Promise<string>;
}

export type LocalNodeState = 'running' | 'cut off' | 'stopped';

export interface LocalNode {
  readonly name: string;
  readonly address: string | undefined;
  readonly state: LocalNodeState;
}

const execute = promisify(execFile);
const joinWithinMs = 180_000;

/** Of the cluster that was started on this data directory. Throws a `CommandError` where there is none. */
export function localNodesOf(root: string, surroundings: Pick<LocalNodesOptions, 'machine' | 'clock'>): LocalNodes {
  const directory = layOut(root);
  const { nodeName, nodes, runtime = 'containerd', clusterCidrs = [] } = readSettings(directory);
  if (nodeName === undefined)
    throw new CommandError(
      `there is no cluster at ${root}.`,
      'Start one (coracle up --nodes 3), or give its --data-dir.',
    );
  return new LocalNodes({ directory, settings: { nodeName, nodes, runtime, clusterCidrs }, ...surroundings });
}

export class LocalNodes {
  readonly #options: LocalNodesOptions;
  readonly #machines: LocalMachines;

  constructor(options: LocalNodesOptions) {
    this.#options = options;
    const { directory, machine, settings } = options;
    this.#machines = new LocalMachines({ directory, machine, clusterCidrs: settings.clusterCidrs });
  }

  /** Those that were asked for, without the first. */
  get names(): readonly string[] {
    const { nodes = 1, nodeName } = this.#options.settings;
    return Array.from({ length: nodes - 1 }, (_, index) => `${nodeName}-${index + 2}`);
  }

  /** Resolves once the node is Ready. One that runs is left as it is. */
  async start(name: string, introduction?: Introduction): Promise<void> {
    const { machine, settings } = this.#options;
    const number = this.#numberOf(name);
    const { root } = this.#directoryOf(name);
    if (runningProcess(layOut(root).run, keeperProcess)) return;
    const isNew = !existsSync(nodeConfigFile(layOut(root)));
    if (isNew && !introduction)
      throw new CommandError(`node ${name} has never run.`, 'Start the cluster again: coracle up.');
    const given = isNew && introduction ? await introduced(introduction) : [];
    const words = ['join', ...given, '--data-dir', root, '--node-name', name, '--detach', '--no-install'];
    if (settings.runtime === 'simulated') {
      await this.#run([...machine.self, ...words, '--runtime', 'simulated']);
      return;
    }
    const reaches = introduction ? [hostOf(introduction.server)] : serverHosts(root);
    const { address } = await this.#machines.ensure(number, reaches);
    await this.#machines.setConnected(number, true);
    await this.#run(this.#machines.entering(number, [...machine.self, ...words, '--node-ip', address]));
  }

  /** Ends its Pods and processes in order; its Node object stays, and becomes NotReady. */
  async stop(name: string, options: { readonly purge?: boolean } = {}): Promise<void> {
    const { machine } = this.#options;
    const number = this.#numberOf(name);
    const { root } = this.#directoryOf(name);
    if (!existsSync(root)) return;
    const words = [...machine.self, 'down', '--data-dir', root, ...(options.purge ? ['--purge'] : [])];
    if (this.#isContained) await this.#machines.ensure(number, []);
    await this.#run(this.#isContained ? this.#machines.entering(number, words) : words);
    await this.#machines.remove(number);
  }

  /** As a power cut: all its processes end at once, and nobody is told. */
  async crash(name: string): Promise<void> {
    this.#numberOf(name);
    await killNode(this.#directoryOf(name), { clock: this.#options.clock, keeper: keeperProcess });
  }

  /** Nobody reaches it and it reaches nobody; its Pods go on. */
  async partition(name: string): Promise<void> {
    await this.#machines.setConnected(this.#containedNumber(name), false);
  }

  async heal(name: string): Promise<void> {
    await this.#machines.setConnected(this.#containedNumber(name), true);
  }

  async list(): Promise<readonly LocalNode[]> {
    return Promise.all(
      this.names.map(async (name) => {
        const number = this.#numberOf(name);
        const isRunning = runningProcess(this.#directoryOf(name).run, 'node') !== undefined;
        const isCutOff = isRunning && this.#isContained && !(await this.#machines.isConnected(number));
        const state = isCutOff ? 'cut off' : isRunning ? 'running' : 'stopped';
        return { name, address: this.#isContained ? this.#machines.machine(number).address : undefined, state };
      }),
    );
  }

  /** Asks the nodes' processes to end and leaves their Pods running, as when the control plane's process is told to. */
  release(): void {
    for (const name of this.#made()) {
      const keeper = runningProcess(this.#directoryOf(name).run, keeperProcess);
      if (keeper) process.kill(keeper.pid, 'SIGTERM');
    }
  }

  /** Takes away those that are not asked for any more, and returns their names. */
  async removeSurplus(): Promise<readonly string[]> {
    const surplus = this.#made().filter((name) => !this.names.includes(name));
    await Promise.all(surplus.map((name) => this.stop(name, { purge: true })));
    return surplus;
  }

  /** All that there are, also those that are not asked for any more, and their network. */
  async takeDown(options: { readonly purge: boolean }): Promise<void> {
    const { directory } = this.#options;
    const made = this.#made();
    if (made.length === 0) return;
    await Promise.all(made.map((name) => this.stop(name, options)));
    if (this.#isContained) await this.#machines.removeNetwork();
    if (options.purge) rmSync(directory.localNodes, { recursive: true, force: true });
  }

  get #isContained(): boolean {
    return this.#options.settings.runtime !== 'simulated';
  }

  #made(): readonly string[] {
    const folder = this.#options.directory.localNodes;
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  #directoryOf(name: string): DataDirectory {
    return layOut(join(this.#options.directory.localNodes, name));
  }

  #numberOf(name: string): number {
    const { nodeName } = this.#options.settings;
    const number = name.startsWith(`${nodeName}-`) ? Number(name.slice(nodeName.length + 1)) : Number.NaN;
    if (Number.isInteger(number) && number >= 2) return number;
    throw new CommandError(
      name === nodeName
        ? `node ${name} is the machine that the control plane runs on: it starts and ends with it.`
        : `there is no node ${name} on this machine.`,
      this.names.length > 0 ? `Those that there are: ${this.names.join(', ')}.` : 'Start the cluster with --nodes 3.',
    );
  }

  #containedNumber(name: string): number {
    const number = this.#numberOf(name);
    if (this.#isContained) return number;
    throw new CommandError(
      'a simulated node has no network of its own to be cut from.',
      'Stop or crash it, or simulate a partition (coracle sim run).',
    );
  }

  async #run([program = '', ...words]: readonly string[]): Promise<void> {
    const { environment } = this.#options.machine;
    try {
      await execute(program, words, { env: { ...environment }, timeout: joinWithinMs });
    } catch (error) {
      const [problem = '', ...advice] = String((error as { readonly stderr?: string }).stderr)
        .trim()
        .split('\n');
      throw new CommandError(problem.replace(/^coracle: /, ''), advice.join('\n'));
    }
  }
}

async function introduced({ server, token, caHash }: Introduction): Promise<readonly string[]> {
  return [server, '--token', await token(), '--discovery-token-ca-cert-hash', caHash];
}

function hostOf(server: string): string {
  return server.slice(0, server.lastIndexOf(':'));
}

function serverHosts(root: string): readonly string[] {
  return [new URL(readNodeConfig(layOut(root)).server).hostname];
}

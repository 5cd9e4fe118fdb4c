/**
 * Machines for further nodes on this one: each is a network namespace with an address of its own on a bridge that all of them, and this
 * machine, are plugged into. What else a node needs (mounts, cgroups, a container runtime) it keeps apart by its data directory.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { cidrContains, formatIp, parseCidr, parseIp } from '../../apimachinery/addresses.ts';
import { CommandError } from '../command-error.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { findProgram, type Machine } from '../machine/requirements.ts';
import { nodeKernel } from '../node/node-network.ts';
import {
  acceptForwarded,
  enableForwarding,
  masquerade,
  removeMasquerade,
  withdrawForwarded,
} from '../node/pod-network.ts';

/** Of the machines' addresses; the first is this machine's own on the bridge. */
const range = '10.245.0.0/24';
const mostMachines = 200;

export interface LocalMachine {
  /** 2 and up: the machine that runs the control plane is the first. */
  readonly number: number;
  readonly address: string;
  /** Path of its network namespace. */
  readonly network: string;
}

export interface LocalNetworkOptions {
  readonly directory: DataDirectory;
  readonly machine: Machine;
  /** Ranges of Pods: the machines reach them under their own addresses. */
  readonly clusterCidrs: readonly string[];
}

const execute = promisify(execFile);

export class LocalMachines {
  readonly #options: LocalNetworkOptions;
  readonly #id: string;
  #bridgeMade: Promise<void> | undefined;

  constructor(options: LocalNetworkOptions) {
    this.#options = options;
    this.#id = basename(options.directory.state).replace('coracle-', '');
  }

  machine(number: number): LocalMachine {
    if (number > mostMachines)
      throw new CommandError(`more than ${mostMachines} nodes on one machine are too many.`, 'Give fewer --nodes.');
    return { number, address: addressOf(number), network: `/run/netns/${this.#namespace(number)}` };
  }

  /** Makes what is missing of it; `reaches` are addresses of this machine that it must find on the link. */
  async ensure(number: number, reaches: readonly string[]): Promise<LocalMachine> {
    const machine = this.machine(number);
    this.#bridgeMade ??= this.#ensureBridge();
    await this.#bridgeMade;
    const { network, address } = machine;
    if (existsSync(network)) return machine;
    const namespace = this.#namespace(number);
    await this.#ip('netns', 'add', namespace);
    const outside = this.#port(number);
    await this.#ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
    await this.#ip('link', 'set', outside, 'master', this.#bridge, 'up');
    // Where the kernel filters bridges, what a machine sends to a node port and is meant for a Pod of its own goes out where it came in.
    await this.#ip('link', 'set', outside, 'type', 'bridge_slave', 'hairpin', 'on');
    const inside = (...words: string[]) => this.#ip('-n', namespace, ...words);
    await inside('link', 'set', 'lo', 'up');
    await inside('link', 'set', 'eth0', 'up');
    await inside('addr', 'add', `${address}/${range.split('/')[1]}`, 'dev', 'eth0');
    for (const other of reaches) await inside('route', 'replace', `${other}/32`, 'dev', 'eth0');
    await inside('route', 'add', 'default', 'via', addressOf(1));
    return machine;
  }

  /** Pulls the machine's plug, or puts it in. */
  async setConnected(number: number, isConnected: boolean): Promise<void> {
    await this.#ip('link', 'set', this.#port(number), isConnected ? 'up' : 'down');
  }

  async isConnected(number: number): Promise<boolean> {
    return / state UP | LOWER_UP/.test(await this.#ip('-o', 'link', 'show', this.#port(number)).catch(() => ''));
  }

  /** Its links and kernel tables go with it. */
  async remove(number: number): Promise<void> {
    if (existsSync(this.machine(number).network)) await this.#ip('netns', 'del', this.#namespace(number));
  }

  /** The bridge, and what lets the machines out. */
  async removeNetwork(): Promise<void> {
    const { machine, directory } = this.#options;
    this.#bridgeMade = undefined;
    await this.#ip('link', 'del', this.#bridge).catch(() => {});
    withdrawForwarded(findProgram(machine, 'iptables'), [range]);
    await removeMasquerade(nodeKernel(directory, machine, 'machines'), machinesTable);
  }

  /** The command line that runs these words on the machine. */
  entering(number: number, words: readonly string[]): readonly string[] {
    return ['nsenter', `--net=${this.machine(number).network}`, ...words];
  }

  get #bridge(): string {
    return `cor${this.#id}`;
  }

  #namespace(number: number): string {
    return `coracle-${this.#id}-${number}`;
  }

  #port(number: number): string {
    return `cor${this.#id}-${number}`;
  }

  async #ensureBridge(): Promise<void> {
    const isThere = await this.#ip('link', 'show', this.#bridge).then(Boolean, () => false);
    if (isThere) return;
    checkRangeFree();
    const { machine, directory, clusterCidrs } = this.#options;
    await this.#ip('link', 'add', this.#bridge, 'type', 'bridge');
    await this.#ip('addr', 'add', `${addressOf(1)}/${range.split('/')[1]}`, 'dev', this.#bridge);
    await this.#ip('link', 'set', this.#bridge, 'up');
    enableForwarding([range]);
    acceptForwarded(findProgram(machine, 'iptables'), [range]);
    const kernel = nodeKernel(directory, machine, 'machines');
    await masquerade(kernel, [range], { inside: [range, ...clusterCidrs], tableName: machinesTable });
  }

  async #ip(...words: string[]): Promise<string> {
    const program = findProgram(this.#options.machine, 'ip');
    if (!program)
      throw new CommandError('ip is not installed on this machine.', 'Run coracle up without --no-install.');
    return (await execute(program, words)).stdout;
  }
}

const machinesTable = 'coracle-machines';

function addressOf(number: number): string {
  const { family, base } = parseCidr(range)!;
  return formatIp({ family, value: base + BigInt(number) });
}

/** Somebody else's network of the same addresses would be cut off. */
function checkRangeFree(): void {
  const taken = Object.entries(networkInterfaces())
    .flatMap(([name, list = []]) => list.map(({ address }) => ({ name, address: parseIp(address) })))
    .find(({ address }) => address && cidrContains(parseCidr(range)!, address));
  if (taken)
    throw new CommandError(
      `the addresses ${range}, which further nodes on this machine have, are in use on ${taken.name}.`,
      'Start the cluster without --nodes, or in a network namespace of its own.',
    );
}

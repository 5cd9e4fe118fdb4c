/**
 * `coracle join`: makes this machine a node of a cluster that runs elsewhere. It finds out that the cluster is the one its token is for, asks
 * for a certificate, and from then on needs neither address nor token: the same command without them goes on where it was. This process
 * only keeps the node's running.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configMaps } from '../../api/gen/core-v1.ts';
import { dns1123Subdomain } from '../../apimachinery/names.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import { createHttpTransport } from '../../client/http-transport.ts';
import { kubeconfigOf } from '../../client/kubeconfig.ts';
import { createClient } from '../../client/typed-client.ts';
import { bootstrapClient, isKubeconfigValid } from '../../kubelet/certificates/bootstrap.ts';
import { systemKeys } from '../../pki/keys.ts';
import { type DirectoryLock, lockDirectory } from '../../storage/lmdb/directory-lock.ts';
import { CommandError } from '../command-error.ts';
import { connectionOf, kubeconfigOptions } from '../components/flags/connection.ts';
import { nodeSettings, type SharedNodeSettings } from '../control-plane/joinable.ts';
import { type DataDirectory, defaultDataDirectory, openDataDirectory } from '../data/data-directory.ts';
import { parseEndpoint, type RuntimeKind } from '../data/up-settings.ts';
import { nodeAddress } from '../machine/machine.ts';
import { checkContainersAllowed } from '../node/container-rights.ts';
import { checkNetworkFree } from '../node/network-claim.ts';
import { joinedKeys, type NodeConfig, nodeConfigFile, readNodeConfig } from '../node/node-config.ts';
import { nodeReady } from '../node/node-readiness.ts';
import { NodeSupervisor } from '../node/node-supervisor.ts';
import { tearDownNode } from '../node/node-teardown.ts';
import { ComponentSupervisor } from '../processes/component-supervisor.ts';
import { guard, processLog } from '../processes/process-log.ts';
import { forgetProcess, recordProcess } from '../processes/processes.ts';
import { type Ending, installMissing, runStep, type StartedCluster, type Surroundings } from '../processes/step.ts';
import { versions } from '../versions.ts';
import { discover } from './discovery.ts';
import { type JoinToken, parseToken } from './tokens.ts';

/** As given on the command line. */
export interface JoinOptions {
  /** Of the API server, `HOST:PORT`; absent: this node has joined before. */
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  readonly discoveryTokenCaCertHash?: readonly string[] | undefined;
  readonly dataDir?: string | undefined;
  readonly nodeName?: string | undefined;
  readonly nodeIp?: string | undefined;
  readonly runtime?: RuntimeKind | undefined;
  readonly containerRuntimeEndpoint?: string | undefined;
  readonly install?: boolean | undefined;
}

/** Of the process that keeps the node's running, in the data directory's `run`. */
export const keeperProcess = 'join';

const readyWithinMs = 120_000;
const askAgainMs = 2_000;

/** Resolves once the node is Ready; otherwise as `startCluster`. */
export async function joinCluster(
  options: JoinOptions,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<StartedCluster> {
  const joining = new JoinedNode(options, surroundings);
  try {
    await joining.start(signal);
    return joining;
  } catch (error) {
    await joining.stop(signal.aborted ? (signal.reason as Ending) : 'processes');
    throw error;
  }
}

class JoinedNode implements StartedCluster {
  readonly #options: JoinOptions;
  readonly #surroundings: Surroundings;
  readonly #started = new AsyncDisposableStack();
  #lock: DirectoryLock | undefined;
  #directory: DataDirectory | undefined;

  constructor(options: JoinOptions, surroundings: Surroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { machine, clock, report } = this.#surroundings;
    const directory = openDataDirectory(this.#options.dataDir ?? defaultDataDirectory(machine));
    checkNoCluster(directory);
    this.#lock = await lockDirectory(directory.run, process.pid).catch(() => {
      throw new CommandError(
        `a node already runs on ${directory.root}.`,
        'See it with `coracle status`, stop it with `coracle down`, or choose another folder with --data-dir.',
      );
    });
    this.#directory = directory;
    recordProcess(directory.run, keeperProcess, process.pid);
    this.#started.defer(() => forgetProcess(directory.run, keeperProcess));
    const config = await this.#config(directory, signal);
    if (config.runtime !== 'simulated') {
      if (!machine.isRoot)
        throw new CommandError(
          'a node that runs containers needs root.',
          'Run it as root, or use --runtime simulated.',
        );
      const ownRuntime = config.containerRuntimeEndpoint !== undefined;
      if (!ownRuntime) checkContainersAllowed(machine);
      await checkNetworkFree(directory.root);
      await installMissing(this.#surroundings, { ownRuntime, mayInstall: this.#options.install !== false, signal });
    }
    const log = processLog({ file: join(directory.run, `${keeperProcess}.log`) });
    guard(log);
    const supervisor = new NodeSupervisor({ directory, machine, clock, log });
    const node = supervisor.start(config);
    this.#started.defer(() => supervisor.stop());
    const components = new ComponentSupervisor(clock, log);
    this.#started.defer(() => components.stop());
    components.run('node process', (ending) => supervisor.keepRunning(ending));
    const options = await kubeconfigOptions(directory.kubeconfig, { flag: '--kubeconfig', clock });
    await using connection = connectionOf(options);
    await runStep(`node ${config.nodeName} Ready`, this.#surroundings, (note) => {
      const waiting = { nodeName: config.nodeName, sinceMs: node.startedMs, withinMs: readyWithinMs };
      const ready = nodeReady(connection.client, { ...waiting, clock, signal, note });
      return Promise.race([node.failed, ready]);
    });
    const what = `This machine is the node ${config.nodeName} of ${config.server}. There:`;
    report({ kind: 'ready', what, next: [`kubectl get node ${config.nodeName}`] });
  }

  async stop(ending: Ending): Promise<void> {
    try {
      await this.#started.disposeAsync();
      if (this.#directory && ending === 'everything') await tearDownNode(this.#directory, this.#surroundings);
    } finally {
      await this.#lock?.release();
    }
  }

  /** What the node did before, as far as nothing else is asked; else what the cluster tells it. */
  async #config(directory: DataDirectory, signal: AbortSignal): Promise<NodeConfig> {
    const { clock, report } = this.#surroundings;
    const remembered = existsSync(nodeConfigFile(directory)) ? readNodeConfig(directory) : undefined;
    const complain = (problem: string) =>
      report({ kind: 'say', text: `  this node´s certificate is of no use any more: ${problem}` });
    const isMember = remembered !== undefined && isKubeconfigValid(directory.kubeconfig, clock.now(), complain);
    if (isMember) return this.#toldAgain(remembered);
    const { server, token } = this.#options;
    if (server === undefined || token === undefined)
      throw new CommandError(
        'a node that has not joined yet needs the cluster´s address and a token.',
        'Make the command on the control plane: coracle token create --print-join-command.',
      );
    const settings = nodeOptions(this.#options, this.#surroundings.machine.nodeName);
    const shared = await this.#introduce(directory, {
      server,
      token: parseToken(token),
      nodeName: settings.nodeName,
      signal,
    });
    return {
      program: versions.coracle,
      version: versions.kubernetes,
      ...settings,
      ...shared,
      joined: true,
      ...joinedKeys,
    };
  }

  #toldAgain(remembered: NodeConfig): NodeConfig {
    const { nodeName, nodeIp, runtime, containerRuntimeEndpoint } = this.#options;
    if (nodeName !== undefined && nodeName !== remembered.nodeName)
      throw new CommandError(
        `this machine has joined as ${remembered.nodeName}, and a node keeps its name.`,
        'Join under another name from another --data-dir, or after `coracle down --purge`.',
      );
    return {
      ...remembered,
      program: versions.coracle,
      version: versions.kubernetes,
      nodeIp: nodeIp ?? remembered.nodeIp ?? nodeAddress(),
      runtime: runtime ?? remembered.runtime,
      containerRuntimeEndpoint: containerRuntimeEndpoint
        ? parseEndpoint(containerRuntimeEndpoint)
        : remembered.containerRuntimeEndpoint,
    };
  }

  /** From an address and a token to a certificate of its own and what a node must know. */
  async #introduce(
    directory: DataDirectory,
    given: {
      readonly server: string;
      readonly token: JoinToken;
      readonly nodeName: string;
      readonly signal: AbortSignal;
    },
  ): Promise<SharedNodeSettings & { readonly server: string }> {
    const { clock } = this.#surroundings;
    const { token, nodeName, signal } = given;
    const caHashes = this.#options.discoveryTokenCaCertHash ?? [];
    const { server, caPem } = await runStep(`cluster at ${given.server}`, this.#surroundings, () =>
      discover({ server: given.server, token, caHashes, clock }),
    );
    writeFileSync(join(directory.pki, 'ca.crt'), caPem);
    const user = { token: `${token.id}.${token.secret}` };
    const tls = { ca: caPem };
    const transport = createHttpTransport({ server, clock, tls, token: user.token, userAgent: 'coracle-join' });
    const client = createClient(transport);
    try {
      await runStep(`certificate of ${nodeName}`, this.#surroundings, (note) =>
        this.#untilAnswered(signal, note, () =>
          bootstrapClient({
            nodeName,
            client,
            bootstrapKubeconfig: kubeconfigOf({ name: 'cluster', server, caPem, user }),
            kubeconfigPath: directory.kubeconfig,
            certificateDirectory: directory.pki,
            keys: systemKeys,
            nowMs: () => clock.now(),
            signal,
          }),
        ),
      );
      const { data } = await client.get(configMaps, nodeSettings, { signal });
      return { server, ...(JSON.parse(data?.['settings.json'] ?? '{}') as SharedNodeSettings) };
    } finally {
      await transport.close();
    }
  }

  /** A request that was denied, or an API server that is away: until somebody ends it. */
  async #untilAnswered(signal: AbortSignal, note: (text: string) => void, ask: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        note(messageOf(error));
        await sleep(this.#surroundings.clock, askAgainMs, signal);
      }
    }
  }
}

function nodeOptions(options: JoinOptions, machineName: string) {
  const { nodeName = machineName, runtime = 'containerd', containerRuntimeEndpoint: endpoint } = options;
  const nodeIp = options.nodeIp ?? nodeAddress();
  const [badName] = dns1123Subdomain(nodeName);
  if (badName !== undefined)
    throw new CommandError(
      `${JSON.stringify(nodeName)} cannot be the name of a Node: ${badName}.`,
      'Give another with --node-name.',
    );
  if (nodeIp === undefined)
    throw new CommandError(
      'this machine has no address but loopback, and the cluster could not reach it.',
      'Connect it to a network, or give its address with --node-ip.',
    );
  return { nodeName, nodeIp, runtime, containerRuntimeEndpoint: endpoint ? parseEndpoint(endpoint) : undefined };
}

function checkNoCluster(directory: DataDirectory): void {
  if (!existsSync(directory.store)) return;
  throw new CommandError(
    `${directory.root} holds a cluster of its own.`,
    'Choose another folder for the node with --data-dir.',
  );
}

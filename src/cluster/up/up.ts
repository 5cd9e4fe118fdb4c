/**
 * `coracle up`: this process becomes the control plane, and starts or takes over the node's process beside it. What can be refused is
 * refused before anything is started; what was started is ended again when a later step fails.
 */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { nodes as nodeType } from '../../api/gen/core-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { Closers } from '../../base/closers.ts';
import { hostPort } from '../../base/host-port.ts';
import type { Log } from '../../base/log.ts';
import { systemKeys } from '../../pki/keys.ts';
import type { ListenAddress } from '../../serving/listen-address.ts';
import { DataDirectoryLockedError, type DirectoryLock, lockDirectory } from '../../storage/lmdb/directory-lock.ts';
import { bufferCodec, openLmdbStore } from '../../storage/lmdb/lmdb-store.ts';
import { clusterDomain, nameServerAddress } from '../addons.ts';
import { followRenewals } from '../certificates/certificate-renewal.ts';
import { type ClusterPki, clusterPki, contextName, keyFolder } from '../certificates/cluster-pki.ts';
import { CommandError } from '../command-error.ts';
import { adminKubeconfig, type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type DataDirectory, defaultDataDirectory, openDataDirectory } from '../data/data-directory.ts';
import { type ClusterSettings, readSettings, settle, type UpOptions, writeSettings } from '../data/up-settings.ts';
import { checkKubeconfig, writeKubeconfig } from '../kubeconfigs/kubeconfig-file.ts';
import { mergeIntoOwn } from '../kubeconfigs/merged-kubeconfig.ts';
import type { LocalNodes } from '../local-nodes/local-nodes.ts';
import { nodeAddress, type ThisMachine } from '../machine/machine.ts';
import { findProgram } from '../machine/requirements.ts';
import { checkContainersAllowed } from '../node/container-rights.ts';
import { checkNetworkFree } from '../node/network-claim.ts';
import { nodeKeys } from '../node/node-config.ts';
import { nodeReady } from '../node/node-readiness.ts';
import { NodeSupervisor } from '../node/node-supervisor.ts';
import { tearDownNode } from '../node/node-teardown.ts';
import { ComponentSupervisor } from '../processes/component-supervisor.ts';
import { guard, processLog } from '../processes/process-log.ts';
import { forgetProcess, recordProcess, runningProcess } from '../processes/processes.ts';
import { type Ending, installMissing, runStep, type StartedCluster, type Surroundings } from '../processes/step.ts';
import { versions } from '../versions.ts';
import type { ConfiguredComponents } from './component-flags.ts';

const readyWithinMs = 120_000;

const kubectlMissing =
  'kubectl is not on this machine: apt-get install kubernetes-client (Debian 13 or newer), or https://kubernetes.io/docs/tasks/tools/';

/** How far back one can look where `--history-retention` says nothing. */
const historyRetentionMs = 3_600_000;

/**
 * Resolves once the node is Ready; rejects with a `CommandError` for what a person can do something about. An aborted `signal` ends
 * the wait and what has been started by then; its reason is the `Ending`.
 */
export async function startCluster(
  options: UpOptions,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<StartedCluster> {
  const cluster = new Cluster(options, surroundings);
  try {
    await cluster.start(signal);
    return cluster;
  } catch (error) {
    await cluster.stop(signal.aborted ? (signal.reason as Ending) : 'undo');
    throw error;
  }
}

/** What all steps of one start share. */
interface Place {
  readonly directory: DataDirectory;
  readonly settings: ClusterSettings;
  /** Of the start before. */
  readonly remembered: Partial<ClusterSettings>;
  readonly nodeIp: string | undefined;
  readonly log: Log;
  /** Absent: no flags were given. */
  readonly configured: ConfiguredComponents | undefined;
}

class Cluster implements StartedCluster {
  readonly #options: UpOptions;
  readonly #surroundings: Surroundings;
  /** Ends in reverse order what has been started. */
  readonly #started = new Closers();
  #lock: DirectoryLock | undefined;
  #directory: DataDirectory | undefined;
  #adoptedRuntime = false;
  #localNodes: LocalNodes | undefined;

  constructor(options: UpOptions, surroundings: Surroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { machine, clock, report, random } = this.#surroundings;
    const place = await this.#prepare(signal);
    signal.throwIfAborted();
    const { directory, settings, remembered } = place;
    this.#directory = directory;
    if (remembered.runtime !== undefined && !sameRuntime(remembered, settings))
      await this.#step('the node of before stopped', () => tearDownNode(directory, this.#surroundings));
    this.#adoptedRuntime = runningProcess(directory.run, 'containerd') !== undefined;
    writeSettings(directory, settings);
    recordProcess(directory.run, 'control-plane', process.pid);
    this.#started.defer(() => forgetProcess(directory.run, 'control-plane'));
    const pki = clusterPki(keyFolder(directory.pki), { clock, random, keys: systemKeys });
    // The node's process takes its time to start and waits for the server by itself, so both begin at once.
    const node = this.#startNodeProcess(place, pki);
    const server = await this.#step(`control plane at ${serverOf(settings)}`, () => this.#startServer(place));
    const kubeconfig = adminKubeconfig(pki, serverOf(settings));
    const kubeconfigFile = writeKubeconfig(this.#options.kubeconfig ?? directory.kubeconfig, kubeconfig);
    await this.#step(`node ${settings.nodeName} Ready`, (note) => {
      const waiting = { nodeName: settings.nodeName, sinceMs: node.startedMs, withinMs: readyWithinMs };
      return Promise.race([node.failed, nodeReady(server.admin, { ...waiting, clock, signal, note })]);
    });
    await this.#startLocalNodes(place, server, signal);
    const merged = this.#options.mergeKubeconfig ? mergeIntoOwn(directory, machine, kubeconfig) : undefined;
    if (merged) report({ kind: 'say', text: `  ✓ context ${contextName} merged into ${merged}` });
    if (!findProgram(machine, 'kubectl')) report({ kind: 'say', text: `  ! ${kubectlMissing}` });
    const next = [...(merged ? [] : [`export KUBECONFIG=${kubeconfigFile}`]), 'kubectl get nodes'];
    report({ kind: 'ready', what: 'The cluster is ready. Next:', next });
  }

  async stop(ending: Ending | 'undo'): Promise<void> {
    try {
      const tearDown = ending === 'everything' || (ending === 'undo' && !this.#adoptedRuntime);
      if (tearDown) await this.#localNodes?.takeDown({ purge: false });
      else this.#localNodes?.release();
      await this.#started.close();
      if (this.#directory && tearDown) await tearDownNode(this.#directory, this.#surroundings);
    } finally {
      // Held until the very end: nobody starts anew among what is just being taken down.
      await this.#lock?.release();
    }
  }

  /** Everything that can be refused. */
  async #prepare(signal: AbortSignal): Promise<Place> {
    const options = this.#options;
    const { machine } = this.#surroundings;
    const directory = openDataDirectory(options.dataDir ?? defaultDataDirectory(machine));
    this.#lock = await lockCluster(directory);
    const remembered = readSettings(directory);
    const settings = settle(options, remembered, machine.nodeName);
    const nodeIp = nodeAddress();
    checkRights(settings, machine);
    checkAddress(settings, nodeIp);
    checkKubeconfig(options.kubeconfig ?? directory.kubeconfig);
    await checkPort(settings.listen);
    if (settings.runtime !== 'simulated') {
      if (settings.containerRuntimeEndpoint === undefined) checkContainersAllowed(machine);
      await checkNetworkFree(directory.root);
    }
    await this.#install(settings, signal);
    const log = processLog({ file: join(directory.run, 'control-plane.log') });
    guard(log);
    const configured = await this.#configure(settings, { log, signal });
    return { directory, settings, remembered, nodeIp, log, configured };
  }

  async #configure(
    { componentFlags }: ClusterSettings,
    { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
  ): Promise<ConfiguredComponents | undefined> {
    if (componentFlags === undefined) return undefined;
    const { clock, random, machine } = this.#surroundings;
    const { configureComponents } = await import('./component-flags.ts');
    const configured = await configureComponents(componentFlags, { clock, random, log, machine, signal, started() {} });
    if (configured.apiServer) this.#started.use(configured.apiServer);
    return configured;
  }

  async #install(settings: ClusterSettings, signal: AbortSignal): Promise<void> {
    if (settings.runtime === 'simulated') return;
    const ownRuntime = settings.containerRuntimeEndpoint !== undefined;
    await installMissing(this.#surroundings, { ownRuntime, mayInstall: this.#options.install !== false, signal });
  }

  #startNodeProcess({ directory, settings, nodeIp, log }: Place, pki: ClusterPki) {
    const { clock, machine } = this.#surroundings;
    const supervisor = new NodeSupervisor({ directory, machine, clock, log });
    const addresses = [...(nodeIp ? [nodeIp] : []), '127.0.0.1'];
    const keys = () => nodeKeys(pki, settings.nodeName, addresses);
    const node = supervisor.start({
      program: versions.coracle,
      version: versions.kubernetes,
      server: serverOf(settings),
      nodeName: settings.nodeName,
      nodeIp,
      runtime: settings.runtime,
      containerRuntimeEndpoint: settings.containerRuntimeEndpoint,
      clusterDns: nameServerAddress(settings.serviceCidrs[0] ?? ''),
      clusterDomain,
      serviceCidrs: settings.serviceCidrs,
      clusterCidrs: settings.clusterCidrs,
      ...keys(),
    });
    this.#started.defer(() => supervisor.stop());
    const components = new ComponentSupervisor(clock, log);
    this.#started.defer(() => components.stop());
    components.run('node process', (signal) => supervisor.keepRunning(signal));
    // Looking makes anew what is soon over; the node's process finds it in the files.
    components.run('node certificates', (signal) => followRenewals(keys, () => {}, { clock, log, signal }));
    return node;
  }

  /** The nodes beyond the first. Those that are not asked for any more go. */
  async #startLocalNodes(
    { directory, settings, nodeIp }: Place,
    { admin, pki }: ControlPlane,
    signal: AbortSignal,
  ): Promise<void> {
    if (settings.nodes === undefined) return;
    const { machine, clock, random } = this.#surroundings;
    const { LocalNodes } = await import('../local-nodes/local-nodes.ts');
    const { createToken } = await import('../joining/tokens.ts');
    const { keyHash } = await import('../joining/discovery.ts');
    const nodes = new LocalNodes({ directory, settings, machine, clock });
    this.#localNodes = nodes;
    const introduction = {
      server: `${nodeIp ?? '127.0.0.1'}:${settings.listen.port}`,
      caHash: keyHash(pki.authority.certificate),
      token: () => createToken(admin, { ttlMs: readyWithinMs, nowMs: clock.now(), random }),
    };
    for (const name of await nodes.removeSurplus()) await admin.delete(nodeType, { name }).catch(ignoreNotFound);
    await Promise.all(
      nodes.names.map((name) => this.#step(`node ${name} Ready`, () => nodes.start(name, introduction))),
    );
    signal.throwIfAborted();
  }

  async #startServer({ directory, settings, nodeIp, log, configured }: Place): Promise<ControlPlane> {
    const { clock, random, machine } = this.#surroundings;
    const store = await openLmdbStore({ path: directory.store, codec: bufferCodec, clock, log }).catch((error) => {
      throw new CommandError(String(error.message), 'See the log in the data directory, or choose another --data-dir.');
    });
    this.#started.defer(() => store.close());
    const apiStore =
      (await configured?.apiServer?.storeOver({ kind: 'bytes', store })) ?? ({ kind: 'bytes', store } as const);
    const apiServer = configured?.apiServer?.options;
    const { retentionMs = historyRetentionMs } = apiServer?.history ?? {};
    const { listen } = settings;
    const everywhere = listen.host === '0.0.0.0' || listen.host === '::';
    // Endpoints refuse loopback, and Pods could not reach it: the server listens on the machine's own address too.
    const own = nodeIp && !everywhere && listen.host !== nodeIp ? [{ host: nodeIp, port: listen.port }] : [];
    const controlPlane = await startControlPlane({
      store: apiStore,
      clock,
      random,
      keys: systemKeys,
      keyFiles: keyFolder(directory.pki),
      log,
      listen: [listen, ...own],
      advertiseAddress: nodeIp,
      hostname: machine.nodeName,
      serviceCidrs: settings.serviceCidrs,
      clusterCidrs: settings.clusterCidrs,
      addons: settings.runtime !== 'simulated',
      localStorage: true,
      joinable: true,
      apiServer: { ...apiServer, history: { ...apiServer?.history, retentionMs } },
      controllerManager: configured?.controllerManager,
      schedulerOptions: configured?.scheduler,
    }).catch((error) => {
      throw error.code === 'EADDRINUSE' ? portInUse(listen) : error;
    });
    this.#started.defer(() => controlPlane.close());
    configured?.apiServer?.attach(controlPlane.apiServer.server);
    return controlPlane;
  }

  #step<T>(step: string, work: (note: (text: string) => void) => Promise<T>): Promise<T> {
    return runStep(step, this.#surroundings, work);
  }
}

function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/** Pods of one runtime are unknown to another. */
function sameRuntime(before: Partial<ClusterSettings>, now: ClusterSettings): boolean {
  return before.runtime === now.runtime && before.containerRuntimeEndpoint === now.containerRuntimeEndpoint;
}

/** How clients on this machine reach the server. */
function serverOf({ listen }: ClusterSettings): string {
  const host = listen.host === '0.0.0.0' ? '127.0.0.1' : listen.host === '::' ? '::1' : listen.host;
  return `https://${hostPort({ host, port: listen.port })}`;
}

async function lockCluster(directory: DataDirectory): Promise<DirectoryLock> {
  try {
    return await lockDirectory(directory.run, process.pid);
  } catch (error) {
    if (!(error instanceof DataDirectoryLockedError)) throw error;
    throw new CommandError(
      `a cluster already runs on ${directory.root} (process ${error.pid}).`,
      'See it with `coracle status`, stop it with `coracle down`, or choose another folder with --data-dir.',
    );
  }
}

function checkRights(settings: ClusterSettings, machine: ThisMachine): void {
  if (settings.runtime === 'simulated' || machine.isRoot) return;
  throw new CommandError('a node that runs containers needs root.', 'Run it as root, or use --runtime simulated.');
}

function checkAddress(settings: ClusterSettings, nodeIp: string | undefined): void {
  if (settings.runtime === 'simulated' || nodeIp !== undefined) return;
  throw new CommandError(
    'this machine has no address but loopback, and Pods could not reach the API server.',
    'Connect it to a network, give it an address (ip addr add 10.255.255.1/32 dev lo), or use --runtime simulated.',
  );
}

/** Asked before anything is started; the server itself finds out again. */
function checkPort(address: ListenAddress): Promise<void> {
  return new Promise((done, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') return reject(portInUse(address));
      const reason = error.code === 'EADDRNOTAVAIL' ? 'this machine has no such address' : error.message;
      reject(
        new CommandError(`cannot listen on ${address.host} port ${address.port}: ${reason}.`, 'Give another --listen.'),
      );
    });
    server.listen({ ...address, exclusive: true }, () => server.close(() => done()));
  });
}

function portInUse({ host, port }: ListenAddress): CommandError {
  return new CommandError(
    `port ${port} of ${host} is in use by another program.`,
    `Stop it (find it with: ss -ltnp 'sport = :${port}'), or choose another with --listen ${host}:${port === 6443 ? 7443 : port + 1}.`,
  );
}

/**
 * `coracle up`: this process becomes the control plane, and starts or takes over the node's process beside it. What can be refused is
 * refused before anything is started; what was started is ended again when a later step fails.
 */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { serverVersion } from '../apiserver/version.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { systemKeys } from '../pki/keys.ts';
import { DataDirectoryLockedError, lockDirectory } from '../storage/lmdb/directory-lock.ts';
import { bufferCodec, openLmdbStore } from '../storage/lmdb/lmdb-store.ts';
import { clusterDomain, nameServerAddress } from './addons.ts';
import { clusterPki, keyFolder } from './cluster-pki.ts';
import { CommandError } from './command-error.ts';
import { Components } from './components.ts';
import { adminKubeconfig, startControlPlane } from './control-plane.ts';
import { type DataDirectory, defaultDataDirectory, openDataDirectory } from './data-directory.ts';
import { checkKubeconfig, mergeIntoOwn, writeKubeconfig } from './kubeconfig-file.ts';
import { nodeAddress, type ThisMachine } from './machine.ts';
import { nodeKeys } from './node-config.ts';
import { nodeReady } from './node-readiness.ts';
import { NodeSupervisor } from './node-supervisor.ts';
import { tearDownNode } from './node-teardown.ts';
import { processLog } from './process-log.ts';
import { forgetProcess, recordProcess, runningProcess } from './processes.ts';
import type { Report } from './progress.ts';
import { installRequirements, missingRequirements } from './requirements.ts';
import { type ClusterSettings, readSettings, settle, type UpOptions, writeSettings } from './up-settings.ts';

export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly machine: ThisMachine;
  readonly report: Report;
}

/** How a running cluster ends: with its Pods, or leaving them to the next start. */
export type Ending = 'everything' | 'processes';

export interface StartedCluster {
  stop(ending: Ending): Promise<void>;
}

const readyWithinMs = 120_000;

/**
 * Resolves once the node is Ready; rejects with a `CommandError` for what a person can do something about. An aborted `signal` ends
 * the wait, and what has been started by then; its reason is the `Ending`.
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
    await cluster.stop(signal.aborted ? (signal.reason as Ending) : 'what was started');
    throw error;
  }
}

class Cluster implements StartedCluster {
  readonly #options: UpOptions;
  readonly #surroundings: Surroundings;
  /** Ends in reverse order what has been started. */
  readonly #started = new AsyncDisposableStack();
  #directory: DataDirectory | undefined;
  #hadRuntime = false;

  constructor(options: UpOptions, surroundings: Surroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
  }

  async start(signal: AbortSignal): Promise<void> {
    const options = this.#options;
    const { machine, clock, report } = this.#surroundings;
    const directory = openDataDirectory(options.dataDir ?? defaultDataDirectory(machine));
    const lock = await lockCluster(directory);
    this.#started.defer(() => lock.release());
    const settings = settle(options, readSettings(directory), machine.nodeName);
    const kubeconfigFile = options.kubeconfig ?? directory.kubeconfig;
    checkRights(settings, machine);
    checkKubeconfig(kubeconfigFile);
    await checkPort(settings);
    this.#prepareMachine(settings);
    this.#directory = directory;
    this.#hadRuntime = runningProcess(directory.run, 'containerd') !== undefined;
    writeSettings(directory, settings);
    recordProcess(directory.run, 'control-plane', process.pid);
    this.#started.defer(() => forgetProcess(directory.run, 'control-plane'));

    const log = processLog({ file: join(directory.run, 'control-plane.log') });
    const nodeIp = nodeAddress();
    const supervisor = this.#startNodeProcess(settings, { directory, nodeIp, log });
    await this.#step(`control plane at ${serverOf(settings)}`, () =>
      this.#startServer(settings, { directory, nodeIp, log }),
    );
    const pki = clusterPki(keyFolder(directory.pki), { clock, random: this.#surroundings.random, keys: systemKeys });
    const kubeconfig = adminKubeconfig(pki, serverOf(settings));
    writeKubeconfig(kubeconfigFile, kubeconfig);
  }

  async stop(ending: Ending | 'what was started'): Promise<void> {
    await this.#started.disposeAsync();
  }
}

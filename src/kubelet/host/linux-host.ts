/** The machine that this process runs on, as a `NodeHost`. */
import { readFileSync, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { keptFor } from '../../base/kept-for.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import { CsiFolders } from '../csi/csi-folders.ts';
import { pluginSockets } from '../plugins/plugin-sockets.ts';
import { linuxTopology } from '../resource-managers/linux-topology.ts';
import type { NodeHost } from './host.ts';
import { LinuxCgroups } from './linux-cgroups.ts';
import { LinuxFiles } from './linux-files.ts';
import { LinuxLogs } from './linux-logs.ts';
import { machineAddresses, machineFacts, machineUsage } from './linux-machine.ts';
import { LinuxProber } from './linux-prober.ts';
import { LinuxVolumes } from './linux-volumes.ts';
import { podDiskUse } from './pod-disk-use.ts';
import { readPressure } from './pressure-stalls.ts';
import { socketFolder } from './socket-folder.ts';
import { stateFiles } from './state-files.ts';
import { subordinateIds } from './subordinate-ids.ts';
import { LogindShutdown } from './systemd/logind.ts';

export interface LinuxHostOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly configuration: KubeletConfiguration;
  /** A folder on the file system that holds images; absent: the one of the root directory. */
  readonly imageDirectory?: string | undefined;
}

/** Looking for them takes long where there are as many interfaces as Pods, and every Pod asks. */
const addressesMs = 5000;

export function linuxHost({ clock, random, log, configuration, imageDirectory }: LinuxHostOptions): NodeHost {
  const { rootDirectory, podLogsDirectory, containerLogsDirectory } = configuration;
  const files = new LinuxFiles({ rootDirectory, podLogsDirectory, containerLogsDirectory, random });
  return {
    facts: () => machineFacts(rootDirectory),
    usage: () => machineUsage(rootDirectory, imageDirectory),
    pressure: () => readPressure((resource) => `/proc/pressure/${resource}`),
    addresses: keptFor(clock, addressesMs, () => machineAddresses(routes())),
    watchDirectory: (path, onChange, signal) => watchDirectory(path, onChange, { signal, log }),
    readDirectory,
    volumes: new LinuxVolumes(rootDirectory, clock),
    cgroups: new LinuxCgroups({
      driver: configuration.cgroupDriver,
      root: configuration.cgroupRoot,
      perQos: configuration.cgroupsPerQos,
      log,
    }),
    files,
    network: new LinuxProber(clock),
    logs: new LinuxLogs(clock),
    state: stateFiles(rootDirectory),
    subordinateIds: () => subordinateIds(),
    topology: async () => linuxTopology((await machineFacts(rootDirectory)).memoryBytes),
    csiFolders: new CsiFolders(rootDirectory),
    pluginSockets: pluginSockets(join(rootDirectory, 'plugins_registry'), log),
    devicePlugins: socketFolder(join(rootDirectory, 'device-plugins')),
    podResources: socketFolder(join(rootDirectory, 'pod-resources')),
    shutdown: new LogindShutdown(clock),
    podDiskUse: (pod) =>
      podDiskUse({
        logs: files.logDirectory(pod),
        volumes: join(rootDirectory, 'pods', pod.metadata.uid ?? '', 'volumes'),
      }),
  };
}

function routes(): string {
  try {
    return readFileSync('/proc/net/route', 'utf8');
  } catch {
    return '';
  }
}

function watchDirectory(path: string, onChange: () => void, { signal, log }: { signal: AbortSignal; log: Log }): void {
  try {
    const watcher = watch(path, { signal, persistent: false }, onChange);
    watcher.on('error', (error) => log.warn('cannot watch a folder', { path, error: error.message }));
  } catch (error) {
    log.debug('cannot watch a folder', { path, error: String(error) });
  }
}

/** Hidden files are the editors', and folders nobody's. */
async function readDirectory(path: string): Promise<readonly { readonly name: string; readonly content: string }[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const files = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(
    files.map(async ({ name }) => ({ name, content: await readFile(join(path, name), 'utf8').catch(() => '') })),
  );
}

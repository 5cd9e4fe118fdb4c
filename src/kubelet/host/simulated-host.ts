/**
 * A machine that is not there: facts as given, files and volumes that exist by name only, probes that succeed. Volumes still have to
 * resolve, so a Pod whose ConfigMap is missing waits here as it would on a real node.
 */
import { formatMicroTime } from '../../apimachinery/time.ts';
import { hostPort } from '../../base/host-port.ts';
import type { LogEntry } from '../runtime/simulated/simulated-runtime.ts';
import type { MachineFacts, NodeHost, PodCgroups, ProbeOutcome } from './host.ts';

export interface SimulatedHostOptions {
  readonly facts?: Partial<MachineFacts> | undefined;
  readonly addresses?: readonly string[] | undefined;
  /** Answers of probes over the network; default: success. */
  readonly probe?: ((target: string) => ProbeOutcome) | undefined;
  /** Lines of a container's log by its path, as `SimulatedRuntime.logOf` gives them. */
  readonly logOf?: ((path: string) => readonly LogEntry[] | undefined) | undefined;
}

const gibibyte = 1024 ** 3;

const defaultFacts: MachineFacts = {
  cpuCount: 8,
  memoryBytes: 32 * gibibyte,
  hugepages: {},
  ephemeralStorageBytes: 100 * gibibyte,
  machineId: '00000000000000000000000000000000',
  systemUuid: '00000000-0000-0000-0000-000000000000',
  bootId: '00000000-0000-0000-0000-000000000000',
  kernelVersion: '6.12.0-simulated',
  osImage: 'Simulated Linux',
  operatingSystem: 'linux',
  architecture: 'amd64',
  swapBytes: 0,
  cgroupVersion: 'v2',
  hasSwapController: false,
  pidsMax: 32_768,
};

const noCgroups: PodCgroups = {
  parentOf: () => '',
  ensure: async () => {},
  ensureNode: async () => false,
  limitExisting: async () => {},
  remove: async () => {},
  podsMemory: async () => undefined,
  oomKills: async () => 0,
  wasOomKilled: () => false,
  pressure: async () => undefined,
};

export function simulatedHost(options: SimulatedHostOptions = {}): NodeHost {
  const facts = { ...defaultFacts, ...options.facts };
  const probe = options.probe ?? ((): ProbeOutcome => ({ result: 'success', output: '' }));
  const half = {
    capacityBytes: facts.ephemeralStorageBytes,
    availableBytes: facts.ephemeralStorageBytes / 2,
    inodes: 1e6,
    inodesFree: 5e5,
  };
  return {
    facts: async () => facts,
    usage: async () => ({
      memoryAvailableBytes: facts.memoryBytes / 2,
      nodefs: half,
      imagefs: half,
      dedicatedImageFs: false,
      pidsMax: 32_768,
      pidsUsed: 100,
    }),
    pressure: async () => undefined,
    addresses: () => options.addresses ?? ['192.0.2.1'],
    watchDirectory() {},
    readDirectory: async () => [],
    volumes: {
      mount: async (pod, { name }) => `/var/lib/kubelet/pods/${pod.metadata.uid}/volumes/${name}`,
      subPath: async (_pod, path, { volumePath }) => `${volumePath}/${path}`,
      unmountSubPaths: async () => {},
      unmountAll: async () => {},
    },
    cgroups: noCgroups,
    files: {
      logDirectory: (pod) => `/var/log/pods/${pod.metadata.namespace}_${pod.metadata.name}_${pod.metadata.uid}`,
      prepare: async () => {},
      prepareContainer: async () => {},
      hosts: async () => undefined,
      hostEtcHosts: async () => '',
      resolvConf: async () => '',
      terminationLog: async () => undefined,
      terminationMessage: async (container) => container.message || undefined,
      linkLog: async () => {},
      unlinkLog: async () => {},
      removePod: async () => {},
      removeLogs: async () => {},
      removeOrphanedLogs: async () => {},
      podUids: async () => [],
    },
    network: {
      http: async ({ url }) => probe(url),
      tcp: async (host, port) => probe(hostPort({ host, port })),
      grpc: async (host, port) => probe(hostPort({ host, port })),
    },
    state: { read: async () => undefined, write: async () => {}, names: async () => [], remove: async () => {} },
    logs: {
      async *read(path, { tail }) {
        const entries = options.logOf?.(path) ?? [];
        for (const { atMs, stream, text } of tail === undefined
          ? entries
          : entries.slice(entries.length - Math.min(tail, entries.length))) {
          yield { time: formatMicroTime(atMs), stream, isPartial: false, content: Buffer.from(text) };
        }
      },
    },
  };
}

/** A kubelet's server over a few Pods that a test makes up, with keys of its own. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../pki/authority.ts';
import { systemKeys } from '../../pki/keys.ts';
import type { MachineFacts, MachineUsage } from '../host/host.ts';
import { LinuxLogs } from '../host/linux-logs.ts';
import { podLog } from '../logs/pod-logs.ts';
import type { PodWorker } from '../pods/pod-worker.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import type { KubeletView } from './kubelet-view.ts';

export const facts: MachineFacts = {
  cpuCount: 4,
  memoryBytes: 8 << 20,
  hugepages: {},
  ephemeralStorageBytes: 1 << 30,
  machineId: '',
  systemUuid: '',
  bootId: '',
  kernelVersion: '',
  osImage: '',
  operatingSystem: 'linux',
  architecture: 'amd64',
  swapBytes: 0,
  cgroupVersion: 'v2',
  hasSwapController: false,
  pidsMax: 32_768,
};
const filesystem = { capacityBytes: 1000, availableBytes: 400, inodes: 100, inodesFree: 90 };
export const usage: MachineUsage = {
  memoryAvailableBytes: 6 << 20,
  nodefs: filesystem,
  imagefs: filesystem,
  dedicatedImageFs: false,
  pidsMax: 1000,
  pidsUsed: 10,
};

export interface TestViewOptions {
  readonly nodeName: string;
  readonly runtime: ContainerRuntime;
  readonly pods: () => readonly Pod[];
  readonly checkpointDirectory?: string;
}

export function testView({ nodeName, runtime, pods, checkpointDirectory }: TestViewOptions): KubeletView {
  const logs = new LinuxLogs(systemClock);
  const find = (namespace: string, name: string) =>
    pods().find((pod) => pod.metadata.namespace === namespace && pod.metadata.name === name);
  return {
    nodeName,
    runtime,
    pods,
    pod: find,
    containerLog(pod, container, { signal, ...options }) {
      const worker = { pod, status: pod.status } as PodWorker;
      return podLog(worker, container, options, { runtime, logs, nowMs: systemClock.now(), signal });
    },
    checkpointDirectory,
    facts: async () => facts,
    usage: async () => usage,
    causes: () => ({ kind: 'CauseList', items: [] }),
    problem: () => undefined,
    configuration: () => ({ kind: 'KubeletConfiguration' }),
  };
}

export const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };

/** An authority, with a server certificate for loopback and a maker of client certificates. */
export function testKeys() {
  const authority = createCertificateAuthority({ commonName: 'test' }, sources);
  return {
    authority,
    serving: (commonName = 'node') =>
      issueCertificate(authority, {
        commonName,
        dnsNames: ['localhost'],
        ipAddresses: ['127.0.0.1'],
        usages: ['server auth'],
      }),
    client: (commonName: string, organizations: readonly string[] = []) =>
      issueCertificate(authority, { commonName, organizations, usages: ['client auth'] }),
  };
}

export interface TestContainer {
  readonly name: string;
  readonly tty?: boolean;
}

/** A running Pod with these containers. */
export function runningPod(name: string, containers: readonly TestContainer[], nodeName = 'node-a'): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      nodeName,
      containers: containers.map((container) => ({ ...container, image: 'test/image:1', resources: {} })),
    },
    status: {
      phase: 'Running',
      containerStatuses: containers.map((container) => ({
        name: container.name,
        image: 'test/image:1',
        imageID: '',
        ready: true,
        restartCount: 0,
        containerID: `containerd://${name}-${container.name}`,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      })),
    },
  };
}

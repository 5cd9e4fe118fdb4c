/** `/stats/summary`: upstream's document of what the node and its Pods use. */
import { formatTime } from '../../apimachinery/time.ts';
import type { FilesystemSpace, Stalls } from '../host/host.ts';
import type { FilesystemUsage, MemoryUsage, NetworkInterfaceUsage } from '../runtime/runtime.ts';
import type { PodVolumeStats } from './kubelet-view.ts';
import { type ContainerSample, CpuRates, type NodeSample, type PodSample, podUsage } from './stats.ts';

export class StatsSummary {
  readonly #rates = new CpuRates();

  /** The document for a sample; rates are against the sample of the call before. */
  of(nodeName: string, sample: NodeSample, options: { readonly onlyCpuAndMemory: boolean }): unknown {
    const document = {
      node: this.#node(nodeName, sample, options.onlyCpuAndMemory),
      pods: sample.pods.map((pod) => this.#pod(pod, sample, options.onlyCpuAndMemory)),
    };
    this.#rates.next();
    return document;
  }

  #node(nodeName: string, sample: NodeSample, brief: boolean) {
    const { facts, usage, atMs } = sample;
    const time = formatTime(atMs);
    const used = facts.memoryBytes - usage.memoryAvailableBytes;
    const { pressure } = sample;
    const basics = {
      nodeName,
      startTime: time,
      cpu: { ...this.#cpu('node', sample.cpuNanoSeconds, atMs), ...psi(pressure?.cpu) },
      memory: {
        time,
        availableBytes: usage.memoryAvailableBytes,
        usageBytes: used,
        workingSetBytes: used,
        ...psi(pressure?.memory),
      },
      ...(pressure ? { io: { time, ...psi(pressure.io) } } : {}),
    };
    if (brief) return basics;
    return {
      ...basics,
      fs: space(usage.nodefs, time),
      runtime: { imageFs: space(usage.imagefs, time), containerFs: space(usage.imagefs, time) },
      rlimit: { time, maxpid: usage.pidsMax, curproc: usage.pidsUsed },
    };
  }

  #pod(pod: PodSample, { atMs }: NodeSample, brief: boolean) {
    const { name, namespace, uid, sandbox, pressure } = pod;
    const time = formatTime(atMs);
    const { cpuNanoSeconds, workingSetBytes } = podUsage(pod);
    const basics = {
      podRef: { name, namespace, uid },
      startTime: formatTime(pod.startedAtMs),
      containers: pod.containers.map((container) => this.#container(container, brief)),
      cpu: { ...this.#cpu(`pod ${uid}`, cpuNanoSeconds, atMs), ...psi(pressure?.cpu) },
      memory: { time, workingSetBytes, ...(sandbox?.memory ? memory(sandbox.memory) : {}), ...psi(pressure?.memory) },
      ...(pressure ? { io: { time, ...psi(pressure.io) } } : {}),
    };
    if (brief) return basics;
    const interfaces = sandbox?.network?.interfaces.map(network) ?? [];
    const main = interfaces.find((entry) => entry.name === 'eth0') ?? interfaces[0];
    return {
      ...basics,
      ...(main ? { network: { time, ...main, interfaces } } : {}),
      ...(pod.volumes.length === 0 ? {} : { volume: pod.volumes.map((one) => volume(one, namespace, time)) }),
      ...(sandbox?.processCount === undefined ? {} : { process_stats: { process_count: sandbox.processCount } }),
    };
  }

  #container({ id, name, startedAtMs, stats }: ContainerSample, brief: boolean) {
    const { cpu, memory: used, writableLayer } = stats;
    return {
      name,
      startTime: formatTime(startedAtMs),
      ...(cpu ? { cpu: this.#cpu(id, cpu.coreNanoSeconds, cpu.timestampMs) } : {}),
      ...(used ? { memory: memory(used) } : {}),
      ...(writableLayer && !brief ? { rootfs: layer(writableLayer) } : {}),
    };
  }

  #cpu(name: string, coreNanoSeconds: number, timestampMs: number) {
    const rate = this.#rates.rate(name, { timestampMs, coreNanoSeconds });
    return {
      time: formatTime(timestampMs),
      ...(rate === undefined ? {} : { usageNanoCores: rate }),
      usageCoreNanoSeconds: coreNanoSeconds,
    };
  }
}

function psi(stalls: Stalls | undefined) {
  return stalls ? { psi: { full: stalls.full, some: stalls.some } } : {};
}

function memory(usage: MemoryUsage) {
  return {
    time: formatTime(usage.timestampMs),
    ...(usage.availableBytes === undefined ? {} : { availableBytes: usage.availableBytes }),
    ...(usage.usageBytes === undefined ? {} : { usageBytes: usage.usageBytes }),
    workingSetBytes: usage.workingSetBytes,
    ...(usage.rssBytes === undefined ? {} : { rssBytes: usage.rssBytes }),
    ...(usage.pageFaults === undefined ? {} : { pageFaults: usage.pageFaults }),
    ...(usage.majorPageFaults === undefined ? {} : { majorPageFaults: usage.majorPageFaults }),
  };
}

function space({ capacityBytes, availableBytes, inodes, inodesFree }: FilesystemSpace, time: string) {
  return {
    time,
    availableBytes,
    capacityBytes,
    usedBytes: capacityBytes - availableBytes,
    inodesFree,
    inodes,
    inodesUsed: inodes - inodesFree,
  };
}

function layer({ timestampMs, usedBytes, inodesUsed }: FilesystemUsage) {
  return { time: formatTime(timestampMs), usedBytes, inodesUsed };
}

function volume({ name, claim, stats: { isAbnormal, ...figures } }: PodVolumeStats, namespace: string, time: string) {
  return {
    time,
    ...figures,
    name,
    ...(claim === undefined ? {} : { pvcRef: { name: claim, namespace } }),
    ...(isAbnormal === undefined ? {} : { volumeHealthStats: { abnormal: isAbnormal } }),
  };
}

function network({ name, receivedBytes, receiveErrors, sentBytes, sendErrors }: NetworkInterfaceUsage) {
  return { name, rxBytes: receivedBytes, rxErrors: receiveErrors, txBytes: sentBytes, txErrors: sendErrors };
}

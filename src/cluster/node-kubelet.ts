/** The kubelet of a node of ours, on the real machine or on a simulated one. */
import { basename } from 'node:path';
import { defaultConfiguration, type KubeletConfiguration } from '../kubelet/configuration.ts';
import type { Kubelet } from '../kubelet/kubelet.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { podResolvConf } from './machine.ts';
import type { NodeProcessOptions } from './node-process.ts';
import type { NodeRuntime } from './node-runtime.ts';

/** Runs until the context's signal is aborted. Without a runtime the node is a simulated one. */
export async function runNodeKubelet(
  options: NodeProcessOptions,
  context: ComponentContext,
  runtime?: NodeRuntime,
): Promise<void> {
  const kubelet = await (runtime ? realKubelet(options, context, runtime) : simulatedKubelet(options, context));
  await kubelet.done;
}

async function simulatedKubelet(options: NodeProcessOptions, context: ComponentContext): Promise<Kubelet> {
  const { startSimulatedKubelet } = await import('../kubelet/simulated-kubelet.ts');
  const { config } = options;
  const addresses = [config.nodeIp ?? '127.0.0.1'];
  return startSimulatedKubelet(context, {
    nodeName: config.nodeName,
    addresses,
    watches: true,
    configuration: { ...clusterConfiguration(options), nodeIps: addresses },
  });
}

async function realKubelet(
  options: NodeProcessOptions,
  context: ComponentContext,
  runtime: NodeRuntime,
): Promise<Kubelet> {
  const { startKubelet } = await import('../kubelet/kubelet.ts');
  const { linuxHost } = await import('../kubelet/host/linux-host.ts');
  const { directory, config } = options;
  const configuration = {
    ...clusterConfiguration(options),
    nodeIps: config.nodeIp ? [config.nodeIp] : [],
    resolvConf: podResolvConf(),
    rootDirectory: directory.kubeletRoot,
    podLogsDirectory: directory.podLogs,
    containerLogsDirectory: '',
    staticPodPath: directory.staticPods,
    // Clusters on one machine do not meet in the cgroup tree, and `down` knows which groups are its own.
    cgroupRoot: `/${basename(directory.state)}`,
  };
  const { clock, random, log } = context;
  const host = linuxHost({
    clock,
    random,
    log,
    configuration: { ...defaultConfiguration, ...configuration },
    imageDirectory: directory.containerdRoot,
  });
  return startKubelet(context, { nodeName: config.nodeName, runtime: runtime.connection, host, configuration });
}

function clusterConfiguration({ config }: NodeProcessOptions): Partial<KubeletConfiguration> {
  return { clusterDns: [config.clusterDns], clusterDomain: config.clusterDomain };
}

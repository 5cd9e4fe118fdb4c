/** The node's network beside the kubelet: addresses for Pods, Services, and names. */
import { join } from 'node:path';
import { type Node, nodes, services } from '../../api/gen/core-v1.ts';
import { runDns } from '../../dns/dns.ts';
import { nftKernel } from '../../proxy/nft-kernel.ts';
import { type Kernel, runProxy } from '../../proxy/proxy.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { CommandError } from '../command-error.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { nameServers } from '../machine/machine.ts';
import { findProgram, type Machine } from '../machine/requirements.ts';
import type { NodeProcessOptions } from './node-process-options.ts';
import { routeKernel, runNodeRoutes } from './node-routes.ts';
import {
  acceptForwarded,
  enableForwarding,
  hasForeignNetwork,
  isMasquerading,
  masquerade,
  writePodNetwork,
} from './pod-network.ts';
import { podNetworkRules } from './pod-network-rules.ts';
import { rightsGiven } from './rights-given.ts';
import { runServiceRoutes, serviceRouteKernel } from './service-routes.ts';
import { noteAbsentTables } from './shared-tables.ts';

/** Not 53: that is where machines have resolvers of their own. Clients find it as the Service `kube-dns`. */
const nameServerPort = 10053;

/** Where runtimes of the user's own look for networks. */
export const commonCniFolder = '/etc/cni/net.d';

/** Each user of the kernel has a folder of its own for its transactions. */
export function nodeKernel(directory: DataDirectory, machine: Machine, user: 'pods' | 'proxy' | 'machines'): Kernel {
  const folder = join(directory.run, 'nft', user);
  return nftKernel({ folder, nft: nftProgram(machine), conntrack: findProgram(machine, 'conntrack') });
}

function nftProgram(machine: Machine): string {
  const nft = findProgram(machine, 'nft');
  if (!nft) throw new CommandError('nft is not installed on this machine.', 'Run coracle up without --no-install.');
  return nft;
}

export const absentTablesFile = (directory: DataDirectory) => join(directory.node, 'absent-tables.json');

/** Follows the range that the control plane gave this node. */
export async function runNodeNetwork(options: NodeProcessOptions, context: ComponentContext): Promise<void> {
  const { directory, config, machine } = options;
  const { clock, informers, log, signal } = context;
  const kernel = nodeKernel(directory, machine, 'pods');
  const folder = config.containerRuntimeEndpoint ? commonCniFolder : directory.cniConfig;
  if (config.containerRuntimeEndpoint && hasForeignNetwork(folder)) {
    log.info('Pods get the network that the runtime is already set up with', { folder });
    return;
  }
  noteAbsentTables(nftProgram(machine), absentTablesFile(directory));
  const informer = informers.of(nodes, { fieldSelector: `metadata.name=${config.nodeName}` });
  const rules = podNetworkRules({
    async write(podCidrs) {
      enableForwarding(podCidrs);
      acceptForwarded(findProgram(machine, 'iptables'), podCidrs);
      await masquerade(kernel, podCidrs, { inside: config.clusterCidrs });
      const written = writePodNetwork(podCidrs, { folder, addressFolder: join(directory.node, 'addresses') });
      log.info('Pods of this node get addresses', { podCidrs, written });
    },
    areThere: (podCidrs) => isMasquerading(kernel, podCidrs),
    clock,
    log,
    signal,
  });
  const take = ({ metadata, spec }: Node) => {
    if (metadata.name === config.nodeName && spec?.podCIDRs?.length) rules.take(spec.podCIDRs);
  };
  informer.onChange({ added: take, updated: take, deleted() {} });
  await rules.run();
}

/** Not where the runtime has a network of its own: that one knows the way. */
export async function runPodRoutes(
  { directory, config, machine }: NodeProcessOptions,
  context: ComponentContext,
): Promise<void> {
  const { containerRuntimeEndpoint, nodeName } = config;
  const program = findProgram(machine, 'ip');
  const isOurs = containerRuntimeEndpoint === undefined || !hasForeignNetwork(commonCniFolder);
  if (program && isOurs) return runNodeRoutes(nodeName, routeKernel(program), context);
  context.log.info('routes to other nodes are left to the network that is there', { folder: directory.cniConfig });
}

/** Needs no more than a kernel that routes; without `ip` the machine keeps the routes that it has. */
export async function runWayToServices(
  { config, machine }: NodeProcessOptions,
  context: Pick<ComponentContext, 'clock' | 'log' | 'signal'>,
): Promise<void> {
  const program = findProgram(machine, 'ip');
  if (!program) return;
  const nodeIps = config.nodeIp ? [config.nodeIp] : [];
  return runServiceRoutes({ ranges: config.serviceCidrs, nodeIps, kernel: serviceRouteKernel(program) }, context);
}

export function runNodeProxy(
  { directory, config, machine }: NodeProcessOptions,
  context: ComponentContext,
): Promise<void> {
  const nodeIps = config.nodeIp ? [config.nodeIp] : [];
  const ofFamily = (cidrs: readonly string[], ipv6: boolean) => cidrs.filter((cidr) => cidr.includes(':') === ipv6);
  const families = (['ip', 'ip6'] as const)
    .map((family) => ({
      family,
      clusterCidrs: ofFamily(config.clusterCidrs, family === 'ip6'),
      serviceCidrs: ofFamily(config.serviceCidrs, family === 'ip6'),
      nodeIps: ofFamily(nodeIps, family === 'ip6'),
      masqueradeAll: false,
      masqueradeBit: 14,
    }))
    .filter(({ serviceCidrs }) => serviceCidrs.length > 0);
  return runProxy(context, {
    kernel: nodeKernel(directory, machine, 'proxy'),
    node: { name: config.nodeName, zone: undefined },
    families,
  });
}

export async function runNodeDns({ config }: NodeProcessOptions, context: ComponentContext): Promise<void> {
  if (!config.nodeIp) return;
  await rightsGiven(context, services);
  return runDns(context, {
    domain: config.clusterDomain,
    addresses: [config.nodeIp],
    port: nameServerPort,
    upstreams: nameServers([config.clusterDns]),
    announce: { nodeName: config.nodeName, ip: config.nodeIp },
  });
}

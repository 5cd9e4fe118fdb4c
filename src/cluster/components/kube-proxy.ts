/** `coracle kube-proxy`: always by nftables, whatever mode is asked for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { cidrContains, parseCidr, parseIp } from '../../apimachinery/addresses.ts';
import { errorsText, type FieldError, invalid, path } from '../../apimachinery/field-error.ts';
import { formatTime, parseDuration } from '../../apimachinery/time.ts';
import { sleep } from '../../base/clock.ts';
import { metricsContentType } from '../../base/metrics/families.ts';
import type { Client } from '../../client/client.ts';
import { flags as proxyFlags } from '../../proxy/gen/flags.ts';
import { nftKernel } from '../../proxy/nft-kernel.ts';
import { type ProxyOptions, removeTables, runProxy } from '../../proxy/proxy.ts';
import { type ComponentContext, componentContext } from '../../reconcile/component.ts';
import { FlagError } from '../../serving/flags.ts';
import { CommandError } from '../command-error.ts';
import { nodeNameOf } from '../machine/machine.ts';
import { findProgram } from '../machine/requirements.ts';
import type { ComponentCommand, ComponentEnvironment } from './flags/component-definition.ts';
import { type ConfigurationObject, decodeConfiguration, readConfigurationFile } from './flags/configuration-file.ts';
import { connect } from './flags/connection.ts';
import type { GivenFlags } from './flags/given-flags.ts';
import { componentMetrics } from './secure-port/component-metrics.ts';
import { alwaysOk, splitHostPort, startHealthServer } from './secure-port/health-server.ts';

export const kubeProxy: ComponentCommand = { name: 'kube-proxy', flags: proxyFlags, run };

export interface ProxySettings {
  readonly kubeconfig: string | undefined;
  readonly hostnameOverride: string;
  readonly mode: string;
  readonly clusterCidrs: readonly string[];
  readonly nodePortAddresses: readonly string[];
  readonly masqueradeAll: boolean;
  readonly masqueradeBit: number;
  readonly syncPeriodMs: number;
  readonly minSyncPeriodMs: number;
  readonly healthzBindAddress: string;
  readonly metricsBindAddress: string;
}

async function run(given: GivenFlags, environment: ComponentEnvironment): Promise<void> {
  const { clock, random, log, signal, machine } = environment;
  const nft = findProgram(machine, 'nft');
  if (!nft) throw new CommandError('nft is not installed on this machine.', 'Install the package nftables.');
  const folder = mkdtempSync(join(tmpdir(), 'coracle-kube-proxy-'));
  await using _folder = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) };
  const kernel = nftKernel({
    folder,
    nft,
    conntrack: findProgram(machine, 'conntrack'),
  });
  if (given.flag('cleanup')) return await removeTables(kernel, ['ip', 'ip6']);
  const settings = proxySettings(given);
  if (settings.mode !== '' && settings.mode !== 'nftables')
    log.warn(`proxy mode ${settings.mode} is not built; Services are carried by nftables`);
  await using connection = await connect(
    'kube-proxy',
    { kubeconfig: settings.kubeconfig, master: given.optionalText('master') },
    environment,
  );
  environment.started();
  const nodeName = settings.hostnameOverride ? nodeNameOf(settings.hostnameOverride) : machine.nodeName;
  const node = await nodeNamed(nodeName, connection.client, environment);
  let syncedMs = clock.now();
  await using _health = await startHealthServer({
    ...splitHostPort(settings.healthzBindAddress),
    paths: {
      '/healthz': () => healthPage(syncedMs, clock.now()),
      '/livez': () => healthPage(syncedMs, clock.now()),
    },
  });
  await using _metrics = await startHealthServer({
    ...splitHostPort(settings.metricsBindAddress),
    paths: {
      '/healthz': alwaysOk,
      '/metrics': () => ({
        healthy: true,
        text: componentMetrics({ clock, requests: connection.options.statistics }),
        type: metricsContentType,
      }),
      '/proxyMode': () => ({ healthy: true, text: 'nftables' }),
    },
  });
  const context = componentContext({ client: connection.client, clock, random, log, signal });
  await withServiceCidrs(context, (serviceCidrs, inForce) =>
    runProxy(
      { ...context, signal: inForce },
      {
        kernel,
        node: { name: nodeName, zone: node.metadata.labels?.['topology.kubernetes.io/zone'] },
        families: families(settings, node, serviceCidrs),
        minSyncPeriodMs: settings.minSyncPeriodMs,
        syncPeriodMs: settings.syncPeriodMs,
        onSynced() {
          syncedMs = clock.now();
        },
      },
    ),
  );
}

/**
 * Runs `work` with the ranges that Services have, and anew when ranges come or go: they stand in the part of the tables that is only written
 * as a whole.
 */
export async function withServiceCidrs(
  { informers, signal }: Pick<ComponentContext, 'informers' | 'signal'>,
  work: (cidrs: readonly string[], inForce: AbortSignal) => Promise<void>,
): Promise<void> {
  const informer = informers.of(serviceCIDRs);
  const current = () => [...new Set(informer.list().flatMap(({ spec }) => spec?.cidrs ?? []))].sort();
  let cidrs: readonly string[] = [];
  let change = new AbortController();
  const look = () => {
    if (String(current()) !== String(cidrs)) change.abort();
  };
  const registration = informer.onChange({ added: look, updated: look, deleted: look });
  try {
    await informer.whenSynced(signal);
    while (!signal.aborted) {
      cidrs = current();
      change = new AbortController();
      await work(cidrs, AbortSignal.any([signal, change.signal]));
      if (!change.signal.aborted) return;
    }
  } finally {
    registration.remove();
  }
}

function healthPage(syncedMs: number, nowMs: number) {
  const page = { lastUpdated: formatTime(syncedMs), currentTime: formatTime(nowMs), nodeEligible: true };
  return { healthy: true, text: JSON.stringify(page), type: 'application/json' };
}

/** Throws a `FlagError` for what no proxy can work with. */
export function proxySettings(given: GivenFlags): ProxySettings {
  const settings = readSettings(given);
  const problems = problemsOf(settings);
  if (problems.length > 0) throw new FlagError(`failed validate: ${errorsText(problems)}`);
  return settings;
}

const modes = ['iptables', 'ipvs', 'nftables'];

function problemsOf({ mode, clusterCidrs }: ProxySettings): readonly FieldError[] {
  const at = path('KubeProxyConfiguration');
  const cidrs = at.child('DetectLocalConfiguration', 'ClusterCIDRs');
  const problems = clusterCidrs.flatMap((cidr, index) =>
    parseCidr(cidr)
      ? []
      : [invalid(cidrs.index(index), cidr, 'must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)')],
  );
  if (mode === '' || modes.includes(mode)) return problems;
  const rule = `must be ${modes.join(', ')} or blank (blank means the best-available proxy [currently iptables])`;
  return [invalid(at.child('Mode', 'ProxyMode'), mode, rule), ...problems];
}

function readSettings(given: GivenFlags): ProxySettings {
  const configPath = given.optionalText('config');
  const cidrs = (text: string) => text.split(',').filter(Boolean);
  if (configPath === undefined)
    return {
      kubeconfig: given.optionalText('kubeconfig'),
      hostnameOverride: given.text('hostname-override'),
      mode: given.text('proxy-mode'),
      clusterCidrs: cidrs(given.text('cluster-cidr')),
      nodePortAddresses: given.list('nodeport-addresses'),
      masqueradeAll: given.flag('masquerade-all'),
      masqueradeBit: given.number('iptables-masquerade-bit'),
      syncPeriodMs: given.milliseconds('iptables-sync-period'),
      minSyncPeriodMs: given.milliseconds('iptables-min-sync-period'),
      healthzBindAddress: given.text('healthz-bind-address'),
      metricsBindAddress: given.text('metrics-bind-address'),
    };
  const file = decodeConfiguration(configPath, readConfigurationFile(configPath), {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
  });
  const connection = file.clientConnection as ConfigurationObject;
  const nftables = file.nftables as ConfigurationObject;
  const duration = (value: unknown) => parseDuration(String(value ?? '0')) ?? 0;
  return {
    kubeconfig: (connection.kubeconfig as string | undefined) || given.optionalText('kubeconfig'),
    // The one flag that counts beside a file, as every node of a cluster has the same file.
    hostnameOverride: given.text('hostname-override') || String(file.hostnameOverride ?? ''),
    mode: String(file.mode ?? ''),
    clusterCidrs: cidrs(String(file.clusterCIDR ?? '')),
    nodePortAddresses: (file.nodePortAddresses as readonly string[] | undefined) ?? [],
    masqueradeAll: nftables.masqueradeAll === true,
    masqueradeBit: Number(nftables.masqueradeBit),
    syncPeriodMs: duration(nftables.syncPeriod),
    minSyncPeriodMs: duration(nftables.minSyncPeriod),
    healthzBindAddress: String(file.healthzBindAddress ?? ''),
    metricsBindAddress: String(file.metricsBindAddress ?? ''),
  };
}

const nodeRetryMs = 1000;

/** The proxy may start before the kubelet has registered the Node. */
async function nodeNamed(name: string, client: Client, { clock, log, signal }: ComponentEnvironment): Promise<Node> {
  for (;;) {
    try {
      return await client.get(nodes, { name }, { signal });
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn('the Node cannot be read; trying again', { node: name, error });
      await sleep(clock, nodeRetryMs, signal);
    }
  }
}

function families(settings: ProxySettings, node: Node, serviceCidrs: readonly string[]): ProxyOptions['families'] {
  const addresses = (node.status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
    .map(({ address }) => address);
  const podCidrs = settings.clusterCidrs.length > 0 ? settings.clusterCidrs : (node.spec?.podCIDRs ?? []);
  const primary = settings.nodePortAddresses.length === 0 || settings.nodePortAddresses.includes('primary');
  const nodeIps = primary
    ? addresses
    : addresses.filter((address) => settings.nodePortAddresses.some((range) => isInside(address, range)));
  return (['ip', 'ip6'] as const)
    .map((family) => {
      const ofFamily = (values: readonly string[]) => values.filter((one) => one.includes(':') === (family === 'ip6'));
      return {
        family,
        clusterCidrs: ofFamily(podCidrs),
        serviceCidrs: ofFamily(serviceCidrs),
        nodeIps: ofFamily(nodeIps),
        masqueradeAll: settings.masqueradeAll,
        masqueradeBit: settings.masqueradeBit,
      };
    })
    .filter(({ family }) => family === 'ip' || addresses.some((address) => address.includes(':')));
}

function isInside(address: string, range: string): boolean {
  const ip = parseIp(address);
  const cidr = parseCidr(range);
  return ip !== undefined && cidr !== undefined && cidrContains(cidr, ip);
}

/** The kubelet of a node of ours, on the real machine or on a simulated one. */
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { basename, join } from 'node:path';
import type { RequestStatistics } from '../../client/request-statistics.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../../kubelet/configuration.ts';
import type { Kubelet } from '../../kubelet/kubelet.ts';
import { viewOf } from '../../kubelet/server/kubelet-view.ts';
import { linuxCpuNanoSeconds } from '../../kubelet/server/linux-cpu.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { delegatedAuthentication } from '../../serving/delegated-authentication.ts';
import { delegatedAuthorization } from '../../serving/delegated-authorization.ts';
import { followRenewals, lookAtFilesMs } from '../certificates/certificate-renewal.ts';
import { rotatedServing, type ServedCertificate } from '../certificates/kubelet-certificates.ts';
import { podResolvConf } from '../machine/machine.ts';
import { readNodeKey } from './node-config.ts';
import type { NodeProcessOptions } from './node-process-options.ts';
import type { NodeRuntime } from './node-runtime.ts';

/** As upstream's; another is taken, and told to the API server, where it is in use. */
const usualPort = 10250;
const usualHealthzPort = 10248;

export interface NodeKubeletParts {
  /** What the clients of the process count. */
  readonly requests: RequestStatistics;
  /** Absent: the node is a simulated one. */
  readonly runtime?: NodeRuntime;
}

/** Runs until the context's signal is aborted. */
export async function runNodeKubelet(
  options: NodeProcessOptions,
  context: ComponentContext,
  { requests, runtime }: NodeKubeletParts,
): Promise<void> {
  const { config, directory } = options;
  const { client, clock, log, signal } = context;
  const host = config.nodeIp ?? '127.0.0.1';
  const port = await freePort(host, usualPort);
  const healthzPort = await freePort('127.0.0.1', usualHealthzPort);
  const kubelet = await (runtime
    ? realKubelet(options, context, { port, runtime })
    : simulatedKubelet(options, context, { port, host }));
  const { startKubeletServer } = await import('../../kubelet/server/kubelet-server.ts');
  const ended = new AbortController();
  const ending = AbortSignal.any([signal, ended.signal]);
  const certificate = servedCertificate(options, context, { kubelet, signal: ending });
  const server = await startKubeletServer(
    viewOf(kubelet, {
      clock,
      furtherMetrics: () => requests.families(),
      ...(runtime ? { cpuNanoSeconds: linuxCpuNanoSeconds } : {}),
    }),
    {
      listen: { host, port },
      tls: certificate.current,
      healthz: { host: '127.0.0.1', port: healthzPort },
      authenticate: delegatedAuthentication({
        clock,
        clientAuthorities: () => readFileSync(join(directory.pki, 'ca.crt'), 'utf8'),
        tokenReviews: client,
      }),
      authorize: delegatedAuthorization({ client, clock }),
      clock,
      log,
      ...(runtime ? { systemLogs: { directory: '/var/log' } } : {}),
    },
  );
  const { address, healthzAddress } = server;
  log.info('the kubelet serves', { port: address.port, healthzPort: healthzAddress?.port });
  const renewing = certificate.follow((pair) => server.replaceCertificate(pair));
  try {
    await kubelet.done;
    if (!signal.aborted) throw new Error('the kubelet ended');
  } finally {
    ended.abort();
    await Promise.all([server.close(), renewing]);
  }
}

/** Made by the control plane's process beside it, or, on a node that joined, asked for. */
function servedCertificate(
  { config, directory }: NodeProcessOptions,
  { client, clock, random, log }: ComponentContext,
  { kubelet, signal }: { readonly kubelet: Kubelet; readonly signal: AbortSignal },
): ServedCertificate {
  if (config.joined)
    return rotatedServing({
      client,
      folder: directory.pki,
      nodeName: config.nodeName,
      addresses: () => kubelet.node?.status?.addresses ?? [],
      clock,
      random,
      log,
      signal,
    });
  const current = () => readNodeKey(directory, config, config.keys.server);
  return {
    current: current(),
    follow: (taken) => followRenewals(current, taken, { clock, log, signal, everyMs: lookAtFilesMs }),
  };
}

/** `preferred` if nobody listens there, else one that the kernel gives. */
function freePort(host: string, preferred: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' && preferred !== 0) resolve(freePort(host, 0));
      else reject(error);
    });
    server.listen({ host, port: preferred, exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function simulatedKubelet(
  options: NodeProcessOptions,
  context: ComponentContext,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Kubelet> {
  const { startSimulatedKubelet } = await import('../../kubelet/simulated-kubelet.ts');
  return startSimulatedKubelet(context, {
    nodeName: options.config.nodeName,
    version: options.config.version,
    addresses: [host],
    watches: true,
    configuration: { ...clusterConfiguration(options), port, nodeIps: [host] },
  });
}

async function realKubelet(
  options: NodeProcessOptions,
  context: ComponentContext,
  { port, runtime }: { readonly port: number; readonly runtime: NodeRuntime },
): Promise<Kubelet> {
  const { startKubelet } = await import('../../kubelet/kubelet.ts');
  const { linuxHost } = await import('../../kubelet/host/linux-host.ts');
  const { credentialFiles } = await import('../../kubelet/host/credential-files.ts');
  const { directory, config } = options;
  const configuration = {
    ...clusterConfiguration(options),
    port,
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
  return startKubelet(context, {
    nodeName: config.nodeName,
    version: config.version,
    runtime: runtime.connection,
    host,
    configuration,
    nodeCredentials: credentialFiles(directory.kubeletRoot),
  });
}

function clusterConfiguration({ config }: NodeProcessOptions): Partial<KubeletConfiguration> {
  return { clusterDns: [config.clusterDns], clusterDomain: config.clusterDomain };
}

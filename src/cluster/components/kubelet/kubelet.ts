/**
 * `coracle kubelet`: the kubelet alone, under another API server too.
 *
 * The room: its flags and files (`configuration.ts`), who it is (`identity.ts`), programs with credentials (`credential-providers.ts`).
 * What they do is the business of `src/kubelet`.
 */
import { readFileSync } from 'node:fs';
import { messageOf } from '../../../apimachinery/status.ts';
import { sleep } from '../../../base/clock.ts';
import type { Client } from '../../../client/client.ts';
import { credentialFiles } from '../../../kubelet/host/credential-files.ts';
import { cgroupVersion } from '../../../kubelet/host/linux-cgroups.ts';
import { linuxHost } from '../../../kubelet/host/linux-host.ts';
import type { Kubelet } from '../../../kubelet/kubelet.ts';
import { startKubelet } from '../../../kubelet/kubelet.ts';
import { type KubeletServerSettings, type KubeletSettings, kubeletFlags } from '../../../kubelet/options.ts';
import { connectRuntime, NoCommonRuntimeVersion } from '../../../kubelet/runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from '../../../kubelet/runtime/runtime.ts';
import { systemJournal } from '../../../kubelet/server/journal.ts';
import { startKubeletServer } from '../../../kubelet/server/kubelet-server.ts';
import { viewOf } from '../../../kubelet/server/kubelet-view.ts';
import { linuxCpuNanoSeconds } from '../../../kubelet/server/linux-cpu.ts';
import type { SystemLogs } from '../../../kubelet/server/system-logs.ts';
import { componentContext } from '../../../reconcile/component.ts';
import { delegatedAuthentication } from '../../../serving/delegated-authentication.ts';
import { alwaysAllow, delegatedAuthorization } from '../../../serving/delegated-authorization.ts';
import { rotatedServing, type ServedCertificate } from '../../certificates/kubelet-certificates.ts';
import { readPem } from '../../certificates/pem-files.ts';
import { CommandError } from '../../command-error.ts';
import { nodeNameOf } from '../../machine/machine.ts';
import { versions } from '../../versions.ts';
import type { ComponentCommand, ComponentEnvironment } from '../flags/component-definition.ts';
import type { GivenFlags } from '../flags/given-flags.ts';
import { followServingFiles, servingCertificate } from '../secure-port/serving-certificate.ts';
import { knownParameters } from '../secure-port/tls-flags.ts';
import { kubeletConfiguration } from './configuration.ts';
import { credentialProviders } from './credential-providers.ts';
import { connectKubelet, type KubeletConnection } from './identity.ts';

export const kubelet: ComponentCommand = { name: 'kubelet', flags: kubeletFlags, run };

async function run(given: GivenFlags, environment: ComponentEnvironment): Promise<void> {
  const { clock, random, log, signal, machine } = environment;
  const settings = kubeletConfiguration(given);
  const nodeName = settings.hostnameOverride ? nodeNameOf(settings.hostnameOverride) : machine.nodeName;
  for (const warning of settings.warnings) log.warn(warning);
  refuseSwap(settings, readFileSync('/proc/swaps', 'utf8'));
  await checkCgroups(settings);
  const providers = credentialProviders(settings, environment);
  if (settings.kubeconfig === '')
    throw new CommandError(
      'the kubelet was given no --kubeconfig.',
      'A kubelet without an API server is not built yet.',
    );
  await using connection = await connectKubelet(settings, nodeName, environment);
  environment.started();
  const runtime = await runtimeOf(settings, environment);
  const context = componentContext({ client: connection.client, clock, random, log, signal });
  try {
    const running = await startKubelet(context, {
      nodeName,
      runtime,
      host: linuxHost({
        clock,
        random,
        log,
        configuration: settings.configuration,
        imageDirectory: await imageDirectoryOf(runtime),
      }),
      configuration: settings.configuration,
      version: versions.kubernetes,
      nodeCredentials: credentialFiles(settings.configuration.rootDirectory, machine.environment.HOME ?? ''),
      credentialProviders: providers,
    });
    await serve(running, settings, connection, environment);
  } finally {
    runtime.close();
  }
}

/** Where the runtime keeps images and containers' layers; absent: it does not tell. */
async function imageDirectoryOf(runtime: ContainerRuntime): Promise<string | undefined> {
  const { imageFilesystems } = await runtime.imageFsInfo().catch(() => ({ imageFilesystems: [] }));
  return imageFilesystems[0]?.mountpoint || undefined;
}

/** Throws a `CommandError` where there is any and there may be none. `inUse` is the text of `/proc/swaps`: a heading, then a line each. */
export function refuseSwap({ failSwapOn }: Pick<KubeletSettings, 'failSwapOn'>, inUse: string): void {
  if (!failSwapOn) return;
  const lines = inUse.trim().split('\n');
  if (lines.length <= 1) return;
  throw new CommandError(
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false.',
    `In use: ${lines.slice(1).join('; ')}`,
  );
}

async function checkCgroups({ failCgroupV1, killsWholeContainers }: KubeletSettings): Promise<void> {
  if (!(failCgroupV1 || killsWholeContainers) || (await cgroupVersion()) === 'v2') return;
  if (failCgroupV1)
    throw new CommandError(
      'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
      'Leave failCgroupV1 out: this kubelet runs with both versions.',
    );
  throw new CommandError(
    'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
    'Leave singleProcessOOMKill out.',
  );
}

const runtimeRetryMs = 1000;

/** Waits for a runtime that is not there yet; one that speaks no common version is an error at once. */
async function runtimeOf(
  settings: KubeletSettings,
  { clock, log, signal }: ComponentEnvironment,
): Promise<ContainerRuntime> {
  const { runtimeEndpoint, imageEndpoint, runtimeRequestTimeoutMs } = settings;
  for (;;) {
    try {
      return await connectRuntime({
        clock,
        endpoint: runtimeEndpoint,
        imageEndpoint: imageEndpoint || undefined,
        requestTimeoutMs: runtimeRequestTimeoutMs,
        signal,
      });
    } catch (error) {
      if (error instanceof NoCommonRuntimeVersion)
        throw new CommandError(error.message, 'Give another --container-runtime-endpoint, or a newer runtime.');
      if (signal.aborted) throw error;
      log.warn('the container runtime does not answer; trying again', {
        endpoint: runtimeEndpoint,
        error: messageOf(error),
      });
      await sleep(clock, runtimeRetryMs, signal);
    }
  }
}

async function serve(
  running: Kubelet,
  settings: KubeletSettings,
  { client, options, rotation }: KubeletConnection,
  environment: ComponentEnvironment,
): Promise<void> {
  const { clock, log } = environment;
  const { server } = settings;
  if (!server.enabled) return running.done;
  const tlsParameters = knownParameters(server.tlsMinVersion, server.tlsCipherSuites);
  const certificate = servedCertificate(running, settings, client, environment);
  const clientAuthorities = server.clientCaFile ? () => readPem('--client-ca-file', server.clientCaFile) : undefined;
  const certificates = { client: rotation, serving: certificate.rotation };
  const furtherMetrics = () => options.statistics?.families() ?? '';
  const view = viewOf(running, { clock, cpuNanoSeconds: linuxCpuNanoSeconds, certificates, furtherMetrics });
  const listening = await startKubeletServer(view, {
    listen: { host: server.address, port: server.port },
    ...(server.healthzPort > 0 ? { healthz: { host: server.healthzBindAddress, port: server.healthzPort } } : {}),
    tls: certificate.current,
    tlsParameters,
    authenticate: delegatedAuthentication({
      clock,
      clientAuthorities,
      tokenReviews: server.webhookAuthentication ? client : undefined,
      cacheTtlMs: server.webhookAuthenticationCacheMs,
      anonymous: server.anonymousAuthentication,
    }),
    authorize:
      server.authorizationMode === 'Webhook'
        ? delegatedAuthorization({
            client,
            clock,
            allowedTtlMs: server.authorizedCacheMs,
            refusedTtlMs: server.unauthorizedCacheMs,
          })
        : alwaysAllow,
    clock,
    log,
    enableDebuggingHandlers: server.debuggingHandlers,
    systemLogs: systemLogsOf(server, environment),
  });
  void certificate.follow((pair) => listening.replaceCertificate(pair));
  try {
    await running.done;
  } finally {
    await listening.close();
  }
}

function systemLogsOf(server: KubeletServerSettings, { clock }: ComponentEnvironment): SystemLogs | undefined {
  if (!server.systemLogHandler) return undefined;
  return { directory: '/var/log', ...(server.systemLogQuery ? { journal: systemJournal(clock) } : {}) };
}

/** Files of the flags, or what the cluster signs, or what the kubelet signs itself. */
function servedCertificate(
  running: Kubelet,
  settings: KubeletSettings,
  client: Client,
  environment: ComponentEnvironment,
): ServedCertificate {
  const { server, certificateDirectory, configuration } = settings;
  const { clock, random, log, signal } = environment;
  const { nodeName } = running;
  if (settings.serverTlsBootstrap && server.tlsCertFile === '')
    return rotatedServing({
      client,
      folder: certificateDirectory,
      nodeName,
      addresses: () => running.node?.status?.addresses ?? [],
      clock,
      random,
      log,
      signal,
    });
  const files = servingCertificate(
    {
      certFile: server.tlsCertFile,
      keyFile: server.tlsPrivateKeyFile,
      folder: certificateDirectory,
      name: 'kubelet',
      dnsNames: [nodeName],
      ipAddresses: configuration.nodeIps.length > 0 ? configuration.nodeIps : running.host.addresses(),
    },
    environment,
  );
  return {
    current: files,
    follow: (taken) => followServingFiles(files, taken, environment),
  };
}

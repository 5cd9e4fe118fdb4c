/** `coracle kubelet`. */
import { readFileSync } from 'node:fs';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { linuxHost } from '../../kubelet/host/linux-host.ts';
import type { Kubelet } from '../../kubelet/kubelet.ts';
import { startKubelet } from '../../kubelet/kubelet.ts';
import { type KubeletSettings, kubeletFlags, kubeletSettings } from '../../kubelet/options.ts';
import { connectRuntime, NoCommonRuntimeVersion } from '../../kubelet/runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from '../../kubelet/runtime/runtime.ts';
import { startKubeletServer } from '../../kubelet/server/kubelet-server.ts';
import { viewOf } from '../../kubelet/server/kubelet-view.ts';
import { linuxCpuNanoSeconds } from '../../kubelet/server/linux-cpu.ts';
import { componentContext } from '../../reconcile/component.ts';
import { delegatedAuthentication } from '../../serving/delegated-authentication.ts';
import { alwaysAllow, delegatedAuthorization } from '../../serving/delegated-authorization.ts';
import { CommandError } from '../command-error.ts';
import { nodeNameOf } from '../machine.ts';
import { versions } from '../versions.ts';
import type { ComponentCommand, ComponentEnvironment } from './component.ts';
import { readConfigurationFile } from './configuration-file.ts';
import { connect } from './connection.ts';
import type { GivenFlags } from './given-flags.ts';
import { followServingFiles, readPem, servingCertificate } from './serving-certificate.ts';
import { knownParameters } from './tls-flags.ts';

export const kubelet: ComponentCommand = { name: 'kubelet', flags: kubeletFlags, run };

async function run(given: GivenFlags, environment: ComponentEnvironment): Promise<void> {
  const { clock, random, log, signal, machine } = environment;
  const settings = settingsFrom(given);
  const nodeName = settings.hostnameOverride ? nodeNameOf(settings.hostnameOverride) : machine.nodeName;
  checkSwap(settings);
  if (settings.kubeconfig === '')
    throw new CommandError(
      'the kubelet was given no --kubeconfig.',
      'A kubelet without an API server is not built yet.',
    );
  await using connection = await connect('kubelet', { kubeconfig: settings.kubeconfig }, environment);
  environment.started();
  const runtime = await runtimeOf(settings, environment);
  const context = componentContext({ client: connection.client, clock, random, log, signal });
  try {
    const running = await startKubelet(context, {
      nodeName,
      runtime,
      host: linuxHost({ clock, random, log, configuration: settings.configuration }),
      configuration: settings.configuration,
      version: versions.kubernetes,
    });
    await serve(running, settings, connection.client, environment);
  } finally {
    runtime.close();
  }
}

function settingsFrom(given: GivenFlags): KubeletSettings {
  const path = given.optionalText('config');
  if (path === undefined) return kubeletSettings(given.parsed);
  const file = readConfigurationFile(path);
  try {
    return kubeletSettings(given.parsed, file);
  } catch (error) {
    throw new CommandError(
      `failed to load Kubelet config file ${path}: ${messageOf(error)}`,
      'The file must be a KubeletConfiguration of kubelet.config.k8s.io/v1beta1.',
    );
  }
}

function checkSwap(settings: KubeletSettings): void {
  if (!settings.failSwapOn) return;
  const lines = readFileSync('/proc/swaps', 'utf8').trim().split('\n');
  if (lines.length <= 1) return;
  throw new CommandError(
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false.',
    `In use: ${lines.slice(1).join('; ')}`,
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
  client: Client,
  environment: ComponentEnvironment,
): Promise<void> {
  const { clock, log } = environment;
  const { server, certificateDirectory, configuration } = settings;
  if (!server.enabled) return running.done;
  const tlsParameters = knownParameters(server.tlsMinVersion, server.tlsCipherSuites);
  const tls = servingCertificate(
    {
      certFile: server.tlsCertFile,
      keyFile: server.tlsPrivateKeyFile,
      folder: certificateDirectory,
      name: 'kubelet',
      dnsNames: [running.nodeName],
      ipAddresses: configuration.nodeIps.length > 0 ? configuration.nodeIps : running.host.addresses(),
    },
    environment,
  );
  const clientAuthorities = server.clientCaFile ? () => readPem('--client-ca-file', server.clientCaFile) : undefined;
  const listening = await startKubeletServer(viewOf(running, { clock, cpuNanoSeconds: linuxCpuNanoSeconds }), {
    listen: { host: server.address, port: server.port },
    ...(server.healthzPort > 0 ? { healthz: { host: server.healthzBindAddress, port: server.healthzPort } } : {}),
    tls,
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
    systemLogDirectory: '/var/log',
  });
  void followServingFiles(tls, (pair) => listening.replaceCertificate(pair), environment);
  try {
    await running.done;
  } finally {
    await listening.close();
  }
}

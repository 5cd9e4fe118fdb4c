/**
 * Who a kubelet of its own process is to the API server and to those who call it: a kubeconfig as it is, or one that it makes itself from
 * `--bootstrap-kubeconfig`; and certificates that it renews, where it was told to.
 */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../../apimachinery/status.ts';
import { sleep } from '../../../base/clock.ts';
import { parseKubeconfig } from '../../../client/kubeconfig.ts';
import { bootstrapClient, isKubeconfigValid } from '../../../kubelet/certificates/bootstrap.ts';
import { pairOf } from '../../../kubelet/certificates/certificate-files.ts';
import type { CertificateRotation } from '../../../kubelet/certificates/certificate-rotation.ts';
import type { KubeletSettings } from '../../../kubelet/options.ts';
import { systemKeys } from '../../../pki/keys.ts';
import { clientRotation } from '../../certificates/kubelet-certificates.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { type Connection, connect, connectionOf, kubeconfigOptions } from '../flags/connection.ts';

const bootstrapRetryMs = 5_000;

export interface KubeletConnection extends Connection {
  /** Absent: the certificate is somebody else's to renew. */
  readonly rotation: CertificateRotation | undefined;
}

/** Resolves once the kubelet has a client certificate, which may take until somebody approves its request. */
export async function connectKubelet(
  settings: KubeletSettings,
  nodeName: string,
  environment: ComponentEnvironment,
): Promise<KubeletConnection> {
  const { kubeconfig, bootstrapKubeconfig } = settings;
  const { clock, random, log, signal } = environment;
  const complain = (problem: string) =>
    log.warn('the kubeconfig is not used; asking for a certificate anew', { kubeconfig, problem });
  if (bootstrapKubeconfig !== '' && !isKubeconfigValid(kubeconfig, clock.now(), complain))
    await bootstrap(settings, nodeName, environment);
  const connection = await connect('kubelet', { kubeconfig }, environment);
  const { cert, key } = connection.options.tls ?? {};
  const rotation = settings.rotateCertificates
    ? clientRotation({
        client: connection.client,
        folder: settings.certificateDirectory,
        nodeName,
        given: cert && key ? pairOf(String(cert), String(key)) : undefined,
        clock,
        random,
        log,
        signal,
        onRotated: (pair) => connection.showCertificate(pair),
      })
    : undefined;
  void rotation?.run();
  return { ...connection, rotation };
}

async function bootstrap(
  { kubeconfig, bootstrapKubeconfig, certificateDirectory }: KubeletSettings,
  nodeName: string,
  { clock, log, signal }: ComponentEnvironment,
): Promise<void> {
  const options = await kubeconfigOptions(bootstrapKubeconfig, { flag: '--bootstrap-kubeconfig', clock });
  const file = parseKubeconfig(readFileSync(bootstrapKubeconfig, 'utf8'), dirname(bootstrapKubeconfig));
  await using connection = connectionOf({ ...options, userAgent: 'kubelet' });
  log.info('asking for a client certificate with the bootstrap credentials', { server: options.server, nodeName });
  for (;;) {
    try {
      return await bootstrapClient({
        nodeName,
        client: connection.client,
        bootstrapKubeconfig: file,
        kubeconfigPath: kubeconfig,
        certificateDirectory,
        keys: systemKeys,
        nowMs: () => clock.now(),
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      log.warn('no client certificate yet; trying again', { error: messageOf(error) });
      await sleep(clock, bootstrapRetryMs, signal);
    }
  }
}

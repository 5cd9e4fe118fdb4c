/**
 * Who a kubelet of its own process is to the API server and to those who call it: a kubeconfig as it is, or one that it makes itself from
 * `--bootstrap-kubeconfig`; and certificates that it renews, where it was told to.
 */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { NodeAddress } from '../../api/gen/core-v1.ts';
import { isIp } from '../../apimachinery/addresses.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { parseKubeconfig } from '../../client/kubeconfig.ts';
import {
  bootstrapClient,
  clientCertificateName,
  isKubeconfigValid,
  nodeTemplate,
} from '../../kubelet/certificates/bootstrap.ts';
import { CertificateFiles, type KeyPair, pairOf } from '../../kubelet/certificates/certificate-files.ts';
import { CertificateRotation, kubeletSigners } from '../../kubelet/certificates/certificate-rotation.ts';
import type { CertificateTemplate } from '../../kubelet/certificates/signing-request.ts';
import type { KubeletSettings } from '../../kubelet/options.ts';
import { systemKeys } from '../../pki/keys.ts';
import { CommandError } from '../command-error.ts';
import type { ComponentEnvironment } from './component.ts';
import { type Connection, connect, connectionOf, kubeconfigOptions } from './connection.ts';

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
  const { clock, log } = environment;
  const complain = (problem: string) =>
    log.warn('the kubeconfig is not used; asking for a certificate anew', { kubeconfig, problem });
  if (bootstrapKubeconfig !== '' && !isKubeconfigValid(kubeconfig, clock.now(), complain))
    await bootstrap(settings, nodeName, environment);
  const connection = await connect('kubelet', { kubeconfig }, environment);
  const rotation = settings.rotateCertificates
    ? clientRotation(connection, settings, nodeName, environment)
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

function clientRotation(
  connection: Connection,
  { certificateDirectory }: KubeletSettings,
  nodeName: string,
  environment: ComponentEnvironment,
): CertificateRotation {
  const files = openFiles(certificateDirectory, clientCertificateName);
  const { tls } = connection.options;
  const isFirst = files.current() === undefined && tls?.cert !== undefined && tls.key !== undefined;
  // A kubeconfig may hold a certificate of somebody else's making: it is good for one thing, to ask for one's own.
  if (isFirst) files.update(pairOf(String(tls.cert), String(tls.key)), environment.clock.now());
  const rotation = new CertificateRotation({
    ...sources(environment),
    client: connection.client,
    files,
    template: nodeTemplate(nodeName),
    signerName: kubeletSigners.client,
    use: 'client auth',
    onRotated: (pair) => connection.showCertificate(pair),
  });
  if (isFirst) rotation.renewNow();
  return rotation;
}

export interface ServingRotationOptions {
  readonly client: Client;
  readonly settings: KubeletSettings;
  readonly nodeName: string;
  /** As the Node's status tells them now. */
  readonly addresses: () => readonly NodeAddress[];
  readonly onRotated: (pair: KeyPair) => void;
}

/** For the kubelet's server; its requests are approved by people, or by whom they appoint. */
export function servingRotation(
  { client, settings, nodeName, addresses, onRotated }: ServingRotationOptions,
  environment: ComponentEnvironment,
): CertificateRotation {
  return new CertificateRotation({
    ...sources(environment),
    client,
    files: openFiles(settings.certificateDirectory, 'kubelet-server'),
    template: () => servingTemplate(nodeName, addresses()),
    signerName: kubeletSigners.serving,
    use: 'server auth',
    onRotated,
  });
}

/** Undefined for a node of which no address is known yet: nobody signs a name that cannot be checked. */
export function servingTemplate(nodeName: string, addresses: readonly NodeAddress[]): CertificateTemplate | undefined {
  const distinct = (isWanted: (address: NodeAddress) => boolean) =>
    [...new Set(addresses.filter(isWanted).map(({ address }) => address))].sort();
  const hasIp = ({ type, address }: NodeAddress) => !type.endsWith('DNS') && isIp(address);
  const hasName = ({ type, address }: NodeAddress) => type.endsWith('DNS') || (type === 'Hostname' && !isIp(address));
  const ipAddresses = distinct(hasIp);
  return ipAddresses.length > 0 ? { ...nodeTemplate(nodeName), dnsNames: distinct(hasName), ipAddresses } : undefined;
}

function sources({ clock, random, log, signal }: ComponentEnvironment) {
  return { clock, random, log, signal, keys: systemKeys };
}

function openFiles(folder: string, name: string): CertificateFiles {
  try {
    const files = new CertificateFiles({ folder, name });
    files.current();
    return files;
  } catch (error) {
    throw new CommandError(
      `the certificate in --cert-dir ${folder} cannot be used: ${messageOf(error)}`,
      'Remove the file; the kubelet asks for another certificate.',
    );
  }
}

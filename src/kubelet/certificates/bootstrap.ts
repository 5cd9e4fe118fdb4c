/**
 * A kubelet's first client certificate: asked for with credentials that may do nothing but ask (a bootstrap token, mostly), and noted in a
 * kubeconfig that points to where the current certificate lies. The key is kept in a file of its own until the answer has come, so that a
 * kubelet that is restarted while it waits takes up the request it made.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Client } from '../../client/client.ts';
import { formatKubeconfig, type Kubeconfig, parseKubeconfig, selectContext } from '../../client/kubeconfig.ts';
import { parseCertificates } from '../../pki/certificate.ts';
import { encodePrivateKey, type KeySource, parsePrivateKey } from '../../pki/keys.ts';
import { CertificateFiles } from './certificate-files.ts';
import { kubeletSigners } from './certificate-rotation.ts';
import { type CertificateTemplate, requestCertificate, requestName } from './signing-request.ts';

const temporaryKey = 'kubelet-client.key.tmp';

/** Of the files below `--cert-dir`. */
export const clientCertificateName = 'kubelet-client';

export function nodeTemplate(nodeName: string): CertificateTemplate {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] };
}

/** Whether the kubeconfig is there, can be read and shows a certificate that has not expired. What is wrong goes to `complain`. */
export function isKubeconfigValid(path: string, nowMs: number, complain: (problem: string) => void): boolean {
  if (!existsSync(path)) return false;
  try {
    const { user } = selectContext(parseKubeconfig(readFileSync(path, 'utf8'), dirname(path)));
    const { 'client-certificate-data': data, 'client-certificate': file } = user;
    const pem = data ? Buffer.from(data, 'base64').toString() : file ? readFileSync(file, 'utf8') : '';
    const certificates = parseCertificates(pem);
    const expired = certificates.find(({ notAfterMs }) => nowMs > notAfterMs);
    if (certificates.length > 0 && !expired) return true;
    complain(
      expired
        ? `part of its client certificate expired at ${new Date(expired.notAfterMs).toISOString()}`
        : 'it shows no client certificate',
    );
  } catch (error) {
    complain((error as Error).message);
  }
  return false;
}

export interface BootstrapOptions {
  readonly nodeName: string;
  /** Of who may ask. */
  readonly client: Client;
  /** That client's kubeconfig, for the cluster it names. */
  readonly bootstrapKubeconfig: Kubeconfig;
  /** Where the kubelet's own is written. */
  readonly kubeconfigPath: string;
  readonly certificateDirectory: string;
  readonly keys: KeySource;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

/** Resolves once the kubeconfig is written; rejects when the request was refused, to be called again. */
export async function bootstrapClient(options: BootstrapOptions): Promise<void> {
  const { nodeName, client, certificateDirectory, keys, signal } = options;
  const template = nodeTemplate(nodeName);
  mkdirSync(certificateDirectory, { recursive: true, mode: 0o755 });
  const keyFile = join(certificateDirectory, temporaryKey);
  const keyPem = existsSync(keyFile) ? readFileSync(keyFile, 'utf8') : encodePrivateKey(keys.generate());
  writeFileSync(keyFile, keyPem, { mode: 0o600 });
  const key = parsePrivateKey(keyPem);
  const use = 'client auth';
  const request = { template, key, use, signerName: kubeletSigners.client } as const;
  const certificatePem = await requestCertificate(client, { ...request, name: requestName(request) }, signal);
  const files = new CertificateFiles({ folder: certificateDirectory, name: clientCertificateName });
  files.update({ certificatePem, keyPem }, options.nowMs());
  rmSync(keyFile, { force: true });
  writeKubeconfig(options, files.currentPath);
}

function writeKubeconfig({ bootstrapKubeconfig, kubeconfigPath }: BootstrapOptions, pairPath: string): void {
  const { cluster } = selectContext(bootstrapKubeconfig);
  const text = formatKubeconfig({
    clusters: { 'default-cluster': cluster },
    users: { 'default-auth': { 'client-certificate': pairPath, 'client-key': pairPath } },
    contexts: { 'default-context': { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' } },
    currentContext: 'default-context',
    other: {},
  });
  mkdirSync(dirname(kubeconfigPath), { recursive: true });
  writeFileSync(`${kubeconfigPath}.new`, text, { mode: 0o600 });
  renameSync(`${kubeconfigPath}.new`, kubeconfigPath);
}

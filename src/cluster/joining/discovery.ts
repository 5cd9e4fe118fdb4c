/**
 * Finds out whether an API server is the one a token is for, before anything secret is told to it: what it says of itself is signed with the
 * token's secret, and, where hashes of its authority's key were given, shows that key. What was read without trust is read again with it.
 */
import { createHash } from 'node:crypto';
import { type ConfigMap, configMaps } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { createHttpTransport, type TlsOptions } from '../../client/http-transport.ts';
import { parseKubeconfig } from '../../client/kubeconfig.ts';
import { createClient } from '../../client/typed-client.ts';
import { signaturePrefix } from '../../controllers/bootstrap-signer/bootstrap-signer-controller.ts';
import { type Certificate, parseCertificates } from '../../pki/certificate.ts';
import { isSignedWith } from '../../pki/detached-signature.ts';
import { publicKeyBytes } from '../../pki/keys.ts';
import { CommandError } from '../command-error.ts';
import { clusterInfo } from '../control-plane/joinable.ts';
import type { JoinToken } from './tokens.ts';

export interface DiscoveryOptions {
  /** `HOST:PORT` or a URL. */
  readonly server: string;
  readonly token: JoinToken;
  /** `sha256:` and 64 hexadecimal digits each; none: whoever knows the token is believed. */
  readonly caHashes: readonly string[];
  readonly clock: Clock;
}

export interface DiscoveredCluster {
  /** URL of the API server. */
  readonly server: string;
  readonly caPem: string;
}

const timeoutMs = 10_000;
const signedWithinMs = 3_000;

export async function discover(options: DiscoveryOptions): Promise<DiscoveredCluster> {
  const { token, caHashes } = options;
  const url = options.server.includes('://') ? options.server : `https://${options.server}`;
  const first = await readSigned(url, options);
  const { server, caPem } = signedCluster(first, token);
  if (caHashes.length > 0 && !parseCertificates(caPem).some((authority) => caHashes.includes(keyHash(authority))))
    throw new CommandError(
      `none of the public keys ${JSON.stringify(parseCertificates(caPem).map(keyHash))} are pinned.`,
      `Another server may be answering at ${url}; make the join command anew on the control plane.`,
    );
  const again = await readInfo(url, { ca: caPem }, options);
  if (again.data?.kubeconfig !== first.data?.kubeconfig)
    throw new CommandError(`the cluster at ${url} changed while it was asked.`, 'Try again.');
  return { server, caPem };
}

/** The hash of an authority's public key, as `--discovery-token-ca-cert-hash` takes it. */
export function keyHash({ publicKey }: Pick<Certificate, 'publicKey'>): string {
  return `sha256:${createHash('sha256').update(publicKeyBytes(publicKey)).digest('hex')}`;
}

/** What a new token has signed takes a moment to appear. */
async function readSigned(url: string, options: DiscoveryOptions): Promise<ConfigMap> {
  const { clock, token } = options;
  const dueMs = clock.monotonic() + signedWithinMs;
  for (;;) {
    const info = await readInfo(url, { insecureSkipVerify: true }, options);
    if (info.data?.[signaturePrefix + token.id] !== undefined || clock.monotonic() > dueMs) return info;
    await sleep(clock, 200);
  }
}

function signedCluster({ data = {} }: ConfigMap, token: JoinToken): DiscoveredCluster {
  const { kubeconfig = '' } = data;
  const signature = data[signaturePrefix + token.id];
  if (!signature)
    throw new CommandError(
      `the cluster does not know the token ${JSON.stringify(token.id)}; it may have expired.`,
      'Make a new one on the control plane: coracle token create.',
    );
  if (!isSignedWith(kubeconfig, { signature, secret: token }))
    throw new CommandError(
      'the server does not know the token´s secret: it is not the cluster that the token is for.',
      'Check the address and the token.',
    );
  const [cluster] = Object.values(parseKubeconfig(kubeconfig).clusters);
  const caPem = Buffer.from(cluster?.['certificate-authority-data'] ?? '', 'base64').toString();
  return { server: cluster?.server ?? '', caPem };
}

async function readInfo(url: string, tls: TlsOptions, { clock }: DiscoveryOptions): Promise<ConfigMap> {
  const transport = createHttpTransport({ server: url, clock, tls, timeoutMs });
  try {
    return await createClient(transport).get(configMaps, clusterInfo);
  } catch (error) {
    throw new CommandError(
      `${url} does not say which cluster it is: ${messageOf(error)}`,
      'Check that the API server listens on an address this machine reaches (coracle up --listen 0.0.0.0:6443).',
    );
  } finally {
    await transport.close();
  }
}

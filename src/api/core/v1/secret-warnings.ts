/** What the server warns of in a Secret: a key pair for TLS that no server could use. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type PemBlock, pemBlocksOf } from '../../certificates/pem-blocks.ts';
import type { Secret } from '../../gen/core-v1.ts';
import type { WarningsOf } from '../../warnings.ts';

export const secretWarnings: WarningsOf<Secret> = ({ type, data }) => {
  if (type !== 'kubernetes.io/tls') return [];
  const problem = keyPairProblem(data?.['tls.crt'] ?? '', data?.['tls.key'] ?? '');
  return problem === undefined ? [] : [problem];
};

function keyPairProblem(certificatePem: string, keyPem: string): string | undefined {
  const blocks = pemBlocksOf(certificatePem);
  const certificateBlock = blocks.find(({ label }) => label === 'CERTIFICATE');
  if (!certificateBlock) return missingCertificate(blocks.map(({ label }) => label));
  const keyBlocks = pemBlocksOf(keyPem);
  const keyBlock = keyBlocks.find(({ label }) => label === 'PRIVATE KEY' || label.endsWith(' PRIVATE KEY'));
  if (!keyBlock) return missingKey(keyBlocks.map(({ label }) => label));
  const certificate = attempt(() => new X509Certificate(certificateBlock.bytes));
  if (!certificate) return 'x509: malformed certificate';
  const key = readKey(keyBlock);
  if (!key) return 'tls: failed to parse private key';
  if (key.asymmetricKeyType !== certificate.publicKey.asymmetricKeyType) {
    return 'tls: private key type does not match public key type';
  }
  return certificate.checkPrivateKey(key) ? undefined : 'tls: private key does not match public key';
}

function missingCertificate(labels: readonly string[]): string {
  if (labels.length === 0) return 'tls: failed to find any PEM data in certificate input';
  if (labels.length === 1 && labels[0]!.endsWith('PRIVATE KEY')) {
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${labels.join(' ')}]`;
}

function missingKey(labels: readonly string[]): string {
  if (labels.length === 0) return 'tls: failed to find any PEM data in key input';
  if (labels.length === 1 && labels[0] === 'CERTIFICATE') {
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${labels.join(' ')}]`;
}

/** Whatever the block is called, its bytes may be of any of the three forms. */
function readKey({ bytes: key }: PemBlock): KeyObject | undefined {
  for (const type of ['pkcs8', 'pkcs1', 'sec1'] as const) {
    const read = attempt(() => createPrivateKey({ key, format: 'der', type }));
    if (read) return read;
  }
  return undefined;
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

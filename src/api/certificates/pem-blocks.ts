/** What validation must know of PEM and of certificate requests: their form, and that a request is signed by its own key. */
import { createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { quote } from '../../apimachinery/go-text.ts';

export interface PemBlock {
  readonly label: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

/** A value of DER: its contents, and all of it with tag and length. */
interface DerValue {
  readonly content: Buffer;
  readonly whole: Buffer;
}

/** Digests of signatures by the algorithm's name in hexadecimal DER; `null` where the key says it. */
const digests: Readonly<Record<string, string | null>> = {
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2b6570': null,
};

/** What is wrong with a certificate request in base64 of PEM; undefined when nothing is. */
export function certificateRequestProblem(base64: string): string | undefined {
  const [block] = pemBlocks(textOf(base64));
  if (block?.label !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  const request = readRequest(block.bytes);
  if (!request) return 'asn1: structure error: not a certificate request';
  const { key, digest, body, signature } = request;
  if (digest === undefined) return 'x509: cannot verify signature: algorithm unimplemented';
  return verify(digest, body, key, signature) ? undefined : 'x509: certificate request signature is invalid';
}

/** What is wrong with a chain of certificates in base64 of PEM; undefined when nothing is. */
export function certificatesProblem(base64: string): string | undefined {
  const blocks = pemBlocks(textOf(base64));
  for (const { label, hasHeaders, bytes } of blocks) {
    if (label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${quote(label)}`;
    if (hasHeaders) return 'no PEM block headers are permitted';
    if (bytes.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    if (!readCertificate(bytes)) return 'x509: malformed certificate';
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

/** What is wrong with the trust anchors of a bundle, in PEM. */
export function trustAnchorProblems(pem: string): string[] {
  const entries = pemBlocks(pem).map(({ label, hasHeaders, bytes }, index) => {
    if (label !== 'CERTIFICATE') return { problem: `entry ${index} has bad block type: ${label}` };
    if (hasHeaders) return { problem: `entry ${index} has PEM block headers` };
    const certificate = readCertificate(bytes);
    if (!certificate) return { problem: `entry ${index} does not parse as X.509` };
    if (!certificate.ca) return { problem: `entry ${index} does not have the CA bit set` };
    return { anchor: bytes.toString('base64') };
  });
  const problems = entries.flatMap(({ problem }) => (problem ? [problem] : []));
  if (problems.length > 0) return problems;
  if (entries.length === 0) return ['at least one trust anchor must be provided'];
  const places = Map.groupBy(entries.keys(), (index) => entries[index]!.anchor);
  return [...places.values()]
    .filter((indices) => indices.length > 1)
    .map((indices) => `duplicate trust anchor (indices [${indices.join(' ')}])`);
}

/** The blocks of a PEM text that is given in base64. */
export function pemBlocksOf(base64: string): PemBlock[] {
  return pemBlocks(textOf(base64));
}

function textOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('latin1');
}

function pemBlocks(text: string): PemBlock[] {
  const pattern = /-----BEGIN ([^\n-]+)-----\r?\n([\s\S]*?)-----END \1-----/g;
  return [...text.matchAll(pattern)].map(([, label = '', body = '']) => ({
    label,
    hasHeaders: body.includes(':'),
    bytes: Buffer.from(body.replace(/^.*:.*$/gm, ''), 'base64'),
  }));
}

function readCertificate(bytes: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes);
  } catch {
    return undefined;
  }
}

function readRequest(bytes: Buffer):
  | {
      readonly key: KeyObject;
      readonly digest: string | null | undefined;
      readonly body: Buffer;
      readonly signature: Buffer;
    }
  | undefined {
  const [request, ...more] = derValues(bytes);
  if (!request || more.length > 0) return undefined;
  const [body, algorithm, signature] = derValues(request.content);
  if (!body || !algorithm || !signature) return undefined;
  const keyInformation = derValues(body.content)[2];
  const algorithmName = derValues(algorithm.content)[0]?.content.toString('hex') ?? '';
  if (!keyInformation) return undefined;
  try {
    const key = createPublicKey({ key: keyInformation.whole, format: 'der', type: 'spki' });
    // The first byte of a bit string counts the bits that its last byte leaves unused.
    return { key, digest: digests[algorithmName], body: body.whole, signature: signature.content.subarray(1) };
  } catch {
    return undefined;
  }
}

/** The values that stand one after another; none when the bytes are not such. */
function derValues(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const first = rest[1] ?? 0;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    const start = 2 + lengthBytes;
    if (lengthBytes > 4 || rest.length < start) return [];
    const length = lengthBytes === 0 ? first : rest.readUIntBE(2, lengthBytes);
    if (rest.length < start + length) return [];
    values.push({ content: rest.subarray(start, start + length), whole: rest.subarray(0, start + length) });
    rest = rest.subarray(start + length);
  }
  return values;
}

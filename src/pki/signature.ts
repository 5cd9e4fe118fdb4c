/** Signatures in X.509: which algorithm a key signs with, its name in DER, and the check of what others signed. */
import { type KeyObject, sign, verify } from 'node:crypto';
import {
  bitString,
  children,
  type DerValue,
  element,
  objectIdentifier,
  readBitString,
  readObjectIdentifier,
  sequence,
  Tag,
} from './der.ts';

interface Algorithm {
  readonly oid: string;
  /** Undefined: the key type fixes the digest. */
  readonly digest: string | undefined;
  readonly keyType: string;
}

const algorithms: readonly Algorithm[] = [
  { oid: '1.2.840.10045.4.3.2', digest: 'sha256', keyType: 'ec' },
  { oid: '1.2.840.10045.4.3.3', digest: 'sha384', keyType: 'ec' },
  { oid: '1.2.840.10045.4.3.4', digest: 'sha512', keyType: 'ec' },
  { oid: '1.2.840.113549.1.1.11', digest: 'sha256', keyType: 'rsa' },
  { oid: '1.2.840.113549.1.1.12', digest: 'sha384', keyType: 'rsa' },
  { oid: '1.2.840.113549.1.1.13', digest: 'sha512', keyType: 'rsa' },
  { oid: '1.3.101.112', digest: undefined, keyType: 'ed25519' },
];

const curveDigests: Readonly<Record<string, string>> = {
  prime256v1: 'sha256',
  secp384r1: 'sha384',
  secp521r1: 'sha512',
};

/** The AlgorithmIdentifier that certificates signed with this key carry. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  return identifier(algorithmOf(key));
}

/** `SEQUENCE { body, algorithm, signature }`: the outer form of certificates and requests. */
export function signed(body: Buffer, key: KeyObject): Buffer {
  const algorithm = algorithmOf(key);
  return sequence(body, identifier(algorithm), bitString(sign(algorithm.digest, body, key)));
}

/** Whether `key` made the signature of a certificate or request, given its three parts. */
export function isSignedBy(key: KeyObject, [body, algorithm, signature]: readonly DerValue[]): boolean {
  const oid = readObjectIdentifier(children(algorithm)[0]);
  const known = algorithms.find((one) => one.oid === oid);
  if (!body || known?.keyType !== key.asymmetricKeyType) return false;
  return verify(known?.digest, body.whole, key, readBitString(signature));
}

function algorithmOf(key: KeyObject): Algorithm {
  const { asymmetricKeyType: keyType, asymmetricKeyDetails: details } = key;
  const digest = keyType === 'ec' ? curveDigests[details?.namedCurve ?? ''] : keyType === 'rsa' ? 'sha256' : undefined;
  const algorithm = algorithms.find((one) => one.keyType === keyType && one.digest === digest);
  if (!algorithm) throw new TypeError(`cannot sign with a key of type ${keyType} ${details?.namedCurve ?? ''}`);
  return algorithm;
}

/** RSA's has a NULL where the others have nothing. */
function identifier({ oid, keyType }: Algorithm): Buffer {
  return keyType === 'rsa' ? sequence(objectIdentifier(oid), element(Tag.null)) : sequence(objectIdentifier(oid));
}

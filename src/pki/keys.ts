/**
 * Private keys. New ones are P-256, made by an injected `KeySource`, so that a simulation can have the same keys each time;
 * what users bring may be EC (P-256, P-384, P-521), RSA or Ed25519, in PKCS8, SEC1 or PKCS1 PEM without a password.
 */
import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import type { Random } from '../base/random.ts';
import { decodePem } from './pem.ts';

export interface KeySource {
  /** A new P-256 private key. */
  generate(): KeyObject;
}

/** Keys from the operating system's randomness; 0.05 ms each. */
export const systemKeys: KeySource = {
  generate: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
};

/** Kinds of keys that Pods can ask for, as the API names them. */
const keyKinds: Readonly<Record<string, () => Promise<KeyObject>>> = {
  RSA3072: () => generated('rsa', { modulusLength: 3072 }),
  RSA4096: () => generated('rsa', { modulusLength: 4096 }),
  ECDSAP256: () => generated('ec', { namedCurve: 'P-256' }),
  ECDSAP384: () => generated('ec', { namedCurve: 'P-384' }),
  ECDSAP521: () => generated('ec', { namedCurve: 'P-521' }),
  ED25519: () => generated('ed25519', {}),
};

/** A new private key of that kind, made beside what else the process does: RSA takes a second. */
export async function generateKeyOf(kind: string): Promise<KeyObject> {
  if (!Object.hasOwn(keyKinds, kind)) throw new TypeError(`unknown key type ${JSON.stringify(kind)}`);
  return keyKinds[kind]!();
}

function generated(type: 'rsa' | 'ec' | 'ed25519', options: object): Promise<KeyObject> {
  return new Promise((resolve, reject) => {
    generateKeyPair(type as 'rsa', options as { modulusLength: number }, (error, _public, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

/** The same keys for the same seed. Only as secret as `random` is. */
export function keysFrom(random: Random): KeySource {
  return {
    generate() {
      const exchange = createECDH('prime256v1');
      // 31 bytes are below the order of the curve, so every scalar but zero is a valid key.
      exchange.setPrivateKey(Buffer.concat([Buffer.from([0]), random.bytes(30), Buffer.from([1])]));
      const point = exchange.getPublicKey();
      const coordinate = (start: number) => point.subarray(start, start + 32).toString('base64url');
      const scalar = Buffer.concat([Buffer.alloc(32), exchange.getPrivateKey()])
        .subarray(-32)
        .toString('base64url');
      const key = { kty: 'EC', crv: 'P-256', d: scalar, x: coordinate(1), y: coordinate(33) };
      return createPrivateKey({ key, format: 'jwk' });
    },
  };
}

export function encodePrivateKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}

export function encodePublicKey(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }) as string;
}

/** The first private key of a PEM text, which may hold certificates too. */
export function parsePrivateKey(pem: string): KeyObject {
  const block = decodePem(pem).find(({ label }) => label.endsWith('PRIVATE KEY'));
  if (!block) throw new TypeError('the PEM text holds no private key');
  if (block.label === 'ENCRYPTED PRIVATE KEY' || pem.includes('Proc-Type: 4,ENCRYPTED')) {
    throw new TypeError('the private key is encrypted; give it without a password');
  }
  const types = { 'EC PRIVATE KEY': 'sec1', 'RSA PRIVATE KEY': 'pkcs1', 'PRIVATE KEY': 'pkcs8' } as const;
  const type = types[block.label as keyof typeof types];
  if (!type) throw new TypeError(`a key of the form ${block.label} is not understood`);
  return createPrivateKey({ key: block.bytes, format: 'der', type });
}

/** All public keys of a PEM text: public ones, those of private ones, and those of certificates. */
export function parsePublicKeys(pem: string): KeyObject[] {
  const labels = /PUBLIC KEY$|PRIVATE KEY$|^CERTIFICATE$/;
  const blocks = pem.match(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g) ?? [];
  const keys = blocks
    .filter((block) => labels.test(block.slice(11, block.indexOf('-----', 11))))
    .map((block) => createPublicKey(block));
  if (keys.length === 0) throw new TypeError('the PEM text holds no key');
  return keys;
}

/** The SubjectPublicKeyInfo, in DER. */
export function publicKeyBytes(key: KeyObject): Buffer {
  return (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' });
}

/** What tokens name the key by: the hash of its SubjectPublicKeyInfo, as upstream derives it. */
export function keyId(key: KeyObject): string {
  return createHash('sha256').update(publicKeyBytes(key)).digest('base64url');
}

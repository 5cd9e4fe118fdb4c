/**
 * How values are made unreadable for whoever gets hold of the disk. Each stored value begins with the name of its provider and of the
 * key, so that values under different keys lie side by side while keys are changed. The key under which a value lies is part of
 * what is proven where the cipher allows it: a value copied to another place is not read.
 *
 *     k8s:enc:aesgcm:v1:key1:<nonce><ciphertext>       k8s:enc:secretbox:v1:key2:<nonce><ciphertext>
 *
 * Formats are upstream's, byte for byte.
 */
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Random } from '../../base/random.ts';

export interface Provider {
  /** What its values begin with; empty for values as they are. */
  readonly prefix: string;
  /** Names the key that values are written with now; empty where they are written as they are. */
  readonly writer: string;
  /** `place` is the store's key. Result without the prefix. */
  encrypt(plain: Uint8Array, place: string): Uint8Array | Promise<Uint8Array>;
  /** Throws when the value is not what was stored here. */
  decrypt(stored: Uint8Array, place: string): Decrypted | Promise<Decrypted>;
}

export interface Decrypted {
  readonly plain: Uint8Array;
  /** What the provider's `writer` was when the value was written. */
  readonly writer: string;
}

export interface NamedKey {
  readonly name: string;
  readonly secret: Uint8Array;
}

/** One cipher under one key. */
interface Cipher {
  encrypt(plain: Uint8Array, place: string): Uint8Array;
  decrypt(stored: Uint8Array, place: string): Uint8Array;
}

export type CipherName = 'aesgcm' | 'aescbc' | 'secretbox';

const ciphers: Readonly<Record<CipherName, (secret: Uint8Array, random: Random) => Cipher>> = {
  aesgcm: gcmCipher,
  aescbc: cbcCipher,
  secretbox: secretboxCipher,
};

const tooShort = 'the stored data was shorter than the required size';

/** Writes with the first key, reads with any. */
export function keyedProvider(name: CipherName, keys: readonly NamedKey[], random: Random): Provider {
  const title = name === 'secretbox' ? 'Secretbox' : 'AES';
  const all = keys.map((key) => ({
    prefix: Buffer.from(`${key.name}:`),
    // Another secret under the same name is another key.
    writer: `${name}:${key.name}:${createHash('sha256').update(key.secret).digest('hex').slice(0, 16)}`,
    cipher: ciphers[name](key.secret, random),
  }));
  const [first] = all;
  if (!first) throw new TypeError('a provider needs a key');
  return {
    prefix: `k8s:enc:${name}:v1:`,
    writer: first.writer,
    encrypt: (plain, place) => Buffer.concat([first.prefix, first.cipher.encrypt(plain, place)]),
    decrypt(stored, place) {
      let failure: unknown;
      for (const { prefix, cipher, writer } of all) {
        if (!startsWith(stored, prefix)) continue;
        try {
          return { plain: cipher.decrypt(stored.subarray(prefix.length), place), writer };
        } catch (error) {
          // Two keys may share a name while one takes the other's place.
          failure = error;
        }
      }
      throw failure ?? new Error(`no matching key was found for the provided ${title} transformer`);
    },
  };
}

/** Values as they are. One that is encrypted is not read as if it were not. */
export const identityProvider: Provider = {
  prefix: '',
  writer: '',
  encrypt: (plain) => plain,
  decrypt(stored) {
    if (startsWith(stored, encryptedPrefix)) throw new Error('identity transformer tried to read encrypted data');
    return { plain: stored, writer: '' };
  },
};

const encryptedPrefix = Buffer.from('k8s:enc:');

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return bytes.length >= prefix.length && Buffer.compare(bytes.subarray(0, prefix.length), prefix) === 0;
}

const gcmNonceBytes = 12;
const gcmTagBytes = 16;

/** AES in Galois/Counter Mode (NIST SP 800-38D) with a random nonce. */
export function gcmCipher(secret: Uint8Array, random: Random): Cipher {
  const algorithm = `aes-${(secret.length * 8) as 128 | 192 | 256}-gcm` as const;
  return {
    encrypt(plain, place) {
      const nonce = random.bytes(gcmNonceBytes);
      const cipher = createCipheriv(algorithm, secret, nonce).setAAD(Buffer.from(place));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(stored, place) {
      if (stored.length < gcmNonceBytes + gcmTagBytes) throw new Error(tooShort);
      const decipher = createDecipheriv(algorithm, secret, stored.subarray(0, gcmNonceBytes));
      decipher.setAAD(Buffer.from(place)).setAuthTag(stored.subarray(stored.length - gcmTagBytes));
      const body = stored.subarray(gcmNonceBytes, stored.length - gcmTagBytes);
      try {
        return Buffer.concat([decipher.update(body), decipher.final()]);
      } catch (error) {
        throw new Error('cipher: message authentication failed', { cause: error });
      }
    },
  };
}

const blockBytes = 16;

/** AES in Cipher Block Chaining with PKCS #7 padding: proves nothing about the place, and is kept for old configurations. */
function cbcCipher(secret: Uint8Array, random: Random): Cipher {
  const algorithm = `aes-${secret.length * 8}-cbc`;
  return {
    encrypt(plain) {
      const iv = random.bytes(blockBytes);
      const cipher = createCipheriv(algorithm, secret, iv);
      return Buffer.concat([iv, cipher.update(plain), cipher.final()]);
    },
    decrypt(stored) {
      if (stored.length < blockBytes) throw new Error(tooShort);
      if (stored.length % blockBytes !== 0) throw new Error('the stored data is not a multiple of the block size');
      const decipher = createDecipheriv(algorithm, secret, stored.subarray(0, blockBytes));
      try {
        return Buffer.concat([decipher.update(stored.subarray(blockBytes)), decipher.final()]);
      } catch (error) {
        throw new Error('invalid padding on input', { cause: error });
      }
    },
  };
}

const secretboxNonceBytes = 24;

/** XSalsa20 and Poly1305, as NaCl's secretbox. */
function secretboxCipher(secret: Uint8Array, random: Random): Cipher {
  return {
    encrypt(plain) {
      const nonce = random.bytes(secretboxNonceBytes);
      return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(plain)]);
    },
    decrypt(stored) {
      if (stored.length < secretboxNonceBytes + gcmTagBytes) throw new Error(tooShort);
      const nonce = stored.subarray(0, secretboxNonceBytes);
      try {
        return xsalsa20poly1305(secret, nonce).decrypt(stored.subarray(secretboxNonceBytes));
      } catch (error) {
        throw new Error('failed to decrypt', { cause: error });
      }
    },
  };
}

/**
 * Encryption by keys that a service keeps (KMS v2). Each value has a key of its own, derived from a seed (RFC 5869, expansion alone, SHA-256);
 * the seed lies beside the value, encrypted by the service. The service is asked when a seed is made and when an unknown one is read, never
 * for a value. When it names another key, a new seed is made; while it cannot be asked, writing goes on for three minutes and
 * reading of known seeds for ever.
 */
import { createHash, createHmac } from 'node:crypto';
import { path } from '../../apimachinery/field-error.ts';
import { dns1123Subdomain } from '../../apimachinery/names.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { type EncryptedObject, encryptedObject } from './kms-messages.ts';
import type { KmsService } from './kms-service.ts';
import { type Decrypted, gcmCipher, type Provider } from './provider.ts';

export interface KmsProviderOptions {
  readonly name: string;
  readonly service: KmsService;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The seed in use. */
interface Seed {
  readonly seed: Uint8Array;
  /** All but the data. */
  readonly object: EncryptedObject;
  readonly expiresAtMs: number;
}

const sourceIsKey = 0;
const sourceIsSeed = 1;
const seedBytes = 32;
const infoBytes = 32;
const healthyIntervalMs = 60_000;
const unhealthyIntervalMs = 10_000;
const seedLifetimeMs = 3 * 60_000;
const longestKeyIdBytes = 1024;
const longestSourceBytes = 1024;
const longestAnnotationsBytes = 32 * 1024;
const versions: readonly string[] = ['v2', 'v2beta1'];

export class KmsProvider implements Provider {
  readonly prefix: string;
  readonly #options: KmsProviderOptions;
  /** Seeds that have been decrypted, by what they are encrypted as. */
  readonly #known = new Map<string, Promise<Uint8Array> | Uint8Array>();
  #current: Seed | undefined;
  #version = '';
  #problem: Error | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: KmsProviderOptions) {
    this.#options = options;
    this.prefix = `k8s:enc:kms:v2:${options.name}:`;
  }

  /** Asks the service for its state now, and from then on every minute. A service that is not there is asked again. */
  async start(): Promise<void> {
    await this.#probe();
  }

  /** Why the service cannot be used, as health checks tell it. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  get writer(): string {
    return this.#current ? this.#writerOf(this.#current.object) : this.prefix;
  }

  #writerOf({ encryptedDekSourceType, keyId }: EncryptedObject): string {
    return `${this.prefix}${encryptedDekSourceType}:${keyId}`;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#options.service.close();
  }

  encrypt(plain: Uint8Array, place: string): Uint8Array {
    const { seed, object } = this.#writable();
    const info = this.#options.random.bytes(infoBytes);
    const data = gcmCipher(derivedKey(seed, info), this.#options.random).encrypt(plain, place);
    return encryptedObject.encode({ ...object, encryptedData: Buffer.concat([info, data]) });
  }

  decrypt(stored: Uint8Array, place: string): Decrypted | Promise<Decrypted> {
    const object = encryptedObject.decode(stored);
    validateObject(object);
    if (!this.#current) throw this.#problem ?? new Error('got unexpected nil transformer');
    const writer = this.#writerOf(object);
    const read = (source: Uint8Array): Decrypted => ({ plain: this.#opened(object, source, place), writer });
    const source = this.#sourceOf(object);
    return source instanceof Promise ? source.then(read) : read(source);
  }

  #opened({ encryptedData, encryptedDekSourceType }: EncryptedObject, source: Uint8Array, place: string): Uint8Array {
    const { random } = this.#options;
    if (encryptedDekSourceType === sourceIsKey) return gcmCipher(source, random).decrypt(encryptedData, place);
    const info = encryptedData.subarray(0, infoBytes);
    return gcmCipher(derivedKey(source, info), random).decrypt(encryptedData.subarray(infoBytes), place);
  }

  #writable(): Seed {
    const { clock } = this.#options;
    if (!this.#current) throw this.#problem ?? new Error('got unexpected nil transformer');
    const { expiresAtMs, object } = this.#current;
    if (clock.now() > expiresAtMs) {
      const [until, now] = [formatTime(expiresAtMs), formatTime(clock.now())];
      throw new Error(
        `encryptedDEKSource with keyID hash ${JSON.stringify(hashOf(object.keyId))} expired at ${until} (current time is ${now})`,
      );
    }
    return this.#current;
  }

  #sourceOf(object: EncryptedObject): Uint8Array | Promise<Uint8Array> {
    const name = nameOf(object);
    const known = this.#known.get(name);
    if (known) return known;
    const { service, random } = this.#options;
    const { encryptedDekSource: ciphertext, keyId, annotations } = object;
    const asked = service.decrypt({ ciphertext, uid: random.uuid(), keyId, annotations }).then(
      ({ plaintext }) => {
        this.#known.set(name, plaintext);
        return plaintext;
      },
      (error: unknown) => {
        this.#known.delete(name);
        throw new Error(`failed to decrypt DEK, error: ${messageOf(error)}`, { cause: error });
      },
    );
    this.#known.set(name, asked);
    return asked;
  }

  async #probe(): Promise<void> {
    const { clock, log, name } = this.#options;
    try {
      await this.#refresh();
      this.#problem = undefined;
    } catch (error) {
      this.#problem = new Error(`kmsv2 Provider ${name} is not healthy, error: ${messageOf(error)}`, { cause: error });
      log.error('a key management service is not healthy', { name, error: messageOf(error) });
    }
    if (this.#closed) return;
    const intervalMs = this.#problem ? unhealthyIntervalMs : healthyIntervalMs;
    this.#timer = clock.after(intervalMs, () => void this.#probe());
  }

  async #refresh(): Promise<void> {
    const { service, clock } = this.#options;
    const { healthz, version, keyId } = await service.status();
    if (healthz !== 'ok') throw new Error(`got unexpected healthz status: ${healthz}`);
    if (!versions.includes(version)) throw new Error(`expected KMSv2 API version v2, got ${version}`);
    this.#version ||= version;
    if (this.#version !== version) {
      const change = `the initial status response version ${this.#version}, got ${version}`;
      throw new Error(`KMSv2 API version should not change after ${change}`);
    }
    validateKeyId(keyId);
    // Counted from before the call, so that the three minutes are an upper bound.
    const expiresAtMs = clock.now() + seedLifetimeMs;
    if (this.#current?.object.keyId === keyId) this.#current = { ...this.#current, expiresAtMs };
    else this.#current = { ...(await this.#newSeed(keyId)), expiresAtMs };
  }

  async #newSeed(wantedKeyId: string): Promise<Omit<Seed, 'expiresAtMs'>> {
    const { service, random } = this.#options;
    const seed = random.bytes(seedBytes);
    const { ciphertext, keyId, annotations } = await service.encrypt({ plaintext: seed, uid: random.uuid() });
    const object: EncryptedObject = {
      encryptedData: new Uint8Array(),
      keyId,
      encryptedDekSource: ciphertext,
      annotations,
      encryptedDekSourceType: sourceIsSeed,
    };
    validateObject({ ...object, encryptedData: Uint8Array.of(0) });
    if (keyId !== wantedKeyId) {
      const hashes = `statusKeyIDHash=${JSON.stringify(hashOf(wantedKeyId))}, encryptKeyIDHash=${JSON.stringify(hashOf(keyId))}`;
      throw new Error(`failed to rotate DEK: ${hashes}`);
    }
    this.#known.set(nameOf(object), seed);
    return { seed, object };
  }
}

/** HKDF-Expand to 32 bytes is one block. */
function derivedKey(seed: Uint8Array, info: Uint8Array): Buffer {
  return createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest();
}

/** Throws for what upstream would not take either. */
function validateObject(object: EncryptedObject): void {
  const { encryptedDekSourceType: type, encryptedData, encryptedDekSource: source, annotations } = object;
  if (type !== sourceIsKey && type !== sourceIsSeed) throw new Error(`unknown encryptedDEKSourceType: ${type}`);
  if (encryptedData.length === 0) throw new Error('encrypted data is empty');
  if (source.length === 0) throw new Error('failed to validate encrypted DEK source: encrypted DEK source is empty');
  if (source.length > longestSourceBytes) {
    const size = `encrypted DEK source is ${source.length} bytes, which exceeds the max size of ${longestSourceBytes}`;
    throw new Error(`failed to validate encrypted DEK source: ${size}`);
  }
  validateKeyId(object.keyId);
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    const [problem] = key.includes('.')
      ? dns1123Subdomain(key)
      : ['should be a domain with at least two segments separated by dots'];
    if (problem)
      throw new Error(
        `failed to validate annotations: ${path('annotations')}: Invalid value: ${JSON.stringify(key)}: ${problem}`,
      );
    size += Buffer.byteLength(key) + value.length;
  }
  if (size > longestAnnotationsBytes) {
    const excess = `total size of annotations is ${size}, which exceeds the max size of ${longestAnnotationsBytes}`;
    throw new Error(`failed to validate annotations: ${excess}`);
  }
}

function validateKeyId(keyId: string): void {
  if (keyId === '') throw new Error('failed to validate key id: keyID is empty');
  const size = Buffer.byteLength(keyId);
  if (size > longestKeyIdBytes)
    throw new Error(
      `failed to validate key id: keyID is ${size} bytes, which exceeds the max size of ${longestKeyIdBytes}`,
    );
}

function nameOf({ encryptedDekSourceType, encryptedDekSource, keyId, annotations }: EncryptedObject): string {
  const told = Object.entries(annotations)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return JSON.stringify([encryptedDekSourceType, Buffer.from(encryptedDekSource).toString('base64'), keyId, told]);
}

function hashOf(keyId: string): string {
  return keyId === '' ? '' : `sha256:${createHash('sha256').update(keyId).digest('hex')}`;
}

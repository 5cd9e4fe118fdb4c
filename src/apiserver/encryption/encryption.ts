/**
 * Which resource is encrypted by what: the rules of an `EncryptionConfiguration`, and the providers in force, which can be replaced while
 * the server runs. A resource writes with its first provider and reads with whichever wrote the value.
 */
import { type Decrypted, identityProvider, type Provider, startsWith } from './provider.ts';

/** `secrets`, `deployments.apps`, `*.apps`, `*.` (the core group), `*.*`; the first that fits counts. */
export interface EncryptionRule {
  readonly resource: string;
  readonly providers: readonly Provider[];
}

export class Encryption {
  #rules: ReadonlyMap<string, readonly Provider[]>;

  constructor(rules: readonly EncryptionRule[]) {
    this.#rules = indexed(rules);
  }

  /** Puts other rules in force; what is written from now on is written by them. */
  replace(rules: readonly EncryptionRule[]): void {
    this.#rules = indexed(rules);
  }

  /** `resource` as in `secrets` and `deployments.apps`. */
  of(resource: string): ResourceEncryption {
    return new ResourceEncryption(() => this.#providersOf(resource));
  }

  #providersOf(resource: string): readonly Provider[] {
    const dot = resource.indexOf('.');
    const group = dot < 0 ? '' : resource.slice(dot + 1);
    const rules = this.#rules;
    return rules.get(resource) ?? rules.get(`*.${group}`) ?? rules.get('*.*') ?? [identityProvider];
  }
}

/** A resource may be named by several rules: the providers of later ones still read. */
function indexed(rules: readonly EncryptionRule[]): ReadonlyMap<string, readonly Provider[]> {
  const index = new Map<string, readonly Provider[]>();
  for (const { resource, providers } of rules) index.set(resource, [...(index.get(resource) ?? []), ...providers]);
  return index;
}

export class ResourceEncryption {
  readonly #providers: () => readonly Provider[];

  constructor(providers: () => readonly Provider[]) {
    this.#providers = providers;
  }

  /** Names the key that values are written with now; empty where they are written as they are. */
  get writer(): string {
    return this.#providers()[0]?.writer ?? '';
  }

  encrypt(plain: Uint8Array, place: string): Uint8Array | Promise<Uint8Array> {
    const [provider = identityProvider] = this.#providers();
    if (provider.prefix === '') return plain;
    const prefixed = (bytes: Uint8Array) => Buffer.concat([Buffer.from(provider.prefix), bytes]);
    const encrypted = provider.encrypt(plain, place);
    return encrypted instanceof Promise ? encrypted.then(prefixed) : prefixed(encrypted);
  }

  /** Throws, or rejects, when no provider can read the value. */
  decrypt(stored: Uint8Array, place: string): Decrypted | Promise<Decrypted> {
    return this.#decryptFrom(0, stored, place, []);
  }

  #decryptFrom(
    start: number,
    stored: Uint8Array,
    place: string,
    failures: readonly unknown[],
  ): Decrypted | Promise<Decrypted> {
    const providers = this.#providers();
    for (let i = start; i < providers.length; i++) {
      const provider = providers[i]!;
      if (!startsWith(stored, Buffer.from(provider.prefix))) continue;
      // Several providers may share a prefix, so a failure is not the end.
      const failed = (error: unknown) => this.#decryptFrom(i + 1, stored, place, [...failures, error]);
      try {
        const result = provider.decrypt(stored.subarray(provider.prefix.length), place);
        return result instanceof Promise ? result.catch(failed) : result;
      } catch (error) {
        return failed(error);
      }
    }
    throw failures[0] ?? new Error('no matching prefix found');
  }
}

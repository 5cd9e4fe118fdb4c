/**
 * Service account tokens signed by another process of this machine (`--service-account-signing-endpoint`), which keeps the keys. It is given
 * the claims of each token and answers with header and signature, which are not believed blindly; tokens are verified here, by the keys
 * that it publishes.
 */

import type { Clock } from '../../base/clock.ts';
import { type CalledMethod, connectGrpc, type GrpcConnection } from '../../base/grpc/index.ts';
import type { Log } from '../../base/log.ts';
import type { Decoded } from '../../base/protobuf/message-codec.ts';
import { toJsonWebKey } from '../../pki/token-keys.ts';
import { encodedPart, type TokenClaims, type TokenSigner, verifyToken } from '../../pki/token-signer.ts';
import { signerMethods, type signResponse } from './signer-messages.ts';
import { SignerStatistics } from './signer-statistics.ts';
import { ExternalKeys, within } from './verification-keys.ts';

export interface ExternalSignerOptions {
  /** The path of its socket; `@name` for one without a file. */
  readonly endpoint: string;
  /** The first one signs, all are accepted. */
  readonly issuers: readonly [string, ...string[]];
  readonly clock: Clock;
  readonly log: Log;
}

/** Of calls that fetch keys, and of those that sign. */
const callTimeoutMs = 60_000;
const metadataTimeoutMs = 10_000;
const longestKeyId = 1024;
const algorithms: ReadonlySet<unknown> = new Set(['RS256', 'ES256', 'ES384', 'ES512']);

export class ExternalTokenSigner implements TokenSigner {
  readonly issuer: string;
  readonly #options: ExternalSignerOptions;
  readonly #connection: GrpcConnection;
  readonly #statistics = new SignerStatistics();
  readonly #keys: ExternalKeys;

  private constructor(options: ExternalSignerOptions, connection: GrpcConnection) {
    const { clock, issuers, log } = options;
    this.issuer = issuers[0];
    this.#options = options;
    this.#connection = connection;
    const fetch = () => this.#call(signerMethods.fetchKeys, {}, callTimeoutMs);
    this.#keys = new ExternalKeys({ fetch, clock, log, statistics: this.#statistics });
  }

  /** Waits for the signer up to a minute; rejects if it has no keys to offer by then. To be closed. */
  static async connect(options: ExternalSignerOptions): Promise<ExternalTokenSigner> {
    const { clock, endpoint } = options;
    const target = `unix:${endpoint.startsWith('@') ? `\0${endpoint.slice(1)}` : endpoint}`;
    const signer = new ExternalTokenSigner(options, await connectGrpc({ clock, target }));
    try {
      await signer.#keys.start();
    } catch (error) {
      signer.close();
      throw within('while initially filling key cache', error);
    }
    return signer;
  }

  /** The longest that its tokens may live. */
  async maxExpirationSeconds(): Promise<number> {
    return (await this.#call(signerMethods.metadata, {}, metadataTimeoutMs)).maxTokenExpirationSeconds;
  }

  async sign(claims: Omit<TokenClaims, 'iss'>): Promise<string> {
    try {
      const token = await this.#sign(encodedPart({ ...claims, iss: this.issuer }));
      this.#statistics.signed();
      return token;
    } catch (error) {
      this.#statistics.signed(error);
      throw error;
    }
  }

  verify(token: string): Promise<TokenClaims> {
    const { clock, issuers } = this.#options;
    return verifyToken(token, { clock, issuers, keysNamed: (id) => this.#keys.named(id) });
  }

  jwks(): ReturnType<TokenSigner['jwks']> {
    const shown = this.#keys.all.filter(({ isHidden }) => !isHidden);
    return { keys: shown.map(({ id, key, algorithm: { name } }) => toJsonWebKey(key, name, id)) };
  }

  keySetMaxAgeSeconds(): number {
    return this.#keys.maxAgeSeconds;
  }

  metrics(): string {
    return this.#statistics.families();
  }

  close(): void {
    this.#keys.close();
    this.#connection.close();
  }

  async #sign(payload: string): Promise<string> {
    const signed = await this.#call(signerMethods.sign, { claims: payload }, callTimeoutMs).catch((error: unknown) => {
      throw within('while signing jwt', error);
    });
    try {
      await this.#checkHeader(signed);
    } catch (error) {
      throw within('while validating header', error);
    }
    if (signed.signature === '') throw new Error('empty signature returned');
    return `${signed.header}.${payload}.${signed.signature}`;
  }

  async #checkHeader({ header }: Decoded<typeof signResponse>): Promise<void> {
    const { alg, kid, typ } = readHeader(header);
    if (typ !== 'JWT') throw new Error('bad type');
    if (kid === '') throw new Error('key id missing');
    if (Buffer.byteLength(kid) > longestKeyId) throw new Error('key id longer than 1 kb');
    if (!algorithms.has(alg)) throw new Error(`bad signing algorithm ${JSON.stringify(alg)}`);
    if ((await this.#keys.named(kid)).some(({ isHidden }) => isHidden)) {
      throw new Error(`key used for signing JWT (kid: ${kid}) is excluded from OIDC discovery docs`);
    }
  }

  async #call<Q, A>(method: CalledMethod<Q, A>, request: Q, timeoutMs: number): Promise<A> {
    const { clock } = this.#options;
    const startMs = clock.monotonic();
    const { path } = method;
    try {
      const answer = await this.#connection.unary(method, request, { timeoutMs, waitForReady: true });
      this.#statistics.asked(path, clock.monotonic() - startMs);
      return answer;
    } catch (error) {
      this.#statistics.asked(path, clock.monotonic() - startMs, error);
      throw error;
    }
  }
}

type HeaderField = 'alg' | 'kid' | 'typ';
const headerFields: ReadonlySet<string> = new Set<HeaderField>(['alg', 'kid', 'typ']);

function readHeader(header: string): Readonly<Record<HeaderField, string>> {
  const stray = header.search(/[^\w-]/);
  if (stray >= 0) throw new Error(`while unwrapping header: illegal base64 data at input byte ${stray}`);
  const refused = (why: string) => new Error(`while parsing header JSON: ${why}`);
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(header, 'base64url').toString());
  } catch (error) {
    throw within('while parsing header JSON', error);
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) throw refused('not an object');
  for (const [name, value] of Object.entries(read)) {
    if (!headerFields.has(name)) throw refused(`json: unknown field ${JSON.stringify(name)}`);
    if (typeof value !== 'string')
      throw refused(`json: cannot unmarshal ${typeof value} into Go struct field .${name} of type string`);
  }
  return { alg: '', kid: '', typ: '', ...read };
}

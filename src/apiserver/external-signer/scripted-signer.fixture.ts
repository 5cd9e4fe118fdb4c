/** A signer of tokens behind a real socket, which does what a test tells it. */
import { type KeyObject, sign } from 'node:crypto';
import { GrpcError, type GrpcServer, grpcCodes, grpcServer } from '../../base/grpc/index.ts';
import type { Sent } from '../../base/protobuf/message-codec.ts';
import { keyId, publicKeyBytes, systemKeys } from '../../pki/keys.ts';
import { type fetchKeysResponse, signerMethods, type signResponse } from './signer-messages.ts';

export interface ScriptedKey {
  readonly id: string;
  readonly key: KeyObject;
  readonly hidden: boolean;
}

export function scriptedKey({ hidden = false, key = systemKeys.generate() } = {}): ScriptedKey {
  return { id: keyId(key), key, hidden };
}

type FetchKeysAnswer = Sent<typeof fetchKeysResponse>;

export class ScriptedSigner {
  /** The first one signs. */
  keys: readonly ScriptedKey[] = [scriptedKey()];
  maxTokenExpirationSeconds = 86_400;
  refreshHintSeconds = 300;
  /** Seconds since 1970. */
  dataAt = 1_700_000_000;
  /** Every call fails with this. */
  failure: string | undefined;
  /** What its tokens say of themselves beside algorithm and key. */
  header: object = { typ: 'JWT' };
  /** In place of the answer with the keys. */
  answer: FetchKeysAnswer | undefined;
  fetches = 0;
  readonly #server: GrpcServer;

  private constructor(server: GrpcServer) {
    this.#server = server;
    const { sign, fetchKeys, metadata } = signerMethods;
    server.unary(sign, async ({ claims }) => this.#willing(() => this.#sign(claims)));
    server.unary(fetchKeys, async () => this.#willing(() => this.#keys()));
    server.unary(metadata, async () =>
      this.#willing(() => ({ maxTokenExpirationSeconds: this.maxTokenExpirationSeconds })),
    );
  }

  /** `socket`: a path, or `@name`. */
  static async listen(socket: string): Promise<ScriptedSigner> {
    const signer = new ScriptedSigner(await grpcServer());
    await signer.#server.listen(`unix:${socket.startsWith('@') ? `\0${socket.slice(1)}` : socket}`);
    return signer;
  }

  close(): void {
    this.#server.close();
  }

  #willing<A>(answer: () => A): A {
    if (this.failure !== undefined) throw new GrpcError(grpcCodes.unavailable, this.failure);
    return answer();
  }

  #sign(claims: string): Sent<typeof signResponse> {
    const { id, key } = this.keys[0]!;
    const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: id, ...this.header })).toString('base64url');
    const signature = sign('sha256', Buffer.from(`${header}.${claims}`), { key, dsaEncoding: 'ieee-p1363' });
    return { header, signature: signature.toString('base64url') };
  }

  #keys(): FetchKeysAnswer {
    this.fetches++;
    return (
      this.answer ?? {
        keys: this.keys.map(({ id, key, hidden }) => ({
          keyId: id,
          key: publicKeyBytes(key),
          excludeFromOidcDiscovery: hidden,
        })),
        dataTimestamp: { seconds: this.dataAt },
        refreshHintSeconds: this.refreshHintSeconds,
      }
    );
  }
}

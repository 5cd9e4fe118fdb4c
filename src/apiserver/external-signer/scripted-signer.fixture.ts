/** A signer of tokens behind a real socket, which does what a test tells it. */
import { type KeyObject, sign } from 'node:crypto';
import * as grpc from '@grpc/grpc-js';
import type { UnaryMethod } from '../../base/unary-service.ts';
import type { Draft, Message, Table } from '../../base/wire-message.ts';
import { keyId, publicKeyBytes, systemKeys } from '../../pki/keys.ts';
import { signerMethods, signerService } from './signer-messages.ts';

export interface ScriptedKey {
  readonly id: string;
  readonly key: KeyObject;
  readonly hidden: boolean;
}

export function scriptedKey({ hidden = false, key = systemKeys.generate() } = {}): ScriptedKey {
  return { id: keyId(key), key, hidden };
}

type FetchKeysAnswer = Parameters<typeof signerMethods.fetchKeys.answer.encode>[0];

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
  readonly #server = new grpc.Server();

  /** `socket`: a path, or `@name`. */
  static async listen(socket: string): Promise<ScriptedSigner> {
    const signer = new ScriptedSigner();
    const { sign, fetchKeys, metadata } = signerMethods;
    signer.#server.addService(
      { Sign: definition(sign), FetchKeys: definition(fetchKeys), Metadata: definition(metadata) },
      {
        Sign: signer.#answering(({ claims }: { claims: string }) => signer.#sign(claims)),
        FetchKeys: signer.#answering(() => signer.#keys()),
        Metadata: signer.#answering(() => ({ maxTokenExpirationSeconds: signer.maxTokenExpirationSeconds })),
      },
    );
    const address = `unix:${socket.startsWith('@') ? `\0${socket.slice(1)}` : socket}`;
    await new Promise<void>((resolve, reject) =>
      signer.#server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
    return signer;
  }

  close(): void {
    this.#server.forceShutdown();
  }

  #answering<Q, R>(make: (request: Q) => R): grpc.handleUnaryCall<Q, R> {
    return ({ request }, callback) => {
      if (this.failure === undefined) callback(null, make(request));
      else callback({ code: grpc.status.UNAVAILABLE, details: this.failure });
    };
  }

  #sign(claims: string): Draft<{ header: [1, 'string']; signature: [2, 'string'] }> {
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

function definition<Q extends Table, R extends Table>({
  name,
  question,
  answer,
}: UnaryMethod<Q, R>): grpc.MethodDefinition<Message<Q>, Message<R>> {
  return {
    path: `/${signerService}/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message) => question.encode(message as Draft<Q>),
    requestDeserialize: question.decode,
    responseSerialize: (message) => answer.encode(message as Draft<R>),
    responseDeserialize: answer.decode,
  };
}

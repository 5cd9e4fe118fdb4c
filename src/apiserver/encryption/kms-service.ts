/** A key management service behind a unix socket: gRPC, with a limit for each call. */
import type { Client as GrpcClient, Metadata } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import type { Decoded, Draft, Message, MessageCodec, Sent, Table } from '../../base/wire-message.ts';
import {
  decryptRequest,
  decryptResponse,
  encryptRequest,
  encryptResponse,
  statusRequest,
  statusResponse,
} from './kms-messages.ts';

export interface KmsService {
  status(): Promise<Decoded<typeof statusResponse>>;
  encrypt(request: Sent<typeof encryptRequest>): Promise<Decoded<typeof encryptResponse>>;
  decrypt(request: Sent<typeof decryptRequest>): Promise<Decoded<typeof decryptResponse>>;
  close(): void;
}

export interface KmsServiceOptions {
  /** `unix:///var/run/kms.sock`. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export async function connectKms(options: KmsServiceOptions): Promise<KmsService> {
  const grpc = await import('@grpc/grpc-js');
  const client = new grpc.Client(options.endpoint, grpc.credentials.createInsecure(), {
    'grpc.default_authority': 'localhost',
  });
  const call = methodsOf(client, new grpc.Metadata(), options);
  return {
    status: () => call('Status', statusRequest, statusResponse, {}),
    encrypt: (request) => call('Encrypt', encryptRequest, encryptResponse, request),
    decrypt: (request) => call('Decrypt', decryptRequest, decryptResponse, request),
    close: () => client.close(),
  };
}

function methodsOf(client: GrpcClient, metadata: Metadata, options: KmsServiceOptions) {
  return <Q extends Table, R extends Table>(
    method: string,
    question: MessageCodec<Q>,
    answer: MessageCodec<R>,
    request: Draft<Q>,
  ): Promise<Message<R>> =>
    new Promise((resolve, reject) => {
      let late = false;
      const underWay = client.makeUnaryRequest(
        `/v2.KeyManagementService/${method}`,
        question.encode,
        answer.decode,
        request,
        metadata,
        (error, response) => {
          timer.cancel();
          if (!error) resolve(response as Message<R>);
          else reject(late ? new Error('context deadline exceeded') : new Error(error.details, { cause: error }));
        },
      );
      const timer = options.clock.after(options.timeoutMs, () => {
        late = true;
        underWay.cancel();
      });
    });
}

/** A key management service behind a unix socket: gRPC, with a limit for each call. */
import type { Clock } from '../../base/clock.ts';
import { connectUnaryService, UnaryCallError, type UnaryMethod } from '../../base/unary-service.ts';
import type { Decoded, Draft, Message, Sent, Table } from '../../base/wire-message.ts';
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

const statusMethod = { name: 'Status', question: statusRequest, answer: statusResponse };
const encryptMethod = { name: 'Encrypt', question: encryptRequest, answer: encryptResponse };
const decryptMethod = { name: 'Decrypt', question: decryptRequest, answer: decryptResponse };

export async function connectKms({ endpoint, timeoutMs, clock }: KmsServiceOptions): Promise<KmsService> {
  const service = await connectUnaryService({ target: endpoint, service: 'v2.KeyManagementService', clock });
  const call = async <Q extends Table, R extends Table>(
    method: UnaryMethod<Q, R>,
    request: Draft<Q>,
  ): Promise<Message<R>> => {
    try {
      return await service.call(method, request, timeoutMs);
    } catch (error) {
      throw error instanceof UnaryCallError ? new Error(error.details, { cause: error }) : error;
    }
  };
  return {
    status: () => call(statusMethod, {}),
    encrypt: (request) => call(encryptMethod, request),
    decrypt: (request) => call(decryptMethod, request),
    close: () => service.close(),
  };
}

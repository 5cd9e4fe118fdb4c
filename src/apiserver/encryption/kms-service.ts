/** A key management service behind a unix socket: gRPC, with a limit for each call. */
import type { Clock } from '../../base/clock.ts';
import { type CalledMethod, connectGrpc, GrpcError } from '../../base/grpc/index.ts';
import type { Decoded, Sent } from '../../base/protobuf/message-codec.ts';
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

const statusMethod = { path: methodPath('Status'), request: statusRequest, response: statusResponse };
const encryptMethod = { path: methodPath('Encrypt'), request: encryptRequest, response: encryptResponse };
const decryptMethod = { path: methodPath('Decrypt'), request: decryptRequest, response: decryptResponse };

function methodPath(name: string): string {
  return `/v2.KeyManagementService/${name}`;
}

export async function connectKms({ endpoint, timeoutMs, clock }: KmsServiceOptions): Promise<KmsService> {
  const connection = await connectGrpc({ clock, target: endpoint, requestTimeoutMs: timeoutMs });
  const call = async <Q, A>(method: CalledMethod<Q, A>, request: Q): Promise<A> => {
    try {
      return await connection.unary(method, request);
    } catch (error) {
      throw error instanceof GrpcError ? new Error(error.details, { cause: error }) : error;
    }
  };
  return {
    status: () => call(statusMethod, {}),
    encrypt: (request) => call(encryptMethod, request),
    decrypt: (request) => call(decryptMethod, request),
    close: () => connection.close(),
  };
}

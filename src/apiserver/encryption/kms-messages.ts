/** The messages of a key management service (`v2.KeyManagementService`), and of what it encrypts in the store. */
import { type Decoded, messageCodec } from '../../base/protobuf/message-codec.ts';

export const statusRequest = messageCodec({});
export const statusResponse = messageCodec({
  version: [1, 'string'],
  healthz: [2, 'string'],
  keyId: [3, 'string'],
} as const);
export const encryptRequest = messageCodec({ plaintext: [1, 'bytes'], uid: [2, 'string'] } as const);
export const encryptResponse = messageCodec({
  ciphertext: [1, 'bytes'],
  keyId: [2, 'string'],
  annotations: [3, 'bytesMap'],
} as const);
export const decryptRequest = messageCodec({
  ciphertext: [1, 'bytes'],
  uid: [2, 'string'],
  keyId: [3, 'string'],
  annotations: [4, 'bytesMap'],
} as const);
export const decryptResponse = messageCodec({ plaintext: [1, 'bytes'] } as const);
/** What is stored: the data under a key of its own, and that key's source under the service's key. */
export const encryptedObject = messageCodec({
  encryptedData: [1, 'bytes'],
  keyId: [2, 'string'],
  encryptedDekSource: [3, 'bytes'],
  annotations: [4, 'bytesMap'],
  encryptedDekSourceType: [5, 'int'],
} as const);

export type EncryptedObject = Decoded<typeof encryptedObject>;

/** The messages of a signer of service account tokens (`v1.ExternalJWTSigner`). */
import { messageCodec } from '../../base/protobuf/message-codec.ts';

/** The payload as it stands in the token. */
const signRequest = messageCodec({ claims: [1, 'string'] } as const);
/** Header and signature as they stand in the token. */
export const signResponse = messageCodec({ header: [1, 'string'], signature: [2, 'string'] } as const);
const fetchKeysRequest = messageCodec({});
export const fetchKeysResponse = messageCodec({
  keys: [1, [{ keyId: [1, 'string'], key: [2, 'bytes'], excludeFromOidcDiscovery: [3, 'bool'] }]],
  dataTimestamp: [2, { seconds: [1, 'int'], nanos: [2, 'int'] }],
  refreshHintSeconds: [3, 'int'],
} as const);
const metadataRequest = messageCodec({});
const metadataResponse = messageCodec({ maxTokenExpirationSeconds: [1, 'int'] } as const);

const service = '/v1.ExternalJWTSigner';
export const signerMethods = {
  sign: { path: `${service}/Sign`, request: signRequest, response: signResponse },
  fetchKeys: { path: `${service}/FetchKeys`, request: fetchKeysRequest, response: fetchKeysResponse },
  metadata: { path: `${service}/Metadata`, request: metadataRequest, response: metadataResponse },
} as const;

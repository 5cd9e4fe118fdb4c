/**
 * The messages of the etcd v3 API that the store uses, and its methods. Revisions and counts are safe integers; the ids of leases use all
 * 64 bits.
 */
import type { GrpcMethod } from '../../base/grpc/index.ts';
import {
  type Decoded,
  type Draft,
  type Message,
  type MessageCodec,
  messageCodec,
  type Sent,
  type Table,
} from '../../base/protobuf/message-codec.ts';

const header = { revision: [3, 'int'] } as const satisfies Table;
const keyValue = {
  key: [1, 'bytes'],
  createRevision: [2, 'int'],
  modRevision: [3, 'int'],
  version: [4, 'int'],
  value: [5, 'bytes'],
} as const satisfies Table;
export type KeyValue = Message<typeof keyValue>;

const rangeRequest = {
  key: [1, 'bytes'],
  rangeEnd: [2, 'bytes'],
  limit: [3, 'int'],
  revision: [4, 'int'],
  countOnly: [9, 'bool'],
} as const satisfies Table;
const rangeResponse = {
  header: [1, header],
  kvs: [2, [keyValue]],
  more: [3, 'bool'],
  count: [4, 'int'],
} as const satisfies Table;
const putRequest = {
  key: [1, 'bytes'],
  value: [2, 'bytes'],
  lease: [3, 'id'],
  prevKv: [4, 'bool'],
} as const satisfies Table;
const putResponse = { previous: [2, keyValue] } as const satisfies Table;
const deleteRequest = { key: [1, 'bytes'], prevKv: [3, 'bool'] } as const satisfies Table;
const deleteResponse = { deleted: [2, 'int'], previous: [3, [keyValue]] } as const satisfies Table;

const requestOp = {
  range: [1, rangeRequest],
  put: [2, putRequest],
  delete: [3, deleteRequest],
} as const satisfies Table;
export type RequestOp = Draft<typeof requestOp>;

export const compareTargets = { version: 0, modRevision: 2 } as const;
const compare = {
  result: [1, 'int'],
  target: [2, 'int'],
  key: [3, 'bytes'],
  version: [4, 'int'],
  modRevision: [6, 'int'],
} as const satisfies Table;

const responseOp = {
  range: [1, rangeResponse],
  put: [2, putResponse],
  delete: [3, deleteResponse],
} as const satisfies Table;

const watchRequest = messageCodec({
  create: [
    1,
    {
      key: [1, 'bytes'],
      rangeEnd: [2, 'bytes'],
      startRevision: [3, 'int'],
      progressNotify: [4, 'bool'],
      prevKv: [6, 'bool'],
      fragment: [8, 'bool'],
    },
  ],
  progress: [3, {}],
} as const);

const event = { type: [1, 'int'], kv: [2, keyValue], previous: [3, keyValue] } as const satisfies Table;
export type Event = Message<typeof event>;
export const deleteEvent = 1;
const watchResponse = messageCodec({
  header: [1, header],
  created: [3, 'bool'],
  canceled: [4, 'bool'],
  compactRevision: [5, 'int'],
  cancelReason: [6, 'string'],
  fragment: [7, 'bool'],
  events: [11, [event]],
} as const);
export type WatchRequest = Sent<typeof watchRequest>;
export type WatchResponse = Decoded<typeof watchResponse>;

function method<Q extends Table, R extends Table>(
  path: string,
  request: Q,
  response: R,
): GrpcMethod<MessageCodec<Q>, MessageCodec<R>> {
  return { path: `/etcdserverpb.${path}`, request: messageCodec(request), response: messageCodec(response) };
}

export const methods = {
  range: method('KV/Range', rangeRequest, rangeResponse),
  txn: method(
    'KV/Txn',
    { compare: [1, [compare]], success: [2, [requestOp]], failure: [3, [requestOp]] },
    { header: [1, header], succeeded: [2, 'bool'], responses: [3, [responseOp]] },
  ),
  compact: method('KV/Compact', { revision: [1, 'int'] }, { header: [1, header] }),
  leaseGrant: method('Lease/LeaseGrant', { ttlSeconds: [1, 'int'] }, { id: [2, 'id'] }),
  status: method('Maintenance/Status', {}, { header: [1, header], version: [2, 'string'], dbSize: [3, 'int'] }),
} as const;
export const watchMethod = {
  path: '/etcdserverpb.Watch/Watch',
  request: watchRequest,
  response: watchResponse,
} as const;

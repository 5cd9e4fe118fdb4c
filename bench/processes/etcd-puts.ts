/**
 * Clients of etcd as lean as ours: gRPC's frames and the one message they need are written by hand, each client has a connection of its
 * own and one request at a time.
 */
import { type ClientHttp2Session, connect } from 'node:http2';
import { answer } from '../parts/child.ts';

export interface PutEtcd {
  readonly kind: 'put';
  readonly url: string;
  readonly clients: number;
  readonly seconds: number;
  readonly valueBytes: number;
}

answer({
  async put({ url, clients, seconds, valueBytes }: PutEtcd): Promise<{ readonly perSecond: number }> {
    const sessions = await Promise.all(Array.from({ length: clients }, () => open(url)));
    const value = Buffer.alloc(valueBytes, 'v');
    const startMs = performance.now();
    let next = 0;
    let done = 0;
    await Promise.all(
      sessions.map(async (session) => {
        while (performance.now() - startMs < seconds * 1000) {
          await put(session, `/registry/configmaps/default/r-${next++}`, value);
          done++;
        }
      }),
    );
    const perSecond = done / ((performance.now() - startMs) / 1000);
    for (const session of sessions) session.destroy();
    return { perSecond };
  },
});

function open(url: string): Promise<ClientHttp2Session> {
  const session = connect(url);
  return new Promise((resolve, reject) => {
    session.once('connect', () => resolve(session));
    session.once('error', reject);
  });
}

function put(session: ClientHttp2Session, key: string, value: Buffer): Promise<void> {
  const name = Buffer.from(key);
  // PutRequest: 1 key, 2 value.
  const message = Buffer.concat([Buffer.from([0x0a]), length(name), name, Buffer.from([0x12]), length(value), value]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/etcdserverpb.KV/Put',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let status: unknown;
    stream.once('trailers', (trailers) => {
      status = trailers['grpc-status'];
    });
    stream.once('response', (head) => {
      status ??= head['grpc-status'];
    });
    stream.resume();
    stream.once('end', () => (Number(status ?? 0) === 0 ? resolve() : reject(new Error(`etcd answered ${status}`))));
    stream.once('error', reject);
    stream.end(Buffer.concat([frame, message]));
  });
}

/** As a variable-length integer of protobuf. */
function length(bytes: Buffer): Buffer {
  const digits: number[] = [];
  let rest = bytes.length;
  for (; rest > 127; rest >>>= 7) digits.push((rest & 127) | 128);
  digits.push(rest);
  return Buffer.from(digits);
}

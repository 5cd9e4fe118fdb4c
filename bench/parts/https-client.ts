/**
 * A lean client over HTTP/2 and TLS for load: what it costs is the machine's, so it does no more than send bytes and count bytes. It
 * authenticates with a client certificate, as kubectl does.
 */
import { type ClientHttp2Session, connect } from 'node:http2';

/** Where the server is and who asks: PEM throughout. */
export interface Access {
  readonly url: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

export interface Answer {
  readonly status: number;
  readonly bytes: number;
  /** Until the first byte of the body, in milliseconds. */
  readonly firstByteMs: number;
  readonly totalMs: number;
  /** Only when asked for. */
  readonly body: string;
}

export interface Ask {
  readonly method?: string;
  readonly body?: string | Buffer;
  readonly contentType?: string;
  readonly keepBody?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

const windowBytes = 16 << 20;

export async function openSession({ url, ca, certificate, key }: Access): Promise<ClientHttp2Session> {
  const session = connect(url, {
    ca,
    cert: certificate,
    key,
    maxSessionMemory: 1000,
    settings: { enablePush: false, initialWindowSize: windowBytes },
  });
  await new Promise<void>((resolve, reject) => {
    session.once('error', reject);
    session.once('connect', () => {
      session.setLocalWindowSize(4 * windowBytes);
      session.off('error', reject);
      resolve();
    });
  });
  session.on('error', () => {});
  return session;
}

export function ask(session: ClientHttp2Session, path: string, options: Ask = {}): Promise<Answer> {
  const { body, method = body === undefined ? 'GET' : 'POST', keepBody = false } = options;
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      ':method': method,
      ':path': path,
      ...(body === undefined
        ? {}
        : { 'content-length': Buffer.byteLength(body), 'content-type': options.contentType ?? 'application/json' }),
      ...options.headers,
    };
    const stream = session.request(headers, { endStream: body === undefined });
    let status = 0;
    let bytes = 0;
    let firstByteMs = Number.NaN;
    const chunks: Buffer[] = [];
    stream.once('response', (head) => {
      status = Number(head[':status']);
    });
    stream.on('data', (chunk: Buffer) => {
      if (bytes === 0) firstByteMs = performance.now() - startMs;
      bytes += chunk.length;
      if (keepBody) chunks.push(chunk);
    });
    stream.once('end', () => {
      const totalMs = performance.now() - startMs;
      resolve({ status, bytes, firstByteMs, totalMs, body: keepBody ? Buffer.concat(chunks).toString() : '' });
    });
    stream.once('error', reject);
    if (body !== undefined) stream.end(body);
  });
}

export async function closeSession(session: ClientHttp2Session): Promise<void> {
  if (session.destroyed) return;
  const closed = new Promise<void>((resolve) => session.once('close', () => resolve()));
  session.destroy();
  await closed;
}

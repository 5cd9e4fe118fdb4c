/** Any `Transport` served over HTTP/2 on a free port of the loopback, and hooks for what servers do on bad days. Tests only. */
import * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { StatusError } from '../apimachinery/status.ts';
import type { Transport, TransportRequest } from './client.ts';

export type Answer = (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => boolean | undefined;

export interface MemoryServer {
  readonly url: string;
  readonly sessions: Set<http2.ServerHttp2Session>;
  /** Headers of the requests so far. */
  readonly seen: http2.IncomingHttpHeaders[];
  /** Answers a request itself by returning true. */
  intercept: Answer | undefined;
  close(): Promise<void>;
}

export async function serveTransport(
  transport: Transport,
  options: { readonly tls?: http2.SecureServerOptions; readonly settings?: http2.Settings } = {},
): Promise<MemoryServer> {
  const { tls, settings = {} } = options;
  const server = tls ? http2.createSecureServer({ ...tls, settings }) : http2.createServer({ settings });
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => {});
  });
  server.on('stream', (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
    stream.on('error', () => {});
    memoryServer.seen.push(headers);
    if (!memoryServer.intercept?.(stream, headers)) void answer(transport, stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const memoryServer: MemoryServer = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    sessions,
    seen: [],
    intercept: undefined,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
  return memoryServer;
}

async function answer(
  transport: Transport,
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
): Promise<void> {
  const url = new URL(headers[':path'] ?? '', 'http://host');
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const gone = new AbortController();
  stream.on('close', () => gone.abort(new Error('the client went away')));
  const request: TransportRequest = {
    method: headers[':method'] as TransportRequest['method'],
    path: url.pathname,
    query: new Map(url.searchParams),
    body: text === '' ? undefined : JSON.parse(text),
    contentType: headers['content-type'],
    signal: gone.signal,
  };
  try {
    if (url.searchParams.get('watch') !== 'true') return respond(stream, 200, await transport.send(request));
    // Headers go at once, so that the client knows it is watching.
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    for await (const event of transport.stream(request)) stream.write(`${JSON.stringify(event)}\n`);
    stream.end();
  } catch (error) {
    if (stream.destroyed) return;
    const status = error instanceof StatusError ? error.status : { metadata: {}, code: 500, message: String(error) };
    if (stream.headersSent) stream.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
    else respond(stream, status.code ?? 500, status);
  }
}

export function respond(
  stream: http2.ServerHttp2Stream,
  code: number,
  body: unknown,
  headers: http2.OutgoingHttpHeaders = {},
): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': code, 'content-type': 'application/json', ...headers });
  stream.end(typeof body === 'string' ? body : JSON.stringify(body));
}

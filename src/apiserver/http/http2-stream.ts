/** One request over HTTP/2, by the stream interface: the compatible one costs twice as much. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ConnectionContext } from './connection.ts';
import { HttpRequest, noBody, streamedBody } from './http-request.ts';
import { type EncodedResponse, encodeResponse, type FrameSource, joinFrames } from './response-encoding.ts';

const endOfStream = constants.NGHTTP2_FLAG_END_STREAM;

export async function serveStream(
  context: ConnectionContext,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
): Promise<void> {
  stream.on('error', () => {});
  let request: HttpRequest;
  try {
    request = requestOf(context, stream, headers, flags);
  } catch (error) {
    const method = headers[':method'] ?? '';
    const fallback = { method, path: '', headers: {}, signal: new AbortController().signal };
    return write(stream, await encodeResponse(fallback as never, context.failure(error, fallback)), false);
  }
  stream.once('close', () => request.abort());
  if (headers.expect === '100-continue') stream.additionalHeaders({ ':status': 100 });
  const response = await context.respond(request);
  await write(stream, response, request.method === 'HEAD');
}

function requestOf(context: ConnectionContext, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) {
  const socket = stream.session?.socket as TLSSocket | undefined;
  const { ':method': method = 'GET', ':path': target = '/' } = headers;
  return new HttpRequest({
    method,
    target,
    headers: headers as Readonly<Record<string, string | undefined>>,
    body: flags & endOfStream ? noBody : streamedBody(stream, context.bodyDeadlines),
    remoteAddress: socket?.remoteAddress ?? '',
    clientCertificates: socket ? context.certificatesOf(socket) : [],
  });
}

async function write(stream: ServerHttp2Stream, response: EncodedResponse, headOnly: boolean): Promise<void> {
  const { status, headers, body } = response;
  if (stream.destroyed || stream.closed) {
    if (body.kind === 'watch') body.frames.cancel();
    return;
  }
  const head = { ':status': status, ...headers };
  if (headOnly || (body.kind === 'bytes' && body.bytes.length === 0)) {
    if (body.kind === 'watch') body.frames.cancel();
    stream.respond(head, { endStream: true });
    return;
  }
  stream.respond(head);
  if (body.kind === 'bytes') stream.end(body.bytes);
  else if (body.kind === 'stream') await writeChunks(stream, body.chunks);
  else if (body.kind === 'watch') await writeFrames(stream, body.frames);
}

async function writeChunks(stream: ServerHttp2Stream, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    if (stream.destroyed) return;
    if (!stream.write(chunk)) await drained(stream);
  }
  stream.end();
}

async function writeFrames(stream: ServerHttp2Stream, frames: FrameSource): Promise<void> {
  stream.once('close', () => frames.cancel());
  for (let batch = await frames.takeBatch(); batch; batch = await frames.takeBatch()) {
    if (stream.destroyed) return;
    if (!stream.write(joinFrames(batch))) await drained(stream);
  }
  if (!stream.destroyed) stream.end();
}

/** Resolves when more may be written, or nothing any more. */
export function drained(stream: NodeJS.WritableStream & { readonly destroyed?: boolean }): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve();
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

/** One request over HTTP/2, by the stream interface: the compatible one costs twice as much. */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Writable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { partsOf } from '../encoding/list-encoding.ts';
import type { Chunk, WatchSource } from '../request.ts';
import type { ConnectionContext } from './connection.ts';
import { HttpRequest, noBody, streamedBody } from './http-request.ts';
import { type EncodedResponse, encodeResponse, type FrameJoiner } from './response-encoding.ts';

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
    return write(stream, await encodeResponse(fallback as never, context.failure(error, fallback)), {
      headOnly: false,
      context,
    });
  }
  stream.once('close', () => request.abort());
  if (headers.expect === '100-continue') stream.additionalHeaders({ ':status': 100 });
  const response = await context.respond(request);
  await write(stream, response, { headOnly: request.method === 'HEAD', context });
}

function requestOf(context: ConnectionContext, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) {
  const socket = stream.session?.socket as TLSSocket | undefined;
  const { ':method': method = 'GET', ':path': target = '/' } = headers;
  return new HttpRequest({
    method,
    target,
    headers: headers as Readonly<Record<string, string | undefined>>,
    body: flags & endOfStream ? noBody : streamedBody(stream, context.bodies),
    remoteAddress: socket?.remoteAddress ?? '',
    clientCertificates: socket ? context.certificatesOf(socket) : [],
  });
}

interface Writing {
  readonly headOnly: boolean;
  readonly context: ConnectionContext;
}

async function write(
  stream: ServerHttp2Stream,
  response: EncodedResponse,
  { headOnly, context }: Writing,
): Promise<void> {
  const { status, headers, body } = response;
  if (stream.destroyed || stream.closed) {
    if (body.kind === 'watch') body.frames.cancel();
    return;
  }
  // Whoever is still sending a body that nobody will read is told so, and the stream is not kept waiting for its end.
  stream.once('finish', () => {
    if (!stream.readableEnded && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
  });
  const head: OutgoingHttpHeaders = { ':status': status, ...headers };
  // HTTP/2 has no such header: the client is told to go with GOAWAY, and what is under way on the connection is finished.
  if (headers.connection === 'close' || context.sendsAway()) stream.session?.close();
  if (headers.connection !== undefined) delete head.connection;
  if (headOnly || (body.kind === 'bytes' && body.bytes.length === 0)) {
    if (body.kind === 'watch') body.frames.cancel();
    stream.respond(head, { endStream: true });
    return;
  }
  stream.respond(head);
  if (body.kind === 'bytes') stream.end(body.bytes);
  else if (body.kind === 'stream') await writeChunks(stream, body.chunks);
  else if (body.kind === 'watch') pumpFrames(body.frames, stream, context.joiner);
}

async function writeChunks(stream: ServerHttp2Stream, chunks: AsyncIterable<Chunk>): Promise<void> {
  for await (const chunk of chunks) {
    if (stream.destroyed) return;
    if (!writeTogether(stream, partsOf(chunk))) await drained(stream);
  }
  stream.end();
}

/** Whether more may be written at once. */
function writeTogether(stream: ServerHttp2Stream, parts: readonly Uint8Array[]): boolean {
  let takesMore = true;
  stream.cork();
  for (const part of parts) takesMore = stream.write(part);
  stream.uncork();
  return takesMore;
}

/** What comes is written at once; a client who does not read is waited for, and cut off by the watch when too much has piled up. */
export function pumpFrames(frames: WatchSource, target: Writable, joiner: FrameJoiner): void {
  target.once('close', () => frames.cancel());
  frames.pumpTo({
    write(batch) {
      if (target.destroyed || target.write(joiner.join(batch))) return undefined;
      return drained(target);
    },
    end() {
      if (!target.destroyed) target.end();
    },
  });
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

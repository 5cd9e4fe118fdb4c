/**
 * A remote server's answer to a component of this process, which takes objects and not bytes: JSON decoded, a `Status` as the failure that
 * it is, a watch's lines as its events.
 */
import type { IncomingMessage } from 'node:http';
import { splitLines } from '../../client/json-lines.ts';
import { chunksOf, passedResponse } from '../node-proxy/backend-response.ts';
import type { ApiRequest, ApiResponse, FrameSink, RequestInfo, WatchFrame, WatchSource } from '../request.ts';

/** More is no answer to a single request. */
const largestAnswerBytes = 256 << 20;

export async function objectAnswer(
  response: IncomingMessage,
  { request, info }: { readonly request: ApiRequest; readonly info: RequestInfo },
): Promise<ApiResponse> {
  const { statusCode: status = 502, headers } = response;
  if (!headers['content-type']?.startsWith('application/json')) return passedResponse(response, request);
  if (info.verb === 'watch' && status === 200) {
    return { status, headers: {}, body: { kind: 'watch', events: new RemoteFrames(response, request.signal) } };
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunksOf(response, request.signal)) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > largestAnswerBytes) throw new Error(`the answer is longer than ${largestAnswerBytes} bytes`);
  }
  return { status, headers: {}, body: { kind: 'object', object: JSON.parse(Buffer.concat(chunks).toString()) } };
}

/** The events of a watch, one by one. */
class RemoteFrames implements WatchSource {
  readonly #response: IncomingMessage;
  readonly #lines: AsyncGenerator<unknown, void, undefined>;

  constructor(response: IncomingMessage, signal: AbortSignal) {
    this.#response = response;
    this.#lines = splitLines(chunksOf(response, signal) as AsyncIterable<Buffer>);
  }

  async takeBatch(): Promise<readonly WatchFrame[] | undefined> {
    const { done, value } = await this.#lines.next();
    if (done) return undefined;
    const { type, object } = value as { readonly type: string; readonly object: unknown };
    return [{ type, object, encoded: () => Buffer.from(`${JSON.stringify(value)}\n`) }];
  }

  pumpTo(sink: FrameSink): void {
    const pump = async () => {
      for (let batch = await this.takeBatch(); batch; batch = await this.takeBatch()) await sink.write(batch);
    };
    // A remote server that breaks off ends the watch, as one that ends it does.
    void pump()
      .catch(() => {})
      .then(() => sink.end());
  }

  cancel(): void {
    this.#response.destroy();
  }

  onEnd(callback: () => void): void {
    if (this.#response.closed) callback();
    else this.#response.once('close', callback);
  }
}

/** An answer from behind the API server on its way to the client. */
import type { IncomingMessage } from 'node:http';
import type { ApiResponse } from '../request.ts';

/** Headers between two neighbours only; what the client gets is framed anew. */
const hopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The answer as it is: status, headers, and the body as it comes. */
export function passedResponse(
  response: IncomingMessage,
  options: { readonly method: string; readonly signal: AbortSignal },
): ApiResponse {
  const named = (response.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const headers: Record<string, string | string[]> = {};
  for (const [name, values = []] of Object.entries(response.headersDistinct)) {
    if (hopHeaders.has(name) || named.includes(name)) continue;
    const value = response.headers[name] ?? '';
    // Where only one value makes sense, Node.js keeps the first; lists stay lists.
    headers[name] = values.length > 1 && value === values.join(', ') ? values : value;
  }
  if (options.method === 'HEAD') response.resume();
  const chunks = options.method === 'HEAD' ? nothing() : chunksOf(response, options.signal);
  // Several `Set-Cookie` stay several: they cannot be told in one line.
  return {
    status: response.statusCode ?? 502,
    headers: headers as Record<string, string>,
    body: { kind: 'stream', chunks, live: true },
  };
}

/** The body as it comes. A reader who has gone ends it without an error. */
export async function* chunksOf(response: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    response.destroy();
  }
}

async function* nothing(): AsyncIterable<Uint8Array> {}

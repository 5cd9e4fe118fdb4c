/** Answers that are no objects: plain text, bytes. */
import type { ApiResponse, Handler } from './request.ts';

export function textResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff', ...headers },
    body: { kind: 'bytes', chunks: [Buffer.from(text)] },
  };
}

/** What upstream says of a path that nobody serves. */
export const notFoundPage: Handler = async () => textResponse(404, '404 page not found\n');

/** Answers that are no objects: plain text, bytes. */
import { genericServerResponse } from '../apimachinery/status.ts';
import type { ApiResponse, Handler } from './request.ts';
import type { ServedResources } from './resources.ts';

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

/** Text of which upstream says no more than that. */
export function plainResponse(text: string): ApiResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  return { status: 200, headers, body: { kind: 'bytes', chunks: [Buffer.from(text)] } };
}

/** What upstream says of a path that nobody serves. */
export const notFoundPage: Handler = async () => textResponse(404, '404 page not found\n');

/** Below a group that is built in upstream says it in a Status, elsewhere on the page. */
export function notFoundAt(resources: Pick<ServedResources, 'isBelowBuiltIn'>, path: string): Handler {
  return resources.isBelowBuiltIn(path) ? noResource : notFoundPage;
}

const noResource: Handler = async ({ method }) => {
  throw genericServerResponse({ code: 404, method });
};

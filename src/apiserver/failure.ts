/**
 * The one boundary at which whatever was thrown becomes an answer. A `StatusError` is told as it is; anything else is logged with its
 * stack and told as an internal error without one.
 */
import { internalError, messageOf, StatusError } from '../apimachinery/status.ts';
import type { Log } from '../base/log.ts';
import { StoreClosedError } from '../storage/store.ts';
import type { ApiRequest, ApiResponse } from './request.ts';

export function failureResponse(
  error: unknown,
  request: Pick<ApiRequest, 'method' | 'path' | 'signal'>,
  log: Log,
): ApiResponse {
  const { status, code, retryAfterSeconds } = asStatus(error, request, log);
  const headers: Record<string, string> = retryAfterSeconds > 0 ? { 'retry-after': String(retryAfterSeconds) } : {};
  return { status: code >= 100 && code < 600 ? code : 500, headers, body: { kind: 'object', object: status } };
}

function asStatus(
  error: unknown,
  { method, path, signal }: Pick<ApiRequest, 'method' | 'path' | 'signal'>,
  log: Log,
): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof StoreClosedError) return internalError('the server is shutting down', { cause: error });
  // A client who has gone away is nobody's fault, and nobody reads the answer.
  if (!signal.aborted) {
    const stack = error instanceof Error ? error.stack : undefined;
    log.error('a request failed unexpectedly', { method, path, error: messageOf(error), stack });
  }
  return internalError(messageOf(error), { cause: error });
}

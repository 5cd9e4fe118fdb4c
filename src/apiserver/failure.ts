/**
 * The one boundary at which whatever was thrown becomes an answer. A `StatusError` is told as it is; anything else is logged with its
 * stack and told as an internal error without one.
 */
import { quote } from '../apimachinery/go-text.ts';
import { internalError, messageOf, StatusError, statusError } from '../apimachinery/status.ts';
import type { Log } from '../base/log.ts';
import { BackendError, StoreClosedError } from '../storage/store.ts';
import { EarlyRefusal, withoutHtml } from './authorization/forbidden.ts';
import { warningHeader } from './encoding/replies.ts';
import { textResponse } from './pages.ts';
import type { ApiRequest, ApiResponse } from './request.ts';

/** Nobody could say whether the request may be made. Told as plain text, as upstream does. */
export class UndecidedError extends Error {
  override readonly name = 'UndecidedError';

  constructor({ path, query }: Pick<ApiRequest, 'path' | 'query'>, reason: string) {
    const search = query.toString();
    const uri = search === '' ? path : `${path}?${search}`;
    super(withoutHtml(`Internal Server Error: ${quote(uri)}: ${reason}`));
  }
}

/** Something went wrong, and the client is to be warned besides, as it would have been had all gone well. */
export class WarnedError extends Error {
  override readonly name = 'WarnedError';
  readonly warnings: readonly string[];

  constructor(cause: unknown, warnings: readonly string[]) {
    super(messageOf(cause), { cause });
    this.warnings = warnings;
  }
}

export function failureResponse(
  error: unknown,
  request: Pick<ApiRequest, 'method' | 'path' | 'signal'>,
  log: Log,
): ApiResponse {
  if (error instanceof WarnedError) {
    const response = failureResponse(error.cause, request, log);
    return { ...response, headers: { ...response.headers, ...warningHeader(error.warnings) } };
  }
  if (error instanceof UndecidedError) return textResponse(500, `${error.message}\n`);
  const { status, code, retryAfterSeconds } = asStatus(error, request, log);
  const headers: Record<string, string> = retryAfterSeconds > 0 ? { 'retry-after': String(retryAfterSeconds) } : {};
  if (error instanceof EarlyRefusal) headers['x-content-type-options'] = 'nosniff';
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
  // As upstream: what the store says of itself is no error of this server's, and has no reason.
  if (error instanceof BackendError) return statusError({ code: 500, reason: '', message: error.message });
  return internalError(messageOf(error), { cause: error });
}

/**
 * What a transport throws when no answer came at all. Everything the server did answer is a `StatusError`.
 */

export class ConnectionError extends Error {
  /** As Node.js names it: `ECONNREFUSED`, `ECONNRESET`, `ERR_HTTP2_...`. */
  readonly code: string;
  /** Whether the server surely has not seen the request, so that even a write may be sent again. */
  readonly neverSent: boolean;

  constructor(
    message: string,
    details: { readonly code: string; readonly neverSent: boolean },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ConnectionError';
    this.code = details.code;
    this.neverSent = details.neverSent;
  }
}

export function isConnectionError(error: unknown): error is ConnectionError {
  return error instanceof ConnectionError;
}

export function isConnectionRefused(error: unknown): error is ConnectionError {
  return error instanceof ConnectionError && error.code === 'ECONNREFUSED';
}

/**
 * Failure as the API tells it: one `StatusError` around a meta/v1 `Status`, thrown by clients and servers alike. Constructors
 * give upstream's codes, reasons and words to the letter, because clients match on them; predicates look at the reason first and
 * at the code only where the reason is none of the known ones.
 */
import { errorBody, errorsText, type FieldError } from './field-error.ts';
import type { Status, StatusCause } from './gen/meta-v1.ts';
import { quote } from './go-text.ts';
import { groupResource } from './resource.ts';

export type { Status, StatusCause, StatusDetails } from './gen/meta-v1.ts';

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** The reasons upstream defines (meta/v1 `StatusReason`). */
export type StatusReason =
  | ''
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'ServerTimeout'
  | 'StoreReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'BadRequest'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable';

export class StatusError extends Error {
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message ?? `unknown`, options);
    this.name = 'StatusError';
    this.status = status;
  }

  /** The HTTP status code; 0 where the server gave none. */
  get code(): number {
    return this.status.code ?? 0;
  }

  /** The machine-readable reason; empty where the server gave none. */
  get reason(): string {
    return this.status.reason ?? '';
  }

  /** Seconds the server asks to wait before the next try; 0 where it asks for none. */
  get retryAfterSeconds(): number {
    return this.status.details?.retryAfterSeconds ?? 0;
  }
}

interface Failure {
  readonly code: number;
  readonly reason: StatusReason;
  readonly message: string;
  readonly details?: Status['details'];
}

/** A failure of any kind; prefer the named constructors. */
export function statusError(failure: Failure, options?: ErrorOptions): StatusError {
  const { message, reason, details, code } = failure;
  const status: Status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
  return new StatusError(status, options);
}

/** `Status` fields in Go leave out what is empty. */
function details(of: {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}): NonNullable<Status['details']> {
  return {
    ...(of.name ? { name: of.name } : {}),
    ...(of.group ? { group: of.group } : {}),
    ...(of.kind ? { kind: of.kind } : {}),
    ...(of.causes?.length ? { causes: of.causes } : {}),
    ...(of.retryAfterSeconds ? { retryAfterSeconds: of.retryAfterSeconds } : {}),
  };
}

function detailsOf(gr: GroupResource, name: string): NonNullable<Status['details']> {
  return details({ name, group: gr.group, kind: gr.resource });
}

/** `pods "web" not found`. */
export function notFound(gr: GroupResource, name: string): StatusError {
  const message = `${groupResource(gr)} ${quote(name)} not found`;
  return statusError({ code: 404, reason: 'NotFound', message, details: detailsOf(gr, name) });
}

/** `pods "web" already exists`. */
export function alreadyExists(gr: GroupResource, name: string): StatusError {
  const message = `${groupResource(gr)} ${quote(name)} already exists`;
  return statusError({ code: 409, reason: 'AlreadyExists', message, details: detailsOf(gr, name) });
}

/** No free name was found for an object with `generateName`. */
export function generateNameConflict(gr: GroupResource, name: string, retryAfterSeconds: number): StatusError {
  const message = `${groupResource(gr)} ${quote(name)} already exists, the server was not able to generate a unique name for the object`;
  return statusError({
    code: 409,
    reason: 'AlreadyExists',
    message,
    details: { ...detailsOf(gr, name), ...(retryAfterSeconds ? { retryAfterSeconds } : {}) },
  });
}

/** What an update meets whose resourceVersion is no longer current. */
const objectModifiedMessage =
  'the object has been modified; please apply your changes to the latest version and try again';

/** `Operation cannot be fulfilled on pods "web": the object has been modified; ...`. */
export function conflict(gr: GroupResource, name: string, message: string = objectModifiedMessage): StatusError {
  return statusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${groupResource(gr)} ${quote(name)}: ${message}`,
    details: detailsOf(gr, name),
  });
}

/** Server-side apply met fields that others own. */
export function applyConflict(causes: readonly StatusCause[], message: string): StatusError {
  return statusError({ code: 409, reason: 'Conflict', message, details: details({ causes }) });
}

/** `Deployment.apps "web" is invalid: [spec.x: Required value, ...]`, each error a cause of its own. */
export function invalid(gk: GroupKind, name: string, errors: readonly FieldError[]): StatusError {
  const kind = gk.group === '' ? gk.kind : `${gk.kind}.${gk.group}`;
  const subject = `${kind} ${quote(name)} is invalid`;
  const causes = errors.map((error) => ({
    reason: error.type,
    message: errorBody(error),
    ...(error.field === '' ? {} : { field: error.field }),
  }));
  return statusError({
    code: 422,
    reason: 'Invalid',
    message: errors.length === 0 ? subject : `${subject}: ${errorsText(errors)}`,
    details: details({ name, group: gk.group, kind: gk.kind, causes }),
  });
}

/** `pods "web" is forbidden: message`; without a name `pods is forbidden: ...`, without a resource `forbidden: ...`. */
export function forbidden(gr: GroupResource, name: string, message: string): StatusError {
  const resource = groupResource(gr);
  const subject = resource === '' ? 'forbidden' : `${resource}${name === '' ? '' : ` ${quote(name)}`} is forbidden`;
  return statusError({
    code: 403,
    reason: 'Forbidden',
    message: `${subject}: ${message}`,
    details: detailsOf(gr, name),
  });
}

/** The caller is not known. The API server answers `Unauthorized`. */
export function unauthorized(message = 'not authorized', options?: ErrorOptions): StatusError {
  return statusError({ code: 401, reason: 'Unauthorized', message }, options);
}

export function badRequest(message: string): StatusError {
  return statusError({ code: 400, reason: 'BadRequest', message });
}

/** `patch is not supported on resources of kind "pods"`. */
export function methodNotSupported(gr: GroupResource, action: string): StatusError {
  return statusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${action} is not supported on resources of kind ${quote(groupResource(gr))}`,
    details: details({ group: gr.group, kind: gr.resource }),
  });
}

/** 410 `Gone`; for versions that are too old use `expired`. */
export function gone(message: string): StatusError {
  return statusError({ code: 410, reason: 'Gone', message });
}

/** 410 `Expired`: the resourceVersion or continue token is older than what the server still has. */
export function expired(message: string): StatusError {
  return statusError({ code: 410, reason: 'Expired', message });
}

/** A passing failure of the server (500): `The list operation against pods could not be completed at this time, please try again.` */
export function serverTimeout(gr: GroupResource, operation: string, retryAfterSeconds = 0): StatusError {
  return statusError({
    code: 500,
    reason: 'ServerTimeout',
    message: `The ${operation} operation against ${groupResource(gr)} could not be completed at this time, please try again.`,
    details: details({ name: operation, group: gr.group, kind: gr.resource, retryAfterSeconds }),
  });
}

/** 504: what was asked took too long, and may still happen. */
export function timeout(message: string, retryAfterSeconds = 0): StatusError {
  return statusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: ${message}`,
    details: details({ retryAfterSeconds }),
  });
}

export function tooManyRequests(message: string, retryAfterSeconds = 0): StatusError {
  return statusError({ code: 429, reason: 'TooManyRequests', message, details: details({ retryAfterSeconds }) });
}

/** `Internal error occurred: message`. The original error, if any, is kept as `cause` for the log and never sent. */
export function internalError(message: string, options?: ErrorOptions): StatusError {
  const failure: Failure = {
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${message}`,
    details: details({ causes: [{ message }] }),
  };
  return statusError(failure, options);
}

export function requestEntityTooLarge(message: string): StatusError {
  return statusError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: ${message}`,
  });
}

/** 415: the body's media type is none of `accepted`. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return statusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  });
}

/** 406: the client accepts none of `offered`. */
export function notAcceptable(offered: readonly string[]): StatusError {
  return statusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `only the following media types are accepted: ${offered.join(', ')}`,
  });
}

export function serviceUnavailable(message: string): StatusError {
  return statusError({ code: 503, reason: 'ServiceUnavailable', message });
}

/** What a client makes of an answer that is no Status. */
export function genericServerResponse(response: {
  readonly code: number;
  /** The HTTP method. */
  readonly method: string;
  readonly resource?: GroupResource | undefined;
  readonly name?: string | undefined;
  readonly serverMessage?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly unexpected?: boolean | undefined;
}): StatusError {
  const { code, method, name = '', serverMessage = '' } = response;
  const { reason, message } = genericReason(code, method, serverMessage);
  const resource = response.resource ? groupResource(response.resource) : '';
  const where = resource === '' ? '' : ` (${method.toLowerCase()} ${resource}${name === '' ? '' : ` ${name}`})`;
  return statusError({
    code,
    reason,
    message: `${message}${where}`,
    details: details({
      name,
      group: response.resource?.group ?? '',
      kind: response.resource?.resource ?? '',
      causes: response.unexpected ? [{ reason: 'UnexpectedServerResponse', message: serverMessage }] : [],
      retryAfterSeconds: response.retryAfterSeconds ?? 0,
    }),
  });
}

function genericReason(code: number, method: string, serverMessage: string): { reason: StatusReason; message: string } {
  switch (code) {
    case 400:
      return { reason: 'BadRequest', message: 'the server rejected our request for an unknown reason' };
    case 401:
      return { reason: 'Unauthorized', message: 'the server has asked for the client to provide credentials' };
    case 403:
      return { reason: 'Forbidden', message: serverMessage };
    case 404:
      return { reason: 'NotFound', message: 'the server could not find the requested resource' };
    case 405:
      return {
        reason: 'MethodNotAllowed',
        message: 'the server does not allow this method on the requested resource',
      };
    case 406:
      return {
        reason: 'NotAcceptable',
        message:
          serverMessage === '' || serverMessage === 'unknown'
            ? 'the server was unable to respond with a content type that the client supports'
            : serverMessage,
      };
    case 409:
      return { reason: method === 'POST' ? 'AlreadyExists' : 'Conflict', message: 'the server reported a conflict' };
    case 415:
      return { reason: 'UnsupportedMediaType', message: serverMessage };
    case 422:
      return { reason: 'Invalid', message: 'the server rejected our request due to an error in our request' };
    case 429:
      return {
        reason: 'TooManyRequests',
        message: 'the server has received too many requests and has asked us to try again later',
      };
    case 503:
      return { reason: 'ServiceUnavailable', message: 'the server is currently unable to handle the request' };
    case 504:
      return {
        reason: 'Timeout',
        message:
          'the server was unable to return a response in the time allotted, but may still be processing the request',
      };
    default:
      if (code < 500) {
        return {
          reason: '',
          message: `the server responded with the status code ${code} but did not return more information`,
        };
      }
      return {
        reason: 'InternalError',
        message: `an error on the server (${quote(serverMessage)}) has prevented the request from succeeding`,
      };
  }
}

const knownReasons: ReadonlySet<string> = new Set<StatusReason>([
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Invalid',
  'ServerTimeout',
  'StoreReadError',
  'Timeout',
  'TooManyRequests',
  'BadRequest',
  'MethodNotAllowed',
  'NotAcceptable',
  'RequestEntityTooLarge',
  'UnsupportedMediaType',
  'InternalError',
  'Expired',
  'ServiceUnavailable',
]);

/** The reason decides; the code only where the server gave no known reason. */
function is(error: unknown, reason: StatusReason, code: number): error is StatusError {
  if (!(error instanceof StatusError)) return false;
  return error.reason === reason || (!knownReasons.has(error.reason) && error.code === code);
}

function hasReason(error: unknown, reason: StatusReason): error is StatusError {
  return error instanceof StatusError && error.reason === reason;
}

export const isNotFound = (error: unknown): error is StatusError => is(error, 'NotFound', 404);
export const isAlreadyExists = (error: unknown): error is StatusError => hasReason(error, 'AlreadyExists');
export const isConflict = (error: unknown): error is StatusError => is(error, 'Conflict', 409);
export const isInvalid = (error: unknown): error is StatusError => is(error, 'Invalid', 422);
export const isForbidden = (error: unknown): error is StatusError => is(error, 'Forbidden', 403);
export const isUnauthorized = (error: unknown): error is StatusError => is(error, 'Unauthorized', 401);
export const isMethodNotSupported = (error: unknown): error is StatusError => is(error, 'MethodNotAllowed', 405);
export const isUnsupportedMediaType = (error: unknown): error is StatusError => is(error, 'UnsupportedMediaType', 415);
export const isTimeout = (error: unknown): error is StatusError => is(error, 'Timeout', 504);
export const isInternalError = (error: unknown): error is StatusError => is(error, 'InternalError', 500);
export const isTooManyRequests = (error: unknown): error is StatusError =>
  is(error, 'TooManyRequests', 429) || (error instanceof StatusError && error.code === 429);
/** The version or continue token is too old: list again. Takes both reasons that come with 410. */
export const isExpired = (error: unknown): error is StatusError =>
  hasReason(error, 'Expired') || is(error, 'Gone', 410);
/** The object cannot be created because its namespace is being deleted. */
export const isNamespaceTerminating = (error: unknown): error is StatusError =>
  error instanceof StatusError &&
  (error.status.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating');

/** The error's message, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

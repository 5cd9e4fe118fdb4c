/**
 * A gRPC call that failed, in the words of Go's library, which users know from events and conditions: `rpc error: code = NotFound desc =
 * no such volume`. The library that we use has words of its own for connections that fail; only this file knows them.
 */
import { dialReasons } from '../dial-reasons.ts';
import { grpcCodeName, grpcCodes } from './codes.ts';

export interface GrpcErrorOptions extends ErrorOptions {
  /** What was called: a host and port, or a socket's path after `unix://`. */
  readonly target?: string | undefined;
}

/** Thrown by a handler of a server, it is what the caller is told. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  /** One of `grpcCodes`. */
  readonly code: number;
  /** What the other side said, or, of a failing connection, the library. */
  readonly details: string;

  constructor(code: number, details: string, { target = '', ...options }: GrpcErrorOptions = {}) {
    super(`rpc error: code = ${grpcCodeName(code)} desc = ${description(details, target)}`, options);
    this.code = code;
    this.details = details;
  }

  /** Whether the call has surely not left this machine. */
  get neverSent(): boolean {
    return noConnection.test(this.details) || /^Name resolution failed/.test(this.details);
  }
}

/** Of what the library threw or told. */
export function grpcErrorOf(error: unknown, target: string): GrpcError {
  const { code, details, message } = error as { code?: unknown; details?: string; message?: string };
  const known = typeof code === 'number' ? code : grpcCodes.unknown;
  return new GrpcError(known, details ?? message ?? String(error), { target, cause: error });
}

const noConnection = /^No connection established\b/;
const failedDial = /^No connection established\b.*?\bconnect (E[A-Z]+)/s;
const brokenConnection = /^Connection dropped$|^Stream closed|ECONNRESET/;

const reasons: Readonly<Record<string, string>> = { ...dialReasons, ETIMEDOUT: 'i/o timeout' };

function description(details: string, target: string): string {
  const dialled = failedDial.exec(details)?.[1];
  if (dialled !== undefined) {
    const address = isSocket(target) ? `unix ${target.replace(/^unix:(\/\/)?/, '')}` : `tcp ${target}`;
    const reason = reasons[dialled] ?? `connect: ${dialled}`;
    return `connection error: desc = "transport: Error while dialing: dial ${address}: ${reason}"`;
  }
  if (noConnection.test(details)) return 'connection error: desc = "error reading server preface: EOF"';
  if (brokenConnection.test(details)) return 'error reading from server: EOF';
  return details;
}

/** Whether the target is a socket of this machine. */
export function isSocket(target: string): boolean {
  return target.startsWith('unix:');
}

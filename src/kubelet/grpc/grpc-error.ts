/** Failures of gRPC calls in the words of Go's library, which users know from events and conditions; ours has others for some of them. */
import type { ServiceError } from '@grpc/grpc-js';

const codeNames = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

/** `NotFound` for 5. */
export function grpcCodeName(code: number): string {
  return codeNames[code] ?? 'Unknown';
}

/** `rpc error: code = NotFound desc = ...`. `target`: a host and port, or a socket's path after `unix://`. */
export function grpcErrorText(error: Pick<ServiceError, 'code' | 'details' | 'message'>, target: string): string {
  return `rpc error: code = ${grpcCodeName(error.code)} desc = ${grpcDescription(error, target)}`;
}

const dialReasons: Readonly<Record<string, string>> = {
  ENOENT: 'connect: no such file or directory',
  ECONNREFUSED: 'connect: connection refused',
  EACCES: 'connect: permission denied',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'i/o timeout',
};

function grpcDescription({ details, message }: Pick<ServiceError, 'details' | 'message'>, target: string): string {
  const text = details ?? message;
  const failedDial = /^No connection established\b.*?\bconnect (E[A-Z]+)/s.exec(text)?.[1];
  if (failedDial !== undefined) {
    const isSocket = target.startsWith('unix:');
    const address = isSocket ? `unix ${target.replace(/^unix:(\/\/)?/, '')}` : `tcp ${target}`;
    const reason = dialReasons[failedDial] ?? `connect: ${failedDial}`;
    return `connection error: desc = "transport: Error while dialing: dial ${address}: ${reason}"`;
  }
  if (/^No connection established\b/.test(text)) return 'connection error: desc = "error reading server preface: EOF"';
  if (/^Connection dropped$|^Stream closed|ECONNRESET/.test(text)) return 'error reading from server: EOF';
  return text;
}

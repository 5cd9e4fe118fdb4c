/**
 * Dialling: the one place where outgoing connections begin, so that tunnels can take its place. Failures are told in the words of Go's
 * network library, because users find them in the messages of `kubectl` and compare.
 */
import { connect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { quote } from '../apimachinery/go-text.ts';
import type { Clock } from '../base/clock.ts';
import { dialReasons } from '../base/dial-reasons.ts';
import { hostPort } from '../base/host-port.ts';

export interface DialAddress {
  /** A name or an address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Resolves with an open connection; rejects with a `DialError`, or with the signal's reason. */
export type Dial = (address: DialAddress, signal?: AbortSignal) => Promise<Duplex>;

export class DialError extends Error {
  /** As Node.js names it: `ECONNREFUSED`, `ENOTFOUND`, `ETIMEDOUT`. */
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DialError';
    this.code = code;
  }
}

/** Dials TCP directly. */
export function tcpDial({ clock, timeoutMs = 30_000 }: { readonly clock: Clock; readonly timeoutMs?: number }): Dial {
  return (address, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const socket = connect({ host: address.host, port: address.port, noDelay: true, keepAlive: true });
      const finish = (settle: () => void) => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        socket.off('error', onError);
        settle();
      };
      const fail = (error: unknown) =>
        finish(() => {
          // Errors that come after the failure was told have no one to go to.
          socket.on('error', () => {}).destroy();
          reject(error);
        });
      const onAbort = () => fail(signal?.reason);
      const onError = (error: NodeJS.ErrnoException) => fail(dialError(error, address));
      const timer = clock.after(timeoutMs, () =>
        fail(new DialError(`dial tcp ${hostPort(address)}: i/o timeout`, 'ETIMEDOUT')),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
      socket.once('error', onError);
      socket.once('connect', () => finish(() => resolve(socket)));
    });
}

const causes: Readonly<Record<string, string>> = {
  ...dialReasons,
  ETIMEDOUT: 'connect: connection timed out',
  ECONNRESET: 'read: connection reset by peer',
};

/** A failure to connect as a `DialError`; failures of a later moment are told by `connectionFailure`. */
export function dialError(error: NodeJS.ErrnoException, address: DialAddress): DialError {
  const { code = '' } = error;
  // Several addresses were tried: the first failure tells enough.
  const [first] = error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : [];
  if (first) return dialError(first, address);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const reason = code === 'ENOTFOUND' ? 'no such host' : 'Temporary failure in name resolution';
    return new DialError(`dial tcp: lookup ${address.host}: ${reason}`, code, { cause: error });
  }
  const at = { host: (error as { address?: string }).address ?? address.host, port: address.port };
  return new DialError(`dial tcp ${hostPort(at)}: ${causes[code] ?? error.message}`, code, { cause: error });
}

const unknownAuthority: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** What went wrong on a connection, in Go's words where they are known. */
export function connectionFailure(error: unknown, host: string): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '', message } = error as NodeJS.ErrnoException;
  const untrusted = (reason: string) => `tls: failed to verify certificate: x509: ${reason}`;
  if (unknownAuthority.has(code)) return untrusted('certificate signed by unknown authority');
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return untrusted('certificate has expired or is not yet valid');
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = (error as { cert?: { subjectaltname?: string } }).cert?.subjectaltname ?? '';
    const valid = names.replaceAll(/(DNS|IP Address):/g, '');
    if (isIP(host) && !names.includes('IP Address:')) {
      return untrusted(`cannot validate certificate for ${host} because it doesn't contain any IP SANs`);
    }
    return untrusted(`certificate is valid for ${valid}, not ${host}`);
  }
  if (code === 'EPROTO' && /wrong version number|packet length too long/.test(message)) {
    return 'http: server gave HTTP response to HTTPS client';
  }
  if (code === 'ECONNRESET' || message === 'socket hang up') return 'EOF';
  if (code.startsWith('HPE_')) {
    const packet = (error as { rawPacket?: Buffer }).rawPacket?.toString() ?? '';
    const [line = ''] = packet.split(/\r?\n/, 1);
    return `net/http: HTTP/1.x transport connection broken: malformed HTTP response ${quote(line)}`;
  }
  return message;
}

/**
 * The answer to a client that speaks plain HTTP to a port of TLS, in upstream's words. OpenSSL has told such a client by its first
 * bytes when it gives up the handshake: nothing more is read, kept or looked at, the answer goes out in one write, and the connection
 * ends at once as any other that fails. Connections that speak TLS never come here.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

interface TlsServer {
  on(event: 'tlsClientError', listener: (error: Error, socket: TLSSocket) => void): unknown;
}

const answer = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

export function refusePlainHttp(server: TlsServer): void {
  server.on('tlsClientError', (error: NodeJS.ErrnoException, { _parent: beneath }: OverPlainSocket) => {
    if (error.code === 'ERR_SSL_HTTP_REQUEST') beneath?.end(answer);
  });
}

/** Node.js keeps the socket that TLS was to be spoken over, under a name that it does not document. */
interface OverPlainSocket extends TLSSocket {
  readonly _parent?: Socket;
}

/**
 * The connections to one webhook, kept open between calls. They speak HTTP/1.1, as upstream's to all that is not on its own machine:
 * calls at the same time go over connections of their own, so that those to a Service spread over its Pods.
 */
import type { Agent, ClientRequest, RequestOptions } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, getCACertificates, type TLSSocket } from 'node:tls';
import { httpModule } from '../../base/lazy-module.ts';
import { connectionFailure, type Dial, DialError } from '../../serving/dial.ts';
import type { Endpoint } from './endpoint.ts';

/** Idle connections beyond this are closed, as Go's. */
const mostIdle = 25;
const handshakeTimeoutMs = 10_000;

export class ConnectionPool {
  readonly #endpoint: Endpoint;
  readonly #agent: Agent;

  constructor(endpoint: Endpoint, dial: Dial) {
    this.#endpoint = endpoint;
    this.#agent = new (httpModule().Agent)({ keepAlive: true, maxFreeSockets: mostIdle });
    this.#agent.createConnection = (_options, callback) => {
      this.#open(dial).then(
        (socket) => callback?.(null, socket),
        (error: Error) => callback?.(error, undefined as unknown as Duplex),
      );
      return undefined;
    };
  }

  /** A request that is yet to be ended; over an idle connection if there is one. */
  request(options: RequestOptions): ClientRequest {
    const { host, port } = this.#endpoint;
    return httpModule().request({ ...options, host, port, agent: this.#agent });
  }

  /** Ends idle connections; calls under way finish. */
  drain(): void {
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
  }

  close(): void {
    this.#agent.destroy();
  }

  async #open(dial: Dial): Promise<Duplex> {
    const { host, port, secure } = this.#endpoint;
    const socket = await dial({ host, port });
    return secure ? this.#secured(socket) : socket;
  }

  #secured(socket: Duplex): Promise<TLSSocket> {
    const { host, tls } = this.#endpoint;
    const name = tls.serverName ?? host;
    return new Promise((resolve, reject) => {
      const secure = connect({
        socket,
        host: name,
        ...(isIP(name) ? {} : { servername: name }),
        ca: tls.ca ?? systemAuthorities(),
        ...(tls.cert ? { cert: tls.cert } : {}),
        ...(tls.key ? { key: tls.key } : {}),
        rejectUnauthorized: !tls.insecureSkipVerify,
        minVersion: 'TLSv1.2',
        ALPNProtocols: ['http/1.1'],
        timeout: handshakeTimeoutMs,
      });
      const fail = (message: string, error?: Error) => {
        // Errors that come after the failure was told have no one to go to.
        secure.on('error', () => {}).destroy();
        reject(new DialError(message, (error as NodeJS.ErrnoException | undefined)?.code ?? '', { cause: error }));
      };
      const onError = (error: Error) => fail(connectionFailure(error, name), error);
      secure.once('error', onError);
      secure.once('timeout', () => fail('net/http: TLS handshake timeout'));
      secure.once('secureConnect', () => {
        secure.off('error', onError);
        secure.removeAllListeners('timeout');
        secure.setTimeout(0);
        resolve(secure);
      });
    });
  }
}

/** Whom the machine trusts; where it does not say, whom Node.js does. */
export function systemAuthorities(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? system : getCACertificates('default');
}

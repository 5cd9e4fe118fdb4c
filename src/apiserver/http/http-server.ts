/**
 * The API server on the network: HTTPS with HTTP/2 and HTTP/1.1 on the same port, on several addresses at once. Clients are asked for
 * a certificate and may go without. Idle and slow clients cost a socket and are ended in time; closing lets requests under way finish.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import type { ListenAddress } from '../../serving/listen-address.ts';
import { peerChain } from '../../serving/peer-chain.ts';
import { refusePlainHttp } from '../../serving/plain-http-refusal.ts';
import type { TlsParameters } from '../../serving/tls-parameters.ts';
import { Deadlines } from '../deadlines.ts';
import { failureResponse } from '../failure.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { BodyTurns } from './body-turns.ts';
import type { ConnectionContext } from './connection.ts';
import { serveRequest, serveUpgrade } from './http1-exchange.ts';
import { serveStream } from './http2-stream.ts';
import { encodeResponse, FrameJoiner } from './response-encoding.ts';
import { keepChecking, pingIntervalMs } from './session-checks.ts';

export interface HttpServerOptions {
  handle(request: ApiRequest): Promise<ApiResponse>;
  readonly listen: readonly ListenAddress[];
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** What is asked of clients' TLS, and which certificate is shown under which name. Default: TLS 1.2 and newer. */
  readonly tls?: TlsParameters | undefined;
  readonly log: Log;
  readonly clock?: Clock | undefined;
  /** For a request's body to arrive. Default 60 s. */
  readonly bodyTimeoutMs?: number | undefined;
  readonly random?: Random | undefined;
  /** Of an HTTP/2 connection to be ended gently with an answer. */
  readonly goawayChance?: number | undefined;
}

export interface ListeningServer {
  /** Where it listens, in the order asked for. */
  readonly addresses: readonly ListenAddress[];
  /** Takes a renewed certificate for new connections. */
  replaceCertificate(certificate: string, key: string): void;
  /** Takes no new connections; those there are go on. */
  stopListening(): void;
  /** Refuses new requests, lets those under way finish for `graceMs` (default 1 s), then ends all connections. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const headersTimeoutMs = 30_000;
const keepAliveTimeoutMs = 90_000;
const defaultBodyTimeoutMs = 60_000;
/** As upstream. */
const maxHeaderBytes = 1024 * 1024;
/** Each of an HTTP/2 request's header fields costs memory before anybody has looked at it. */
const maxHeaderListPairs = 1000;

/** Rejects when an address cannot be had (`EADDRINUSE`); nothing listens then. */
export async function startHttpServer(options: HttpServerOptions): Promise<ListeningServer> {
  const servers: NetworkServer[] = [];
  try {
    for (const address of options.listen) servers.push(await NetworkServer.start(options, address));
  } catch (error) {
    await Promise.all(servers.map((server) => server.close(0)));
    throw error;
  }
  return {
    addresses: servers.map((server) => server.address),
    replaceCertificate(certificate, key) {
      for (const server of servers) server.replaceCertificate(certificate, key);
    },
    stopListening() {
      for (const server of servers) server.stopListening();
    },
    async close({ graceMs = 1000 } = {}) {
      await Promise.all(servers.map((server) => server.close(graceMs)));
    },
  };
}

/** What is said of a request that cannot be read, in upstream's form; nothing to one that never came. */
function refusalOf({ code }: NodeJS.ErrnoException): string | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return undefined;
  const status = code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  return `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`;
}

class NetworkServer {
  readonly #server: Http2SecureServer;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #tls: TlsParameters;
  readonly #bodyDeadlines: Deadlines;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #certificates = new WeakMap<TLSSocket, readonly Buffer[]>();
  #closing = false;
  #closed: Promise<void> | undefined;

  static async start(options: HttpServerOptions, address: ListenAddress): Promise<NetworkServer> {
    const server = new NetworkServer(options);
    await server.#listen(address);
    return server;
  }

  private constructor(options: HttpServerOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log;
    this.#tls = options.tls ?? { minVersion: 'TLSv1.2' };
    this.#bodyDeadlines = new Deadlines(this.#clock, options.bodyTimeoutMs ?? defaultBodyTimeoutMs);
    this.#server = createSecureServer({
      allowHTTP1: true,
      cert: options.certificate,
      key: options.key,
      ...this.#tls,
      // The certificate is verified by authentication: a foreign one is a 401, not the end of the connection.
      requestCert: true,
      rejectUnauthorized: false,
      settings: { maxConcurrentStreams: 1000, initialWindowSize: 1024 * 1024, maxHeaderListSize: maxHeaderBytes },
      maxHeaderSize: maxHeaderBytes,
      maxHeaderListPairs,
      // A client that cancels its watches in bulk is no attacker.
      streamResetBurst: 100_000,
      streamResetRate: 10_000,
      maxSessionMemory: 256,
      headersTimeout: headersTimeoutMs,
      requestTimeout: headersTimeoutMs + (options.bodyTimeoutMs ?? defaultBodyTimeoutMs),
      keepAliveTimeout: keepAliveTimeoutMs,
    } as Parameters<typeof createSecureServer>[0]);
    this.#attach(this.#contextOf(options));
  }

  get address(): ListenAddress {
    const { address, port } = this.#server.address() as AddressInfo;
    return { host: address, port };
  }

  replaceCertificate(certificate: string, key: string): void {
    this.#server.setSecureContext({ ...this.#tls, cert: certificate, key });
  }

  #contextOf(options: HttpServerOptions): ConnectionContext {
    const { goawayChance = 0, random = systemRandom } = options;
    const failure: ConnectionContext['failure'] = (error, request) => failureResponse(error, request, this.#log);
    return {
      failure,
      sendsAway: () => goawayChance > 0 && random.next() < goawayChance,
      joiner: new FrameJoiner(),
      bodies: { deadlines: this.#bodyDeadlines, turns: new BodyTurns(this.#clock) },
      async respond(request) {
        try {
          return await encodeResponse(request, await options.handle(request));
        } catch (error) {
          return encodeResponse(request, failure(error, request));
        }
      },
      certificatesOf: (socket) => {
        let chain = this.#certificates.get(socket);
        if (!chain) {
          chain = peerChain(socket);
          this.#certificates.set(socket, chain);
        }
        return chain;
      },
    };
  }

  #attach(context: ConnectionContext): void {
    const server = this.#server;
    const failed = (error: unknown) => this.#log.debug('an answer could not be written', { error: String(error) });
    server.on('request', (message, response) => {
      serveRequest(context, message as unknown as IncomingMessage, response as unknown as ServerResponse).catch(
        (error: unknown) => {
          failed(error);
          // Half an answer must not look like a whole one, nor keep its reader waiting.
          (response as unknown as ServerResponse).destroy();
        },
      );
    });
    // Listening for `request` has made Node.js translate HTTP/2 as well; streams are served by our own listener instead.
    server.removeAllListeners('stream');
    server.on('stream', (stream, headers, flags) => {
      serveStream(context, stream, headers, flags).catch((error: unknown) => {
        failed(error);
        stream.destroy();
      });
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      serveUpgrade(context, { request, socket, head }).catch((error: unknown) => {
        failed(error);
        socket.destroy();
      });
    });
    server.on('session', (session) => this.#watchOver(session));
    server.on('secureConnection', (socket) => this.#track(socket));
    server.on('connection', (socket: Socket) => this.#track(socket));
    server.on('sessionError', (error) => this.#log.debug('a client broke the protocol', { error: error.message }));
    server.on('tlsClientError', (error, socket) => {
      this.#log.debug('TLS handshake failed', { error: error.message, client: socket.remoteAddress });
    });
    refusePlainHttp(server);
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
      const refusal = refusalOf(error);
      if (refusal && socket.writable) socket.end(refusal);
      else socket.destroy();
    });
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
    socket.setNoDelay(true);
    socket.setKeepAlive(true, pingIntervalMs);
  }

  #watchOver(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.on('error', () => {});
    session.once('close', () => this.#sessions.delete(session));
    keepChecking(session, this.#clock);
  }

  #listen({ host, port }: ListenAddress): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#log.error('the server failed', { error: String(error) }));
        resolve();
      });
    });
  }

  stopListening(): void {
    this.#closed ??= new Promise<void>((resolve) => this.#server.close(() => resolve()));
    (this.#server as unknown as { closeIdleConnections?(): void }).closeIdleConnections?.();
  }

  async close(graceMs: number): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.stopListening();
    for (const session of this.#sessions) session.close();
    const timer = this.#clock.after(graceMs, () => {
      for (const session of this.#sessions) session.destroy();
      for (const socket of this.#sockets) socket.destroy();
    });
    await this.#closed;
    timer.cancel();
    this.#bodyDeadlines.close();
  }
}

/**
 * The kubelet's own server: HTTPS on port 10250 for the API server and for metrics, with authentication and authorization of every request,
 * and a plain health page on loopback. It serves what `KubeletView` shows and keeps nothing itself.
 */

import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Authenticate } from '../../serving/delegated-authentication.ts';
import type { Authorize } from '../../serving/delegated-authorization.ts';
import type { ListenAddress } from '../../serving/listen-address.ts';
import { refusePlainHttp } from '../../serving/plain-http-refusal.ts';
import { defaultTlsParameters, type TlsParameters } from '../../serving/tls-parameters.ts';
import { type Access, refusal } from './access.ts';
import type { KubeletView } from './kubelet-view.ts';
import { failure, notFoundPage, Refusal, type Reply, sendRefusal, sendReply } from './replies.ts';
import { createRoutes, type Routes, streamingRoute } from './routes.ts';
import { serveStreaming } from './streaming.ts';
import type { SystemLogs } from './system-logs.ts';

export interface ServingCertificate {
  /** PEM, with intermediates. */
  readonly certificate: string;
  readonly key: string;
}

export interface KubeletServerOptions {
  readonly listen: ListenAddress;
  /** The health page without authentication; absent: none. Upstream: 127.0.0.1:10248. */
  readonly healthz?: ListenAddress | undefined;
  /** Absent: no connection comes about until one is given. */
  readonly tls: ServingCertificate | undefined;
  /** What is asked of clients' TLS. Default: TLS 1.2 and newer. */
  readonly tlsParameters?: TlsParameters | undefined;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  readonly clock: Clock;
  readonly log: Log;
  /** exec, attach, port-forward, run, container logs and running Pods. Default true. */
  readonly enableDebuggingHandlers?: boolean | undefined;
  /** What is shown under `/logs/`; absent: switched off. */
  readonly systemLogs?: SystemLogs | undefined;
}

export interface KubeletServer {
  readonly address: ListenAddress;
  readonly healthzAddress: ListenAddress | undefined;
  /** For new connections. */
  replaceCertificate(tls: ServingCertificate): void;
  /** Ends all connections, sessions under way included. */
  close(): Promise<void>;
}

/** Matches the idle time of the API server's connections. */
const keepAliveTimeoutMs = 90_000;
/** As the API server's, and upstream's: the words of a command come in the path. */
const maxHeaderBytes = 1024 * 1024;

/** Rejects when an address cannot be had; nothing listens then. */
export async function startKubeletServer(view: KubeletView, options: KubeletServerOptions): Promise<KubeletServer> {
  const routes = createRoutes(view, options);
  const server = new HttpsServer(view, options, routes);
  await listen(server.server, options.listen);
  const healthz = options.healthz && createPlainServer((request, response) => serveHealth(routes, request, response));
  try {
    if (healthz && options.healthz) await listen(healthz, options.healthz);
  } catch (error) {
    await server.close();
    throw error;
  }
  return {
    address: addressOf(server.server),
    healthzAddress: healthz && addressOf(healthz),
    replaceCertificate: (tls) => server.replaceCertificate(tls),
    async close() {
      healthz?.closeAllConnections();
      await Promise.all([server.close(), healthz && new Promise((resolve) => healthz.close(resolve))]);
    },
  };
}

class HttpsServer {
  readonly server: Server & { setSecureContext(options: object): void };
  readonly #view: KubeletView;
  readonly #routes: Routes;
  readonly #access: Access;
  readonly #log: Log;
  readonly #sockets = new Set<Duplex>();
  readonly #tlsParameters: TlsParameters;

  constructor(view: KubeletView, options: KubeletServerOptions, routes: Routes) {
    const { tls, authenticate, authorize, log } = options;
    this.#view = view;
    this.#routes = routes;
    this.#log = log;
    this.#tlsParameters = options.tlsParameters ?? defaultTlsParameters;
    this.#access = { nodeName: view.nodeName, authenticate, authorize, log };
    this.server = createServer({
      ...(tls ? { cert: tls.certificate, key: tls.key } : {}),
      ...this.#tlsParameters,
      // Authentication decides what a certificate is worth; a foreign one is a 401, not a broken connection.
      requestCert: true,
      rejectUnauthorized: false,
      keepAliveTimeout: keepAliveTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
    });
    this.server.on('request', (request, response) => void this.#serve(request, response));
    this.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#serveUpgrade(request, socket, head);
    });
    this.server.on('connection', (socket: Socket) => this.#track(socket));
    this.server.on('secureConnection', (socket: TLSSocket) => this.#track(socket));
    refusePlainHttp(this.server);
    this.server.on('tlsClientError', (error: Error) => log.debug('TLS handshake failed', { error: error.message }));
  }

  replaceCertificate({ certificate, key }: ServingCertificate): void {
    this.server.setSecureContext({ ...this.#tlsParameters, cert: certificate, key });
  }

  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    return closed;
  }

  #track(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on('error', () => {});
    response.once('close', () => gone.abort(new Error('the client has gone away')));
    try {
      const reply = await this.#answer(request, gone.signal);
      this.#routes.count(request, reply.status);
      await sendReply(response, reply);
    } catch (error) {
      if (!gone.signal.aborted) this.#log.debug('an answer could not be finished', { error: messageOf(error) });
      response.destroy();
    }
  }

  /** Never rejects. */
  async #answer(request: IncomingMessage, signal: AbortSignal): Promise<Reply> {
    try {
      const url = urlOf(request);
      if (!url) return failure(400, 'Bad Request');
      return (await refusal(this.#access, request, url.pathname)) ?? (await this.#routes.answer(request, url, signal));
    } catch (error) {
      if (error instanceof Refusal) return failure(error.status, error.message);
      this.#log.error('a request failed unexpectedly', { url: request.url, error: messageOf(error) });
      return failure(500, messageOf(error));
    }
  }

  async #serveUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const client = { request, socket, head };
    let reply: Reply | undefined;
    try {
      const url = urlOf(request);
      if (!url) reply = failure(400, 'Bad Request');
      else {
        const route = streamingRoute(url);
        reply = await refusal(this.#access, request, url.pathname);
        if (!reply && !route) reply = notFoundPage();
        if (!reply && route)
          reply = this.#routes.debuggingRefusal() ?? (await serveStreaming(this.#view, client, route));
      }
    } catch (error) {
      this.#log.error('a session failed unexpectedly', { url: request.url, error: messageOf(error) });
      reply = failure(500, messageOf(error));
    }
    this.#routes.count(request, reply?.status ?? 101);
    if (reply && !socket.destroyed) sendRefusal(client, reply);
  }
}

function serveHealth(routes: Routes, request: IncomingMessage, response: ServerResponse): void {
  response.on('error', () => {});
  const url = urlOf(request);
  const reply = (url && routes.health(url)) ?? failure(404, '404 page not found\n');
  sendReply(response, reply).catch(() => response.destroy());
}

function urlOf({ url = '/' }: IncomingMessage): URL | undefined {
  // Only the path counts; what a client puts before it (`//host/..`) must not become a host.
  return URL.parse(`https://kubelet${url.startsWith('/') ? url : `/${url}`}`) ?? undefined;
}

function listen(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function addressOf(server: Server): ListenAddress {
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port };
}

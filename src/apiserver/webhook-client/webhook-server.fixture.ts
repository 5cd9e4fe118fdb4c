/** A webhook's server for tests: real HTTPS on loopback with a certificate of its own authority, and the hostile kinds of it. */
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../pki/authority.ts';
import { systemKeys } from '../../pki/keys.ts';

export interface WebhookServer extends AsyncDisposable {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** As `caBundle` wants it. */
  readonly caBundle: string;
  /** Requests so far: path with query, headers, parsed body. */
  readonly received: Received[];
  /** Connections so far. */
  readonly connections: () => number;
  /** Breaks all connections that are open. */
  breakConnections(): void;
}

export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was posted.
  readonly body: any;
}

/** What a webhook answers: an object as JSON, or what the function itself writes. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type Answer = (body: any, request: Received) => object | Promise<object>;

export interface WebhookServerOptions {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly clientCa?: string;
  /** In the stead of `answer`. */
  readonly listener?: RequestListener;
}

export async function startWebhookServer(answer: Answer, options: WebhookServerOptions = {}): Promise<WebhookServer> {
  const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'webhook-ca' }, sources);
  const { certificatePem: cert, keyPem: key } = issueCertificate(authority, {
    commonName: 'webhook',
    dnsNames: [...(options.dnsNames ?? ['localhost'])],
    ipAddresses: [...(options.ipAddresses ?? ['127.0.0.1'])],
    usages: ['server auth'],
  });
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const respond: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const call = {
      path: request.url ?? '',
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    received.push(call);
    const reply = await answer(call.body, call);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  };
  const server: Server = createServer({ cert, key }, options.listener ?? respond);
  let connections = 0;
  server.on('secureConnection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const breakConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    caBundle: Buffer.from(authority.certificatePem).toString('base64'),
    received,
    connections: () => connections,
    breakConnections,
    async [Symbol.asyncDispose]() {
      breakConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

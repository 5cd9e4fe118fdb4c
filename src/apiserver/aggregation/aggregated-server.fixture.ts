/**
 * An aggregated API server for tests: real HTTPS on loopback, requestheader authentication, a namespaced resource (`fortunes`) kept in
 * memory with list, watch, create and delete, a subresource (`echo`) whose connections are upgraded, discovery and OpenAPI of its own. Tests
 * make it slow, silent or mad through `mood`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { WebSocketServer } from 'ws';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../pki/authority.ts';
import { systemKeys } from '../../pki/keys.ts';

export interface Fortune {
  readonly apiVersion: string;
  readonly kind: 'Fortune';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
  readonly spec: { readonly text: string };
}

export interface Seen {
  readonly method: string;
  /** With query, as it came. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** Of the client certificate. */
  readonly commonName: string;
}

/** What a test wants the server to be like. */
export type Mood = 'well' | 'silent' | 'mad' | 'redirecting' | 'friendly' | 'failing' | 'looping';

export interface AggregatedServer extends AsyncDisposable {
  readonly port: number;
  /** As `caBundle` wants it. */
  readonly caBundle: string;
  /** All requests so far but its checks of availability. */
  readonly seen: Seen[];
  mood: Mood;
  /** Replaces the description of `spec.text` in OpenAPI. */
  description: string;
  /** Breaks all connections that are open. */
  breakConnections(): void;
}

export interface AggregatedServerOptions {
  readonly group: string;
  /** PEM of the authority that the front proxy's certificate comes from. */
  readonly proxyAuthority: string;
  /** What the certificate is for; default `fortunes.apis.svc`. */
  readonly dnsName?: string;
  /** Whether it knows aggregated discovery; default true. */
  readonly aggregatedDiscovery?: boolean;
  /** Whether it describes itself in OpenAPI v3 too; default true. */
  readonly openApiV3?: boolean;
}

export async function startAggregatedServer(options: AggregatedServerOptions): Promise<AggregatedServer> {
  const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'fortunes-ca' }, sources);
  const { certificatePem: cert, keyPem: key } = issueCertificate(authority, {
    commonName: 'fortunes',
    dnsNames: [options.dnsName ?? 'fortunes.apis.svc'],
    usages: ['server auth'],
  });
  const sockets = new Set<Socket>();
  const fortunes = new Fortunes(`${options.group}/v1`);
  const result = {
    seen: [] as Seen[],
    mood: 'well' as Mood,
    description: 'What it says.',
    caBundle: Buffer.from(authority.certificatePem).toString('base64'),
    breakConnections: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
  const known = (request: IncomingMessage): boolean => {
    const socket = request.socket as TLSSocket;
    const { method = '', url = '', headers } = request;
    if (headers['x-remote-user'] !== 'system:kube-aggregator' || !url.endsWith('/v1')) {
      const commonName = socket.getPeerCertificate().subject?.CN;
      result.seen.push({ method, url, headers, commonName: String(commonName ?? '') });
    }
    return socket.authorized && headers['x-remote-user'] !== undefined;
  };
  const server = createServer({ cert, key, ca: options.proxyAuthority, requestCert: true, rejectUnauthorized: false });
  server.on('request', (request, response) => {
    if (!known(request)) return void response.writeHead(401).end();
    if (result.mood === 'silent') return;
    if (result.mood === 'mad') return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"mad');
    if (result.mood === 'failing') return void response.writeHead(500).end('broken');
    if (result.mood === 'redirecting' && request.url?.includes('fortunes')) {
      return void response.writeHead(302, { location: 'https://elsewhere.example.com/' }).end();
    }
    if (result.mood === 'friendly' && request.url?.includes('fortunes')) {
      const headers = { 'content-type': 'text/html', 'access-control-allow-origin': '*' };
      return void response.writeHead(200, headers).end('<a href="/welcome">come in</a>');
    }
    const document = documentOf(request, { ...options, description: result.description });
    if (document) return void send(request, response, document);
    void fortunes.serve(request, response);
  });
  const webSockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => {});
    if (!known(request)) return void socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n');
    if (request.headers.upgrade?.toLowerCase() === 'websocket') {
      webSockets.handleUpgrade(request, socket, head, (connection) => {
        connection.on('message', (data) => connection.send(`echo ${data}`));
      });
      return;
    }
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(result, {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      result.breakConnections();
      await closed;
    },
  });
}

/** The stored resource. */
class Fortunes {
  readonly #apiVersion: string;
  readonly #objects = new Map<string, Fortune>();
  readonly #watchers = new Set<ServerResponse>();
  #revision = 1;

  constructor(apiVersion: string) {
    this.#apiVersion = apiVersion;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'https://fortunes');
    const match = /^\/apis\/[^/]+\/v1(?:\/namespaces\/([^/]+))?\/fortunes(?:\/([^/]+))?$/.exec(url.pathname);
    if (!match) return void json(response, 404, status(404, 'NotFound', `nothing at ${url.pathname}`));
    const [, namespace, name] = match;
    if (request.method === 'POST') return this.#create(request, response, namespace ?? '');
    if (name !== undefined) return this.#one(request, response, `${namespace}/${name}`);
    const items = [...this.#objects.values()].filter(({ metadata }) => !namespace || metadata.namespace === namespace);
    if (request.method === 'DELETE') {
      for (const { metadata } of items) this.#remove(`${metadata.namespace}/${metadata.name}`);
      return void json(response, 200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
    }
    if (url.searchParams.get('watch') === 'true' || url.searchParams.get('watch') === '1') return this.#watch(response);
    const metadata = { resourceVersion: String(this.#revision) };
    json(response, 200, { apiVersion: this.#apiVersion, kind: 'FortuneList', metadata, items });
  }

  async #create(request: IncomingMessage, response: ServerResponse, namespace: string): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = JSON.parse(Buffer.concat(chunks).toString()) as Fortune;
    const revision = String(++this.#revision);
    const made: Fortune = {
      apiVersion: this.#apiVersion,
      kind: 'Fortune',
      metadata: { ...sent.metadata, namespace, uid: `uid-${revision}`, resourceVersion: revision },
      spec: sent.spec,
    };
    this.#objects.set(`${namespace}/${made.metadata.name}`, made);
    this.#tell('ADDED', made);
    response.setHeader('warning', ['299 - "first"', '299 - "second"']);
    json(response, 201, made);
  }

  #one(request: IncomingMessage, response: ServerResponse, key: string): void {
    const found = this.#objects.get(key);
    if (!found) return json(response, 404, status(404, 'NotFound', `fortunes "${key}" not found`));
    if (request.method === 'DELETE') this.#remove(key);
    json(response, 200, found);
  }

  #remove(key: string): void {
    const found = this.#objects.get(key);
    this.#objects.delete(key);
    this.#revision++;
    if (found) this.#tell('DELETED', found);
  }

  #watch(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    this.#watchers.add(response);
    response.once('close', () => this.#watchers.delete(response));
  }

  #tell(type: string, object: Fortune): void {
    for (const watcher of this.#watchers) watcher.write(`${JSON.stringify({ type, object })}\n`);
  }
}

interface Document {
  readonly value: object;
  readonly contentType: string;
}

function documentOf(
  request: IncomingMessage,
  options: AggregatedServerOptions & { readonly description: string },
): Document | undefined {
  const { group, aggregatedDiscovery = true, openApiV3 = true, description } = options;
  const path = (request.url ?? '').split('?')[0]!;
  const contentType = 'application/json';
  const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'watch'];
  if (path === '/apis' && aggregatedDiscovery) {
    const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    if (!request.headers.accept?.includes(type)) return undefined;
    const responseKind = { group, version: 'v1', kind: 'Fortune' };
    const resource = {
      resource: 'fortunes',
      responseKind,
      scope: 'Namespaced',
      singularResource: 'fortune',
      verbs,
      shortNames: ['ft'],
      subresources: [{ subresource: 'echo', responseKind, verbs: ['get'] }],
    };
    const items = [{ metadata: { name: group }, versions: [{ version: 'v1', resources: [resource] }] }];
    const value = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
    return { value, contentType: type };
  }
  if (path === `/apis/${group}/v1`) {
    const named = { singularName: 'fortune', namespaced: true, kind: 'Fortune' };
    const resources = [
      { name: 'fortunes', ...named, verbs, shortNames: ['ft'] },
      { name: 'fortunes/echo', ...named, singularName: '', verbs: ['get'] },
    ];
    const value = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/v1`, resources };
    return { value, contentType };
  }
  if (path === '/openapi/v2') return { value: openApiV2(group, description), contentType };
  if (!openApiV3) return undefined;
  const name = `apis/${group}/v1`;
  if (path === '/openapi/v3') {
    const serverRelativeURL = `/openapi/v3/${name}?hash=${Buffer.from(description).toString('hex')}`;
    return { value: { paths: { [name]: { serverRelativeURL } } }, contentType };
  }
  return path === `/openapi/v3/${name}` ? { value: documentV3(group, description), contentType } : undefined;
}

function fortuneSchema(group: string, description: string, metadata: object) {
  return {
    description: 'Fortune is a saying.',
    type: 'object',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata,
      spec: { type: 'object', properties: { text: { type: 'string', description } } },
    },
    'x-kubernetes-group-version-kind': [{ group, version: 'v1', kind: 'Fortune' }],
  };
}

const action = (group: string) => ({
  'x-kubernetes-action': 'list',
  'x-kubernetes-group-version-kind': { group, version: 'v1', kind: 'Fortune' },
});

function openApiV2(group: string, description: string): object {
  const text = { type: 'string' };
  const metaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
  const reference = { $ref: '#/definitions/com.example.Fortune' };
  return {
    swagger: '2.0',
    info: { title: 'Fortunes', version: '1' },
    paths: {
      '/apis/': { get: { responses: { 200: { description: 'OK' } } } },
      [`/apis/${group}/v1/fortunes`]: {
        get: {
          operationId: 'listFortunes',
          responses: { 200: { description: 'OK', schema: reference } },
          ...action(group),
        },
      },
    },
    definitions: {
      'com.example.Fortune': fortuneSchema(group, description, { $ref: `#/definitions/${metaName}` }),
      // Another one than this server's own.
      [metaName]: { type: 'object', description: 'metadata of fortunes', properties: { name: text, namespace: text } },
      'com.example.Unused': { type: 'object' },
    },
  };
}

function documentV3(group: string, description: string): object {
  const schema = { $ref: '#/components/schemas/com.example.Fortune' };
  return {
    openapi: '3.0.0',
    info: { title: 'Fortunes', version: '1' },
    paths: {
      [`/apis/${group}/v1/fortunes`]: {
        get: {
          operationId: 'listFortunes',
          responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } },
          ...action(group),
        },
      },
    },
    components: { schemas: { 'com.example.Fortune': fortuneSchema(group, description, { type: 'object' }) } },
  };
}

function send(request: IncomingMessage, response: ServerResponse, { value, contentType }: Document): void {
  const body = JSON.stringify(value);
  const etag = `"${Buffer.from(body).toString('base64url').slice(-32)}${body.length}"`;
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
  response.writeHead(200, { 'content-type': contentType, etag }).end(body);
}

function json(response: ServerResponse, code: number, value: object): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function status(code: number, reason: string, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
}

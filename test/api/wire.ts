/** Requests as bytes on a real connection, over either version of HTTP, and what came back: for tests of what clients really see. */
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import type { Status } from '../../src/apimachinery/status.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Wire {
  readonly protocol: 'HTTP/1.1' | 'HTTP/2';
  ask(asked: Asked): Promise<Answer>;
  close(): void;
}

export interface Endpoint {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** PEM of a client certificate and its key. */
  readonly cert?: string;
  readonly key?: string;
}

const tlsOf = ({ ca, cert, key }: Endpoint): ConnectionOptions => ({
  ca,
  ...(cert === undefined ? {} : { cert }),
  ...(key === undefined ? {} : { key }),
});

export function openWires(endpoint: Endpoint): readonly Wire[] {
  return [openHttp1(endpoint), openHttp2(endpoint)];
}

export function openHttp1(endpoint: Endpoint): Wire {
  const agent = new Agent({ keepAlive: true, maxSockets: 4, ...tlsOf(endpoint) });
  return {
    protocol: 'HTTP/1.1',
    ask: ({ method = 'GET', path, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const url = new URL(endpoint.url);
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
        const target = { host: url.hostname, port: url.port, agent, method, path, headers: { ...length, ...headers } };
        const request = httpsRequest(target, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => void chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString(),
            }),
          );
        });
        request.on('error', reject);
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

export function openHttp2(endpoint: Endpoint): Wire & { readonly session: ClientHttp2Session } {
  const session = connectHttp2(endpoint.url, tlsOf(endpoint));
  return {
    protocol: 'HTTP/2',
    session,
    ask: ({ method = 'GET', path, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const stream = session.request(
          { ':method': method, ':path': path, ...headers },
          { endStream: body === undefined },
        );
        const chunks: Buffer[] = [];
        let head: IncomingHttpHeaders = {};
        stream.on('response', (received) => {
          head = received;
        });
        stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
        stream.on('end', () =>
          resolve({ status: Number(head[':status']), headers: head, text: Buffer.concat(chunks).toString() }),
        );
        stream.on('error', reject);
        if (body !== undefined) stream.end(body);
      }),
    close: () => session.close(),
  };
}

/** A connection on which the test writes what it likes. */
export function openSocket(endpoint: Endpoint, protocol = 'http/1.1'): Promise<TLSSocket> {
  const { hostname, port } = new URL(endpoint.url);
  return new Promise((resolve, reject) => {
    const options = { host: hostname, port: Number(port), ALPNProtocols: [protocol], ...tlsOf(endpoint) };
    const socket = connectTls(options, () => resolve(socket));
    socket.on('error', reject);
  });
}

/** Everything the server says until it hangs up. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.on('end', () => socket.end());
  });
}

export function statusOf(answer: Answer): Status {
  return JSON.parse(answer.text) as Status;
}

export const json = { 'content-type': 'application/json' };
export const yaml = { 'content-type': 'application/yaml' };
export const mergePatch = { 'content-type': 'application/merge-patch+json' };
export const jsonPatch = { 'content-type': 'application/json-patch+json' };
export const strategicPatch = { 'content-type': 'application/strategic-merge-patch+json' };

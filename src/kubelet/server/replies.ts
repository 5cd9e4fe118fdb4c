/** Answers of the kubelet's server: text, JSON or a stream, to a request or to a client that asked for an upgrade. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { UpgradeRequest } from '../../serving/upgrade.ts';
import { refuseUpgrade } from '../../serving/upgrade.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is flushed as it comes. */
  readonly body: string | Buffer | AsyncIterable<Uint8Array>;
}

export function text(body: string, status = 200, contentType = 'text/plain; charset=utf-8'): Reply {
  return { status, headers: { 'content-type': contentType, 'x-content-type-options': 'nosniff' }, body };
}

export function json(body: unknown): Reply {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

export function failure(status: number, message: string): Reply {
  return text(message, status);
}

export const notFoundPage = (): Reply => failure(404, '404: Page Not Found');
export const wrongMethod = (): Reply => failure(405, '405: Method Not Allowed');

/** A refusal that is thrown from within. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
  }
}

/** Resolves when the answer has left, or its reader has gone. */
export async function sendReply(response: ServerResponse, { status, headers, body }: Reply): Promise<void> {
  if (response.destroyed) return;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
    response.end(response.req.method === 'HEAD' ? undefined : body);
    return;
  }
  response.writeHead(status, headers);
  response.flushHeaders();
  await pipeline(Readable.from(body, { objectMode: false }), response);
}

export function sendRefusal({ socket }: UpgradeRequest, { status, headers, body }: Reply): void {
  const message = typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : '';
  refuseUpgrade(socket, status, message, headers['content-type']);
}

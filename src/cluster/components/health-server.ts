/** The pages of a component about itself: its health, its metrics. Plain HTTP or HTTPS; open to everybody unless it is said who may read them. */
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import { defaultTlsParameters, type TlsParameters } from '../../serving/tls-parameters.ts';
import { CommandError } from '../command-error.ts';
import type { ComponentAccess } from './component-access.ts';

export type HealthPage = () => { readonly healthy: boolean; readonly text: string; readonly type?: string };

export interface HealthServerOptions {
  readonly host: string;
  /** 0: no server. */
  readonly port: number;
  readonly paths: Readonly<Record<string, HealthPage>>;
  /** Absent: everybody may read all pages. */
  readonly access?: Pick<ComponentAccess, 'refusal'> | undefined;
  /** Absent: plain HTTP. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
  readonly tlsParameters?: TlsParameters | undefined;
}

export const alwaysOk: HealthPage = () => ({ healthy: true, text: 'ok' });

export interface HealthServer extends AsyncDisposable {
  /** For connections from now on. */
  replaceCertificate(tls: { readonly certificate: string; readonly key: string }): void;
}

export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { host, port, tls, tlsParameters = defaultTlsParameters } = options;
  if (port === 0) return { replaceCertificate() {}, [Symbol.asyncDispose]: async () => {} };
  const answer: RequestListener = (request, response) => void answerTo(request, response, options);
  // Certificates of clients are looked at, where that is asked for, by who decides about access.
  const clients = { requestCert: options.access !== undefined, rejectUnauthorized: false };
  const secure = tls && createServer({ ...tlsParameters, ...clients, cert: tls.certificate, key: tls.key }, answer);
  const server = secure ?? createPlainServer(answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CommandError(
          `failed to listen on ${host}:${port}: ${error.code === 'EADDRINUSE' ? 'address already in use' : error.message}.`,
          'Choose another port, or stop the program that has it.',
        ),
      ),
    );
    server.listen({ host, port }, () => resolve());
  });
  return {
    replaceCertificate: ({ certificate, key }) =>
      secure?.setSecureContext({ ...tlsParameters, cert: certificate, key }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answerTo(
  request: IncomingMessage,
  response: ServerResponse,
  { paths, access }: HealthServerOptions,
): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const refusal = await access?.refusal(request, path);
  const send = (code: number, type: string, text: string) => {
    response.writeHead(code, { 'content-type': type, 'x-content-type-options': 'nosniff' });
    response.end(text);
  };
  if (refusal) return send(refusal.code, 'application/json', `${JSON.stringify(refusal.status)}\n`);
  const page = Object.hasOwn(paths, path) ? paths[path] : undefined;
  const plain = 'text/plain; charset=utf-8';
  if (!page) return send(404, plain, '404 page not found\n');
  const { healthy, text, type = plain } = page();
  send(healthy ? 200 : 503, type, text);
}

/** `host:port`, `[::]:port`. */
export function splitHostPort(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text);
  if (!match) return { host: text, port: 0 };
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) };
}

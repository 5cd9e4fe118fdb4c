/** The health page of a component: plain HTTP or HTTPS, open to everybody, and nothing else behind it. */
import { createServer as createPlainServer, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { defaultTlsParameters, type TlsParameters } from '../../serving/tls-parameters.ts';
import { CommandError } from '../command-error.ts';

export interface HealthServerOptions {
  readonly host: string;
  /** 0: no server. */
  readonly port: number;
  readonly paths: Readonly<
    Record<string, () => { readonly healthy: boolean; readonly text: string; readonly type?: string }>
  >;
  /** Absent: plain HTTP. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
  readonly tlsParameters?: TlsParameters | undefined;
}

export const alwaysOk = () => ({ healthy: true, text: 'ok' });

export interface HealthServer extends AsyncDisposable {
  /** For connections from now on. */
  replaceCertificate(tls: { readonly certificate: string; readonly key: string }): void;
}

export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { host, port, paths, tls, tlsParameters = defaultTlsParameters } = options;
  if (port === 0) return { replaceCertificate() {}, [Symbol.asyncDispose]: async () => {} };
  const answer: RequestListener = (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const look = Object.hasOwn(paths, path) ? paths[path] : undefined;
    const {
      healthy,
      text,
      type = 'text/plain; charset=utf-8',
    } = look?.() ?? { healthy: false, text: '404 page not found\n' };
    response.writeHead(look ? (healthy ? 200 : 503) : 404, {
      'content-type': type,
      'x-content-type-options': 'nosniff',
    });
    response.end(text);
  };
  const secure = tls && createServer({ ...tlsParameters, cert: tls.certificate, key: tls.key }, answer);
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

/** `host:port`, `[::]:port`. */
export function splitHostPort(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text);
  if (!match) return { host: text, port: 0 };
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) };
}

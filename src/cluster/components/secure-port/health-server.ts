/**
 * The port of a component: its health pages, plain HTTP or HTTPS, open to everybody; over HTTPS also pages that only those get who may
 * read their path.
 *
 * The room: a component's own port, its certificate and who may read which page. It listens, and asks the API server who somebody is. A
 * page is added to `component-metrics.ts` or `causes-page.ts`, or beside them.
 */

import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import { quote } from '../../../apimachinery/go-text.ts';
import { forbidden, messageOf, type Status, unauthorized } from '../../../apimachinery/status.ts';
import { hostPort } from '../../../base/host-port.ts';
import type { Log } from '../../../base/log.ts';
import { metricsContentType } from '../../../base/metrics/families.ts';
import type { Authenticate } from '../../../serving/delegated-authentication.ts';
import type { Authorize } from '../../../serving/delegated-authorization.ts';
import { refusePlainHttp } from '../../../serving/plain-http-refusal.ts';
import { defaultTlsParameters, type TlsParameters } from '../../../serving/tls-parameters.ts';
import { CommandError } from '../../command-error.ts';

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
  readonly guarded?: GuardedPages | undefined;
}

export interface GuardedPages {
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  readonly log: Log;
  /** By path: what is told, a text as metrics are, all else as JSON. */
  readonly pages: Readonly<Record<string, () => unknown>>;
}

export const alwaysOk = () => ({ healthy: true, text: 'ok' });

export interface HealthServer extends AsyncDisposable {
  /** What connections are shown; undefined without TLS. */
  readonly certificate: string | undefined;
  /** For connections from now on. */
  replaceCertificate(tls: { readonly certificate: string; readonly key: string }): void;
}

export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { host, port, paths, tls, tlsParameters = defaultTlsParameters, guarded } = options;
  if (port === 0) return { certificate: undefined, replaceCertificate() {}, [Symbol.asyncDispose]: async () => {} };
  const answer: RequestListener = (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (tls && guarded && Object.hasOwn(guarded.pages, path))
      return void answerGuarded(guarded, path, request, response);
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
  const secure =
    tls &&
    createServer(
      {
        ...tlsParameters,
        cert: tls.certificate,
        key: tls.key,
        requestCert: guarded !== undefined,
        rejectUnauthorized: false,
      },
      answer,
    );
  if (secure) refusePlainHttp(secure);
  const server = secure ?? createPlainServer(answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CommandError(
          `failed to listen on ${hostPort({ host, port })}: ${error.code === 'EADDRINUSE' ? 'address already in use' : error.message}.`,
          'Choose another port, or stop the program that has it.',
        ),
      ),
    );
    server.listen({ host, port }, () => resolve());
  });
  let shown = tls?.certificate;
  return {
    get certificate() {
      return shown;
    },
    replaceCertificate({ certificate, key }) {
      secure?.setSecureContext({ ...tlsParameters, cert: certificate, key });
      shown = certificate;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answerGuarded(
  { pages, ...access }: GuardedPages,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refusal = await refusalFor(access, path, request);
  const body = refusal ?? pages[path]?.();
  const isText = typeof body === 'string';
  const type = isText ? metricsContentType : 'application/json';
  response.writeHead(refusal?.code ?? 200, { 'content-type': type, 'x-content-type-options': 'nosniff' });
  response.end(isText ? body : JSON.stringify(body));
}

/** Undefined: they may. What cannot be found out is refused. */
async function refusalFor(
  { authenticate, authorize, log }: Omit<GuardedPages, 'pages'>,
  path: string,
  request: IncomingMessage,
): Promise<Status | undefined> {
  const verb = (request.method ?? '').toLowerCase();
  try {
    const user = await authenticate(request);
    if (!user) return unauthorized().status;
    if ((await authorize({ user, path, verb })).allowed) return undefined;
    return forbidden({ group: '', resource: '' }, '', `User ${quote(user.name)} cannot ${verb} path ${quote(path)}`)
      .status;
  } catch (error) {
    log.info('a request to a guarded page could not be decided', { path, error: messageOf(error) });
    return unauthorized().status;
  }
}

/** `host:port`, `[::]:port`. */
export function splitHostPort(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text);
  if (!match) return { host: text, port: 0 };
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) };
}

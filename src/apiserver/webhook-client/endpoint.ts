/**
 * Where a webhook is, whom it must prove to be, and what it is shown: from the two forms in which people write that down, the
 * `clientConfig` of API objects and the kubeconfig in files of the API server.
 */
import type { WebhookClientConfig } from '../../api/gen/admissionregistration-v1.ts';
import { hostPort } from '../../base/host-port.ts';
import type { HttpTransportOptions, Impersonation, TlsOptions } from '../../client/http-transport.ts';

export interface Credentials {
  /** PEM. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  readonly token?: string | (() => string | Promise<string>) | undefined;
  readonly basicAuth?: { readonly username: string; readonly password: string } | undefined;
  readonly impersonate?: Impersonation | undefined;
}

export interface ServiceTarget {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface Endpoint {
  /** `https://host:port/path`, as messages show it. */
  readonly url: string;
  readonly secure: boolean;
  /** What is dialled, unless there is a Service. */
  readonly host: string;
  readonly port: number;
  /** As the `Host` header has it. */
  readonly authority: string;
  readonly path: string;
  readonly service?: ServiceTarget | undefined;
  readonly tls: TlsOptions;
  readonly credentials: Credentials;
}

/** What `transportOptions` makes of a kubeconfig. */
export type WebhookServer = Pick<HttpTransportOptions, 'server' | 'tls' | 'token' | 'basicAuth' | 'impersonate'>;

const defaultPort = 443;

/** Throws an `Error` for a configuration that names nothing to call. */
export function configEndpoint(
  { url, service, caBundle }: WebhookClientConfig,
  credentialsFor: (hostPort: string) => Credentials = () => ({}),
): Endpoint {
  const ca = caBundle ? Buffer.from(caBundle, 'base64').toString('latin1') : undefined;
  if (service) {
    const { namespace, name, path = '', port = defaultPort } = service;
    const serverName = `${name}.${namespace}.svc`;
    const authority = hostPort({ host: serverName, port });
    const credentials = credentialsFor(authority);
    return {
      ...located(`https://${authority}`, joinedPath(path)),
      service: { namespace, name, port },
      tls: { ca, serverName, cert: credentials.cert, key: credentials.key },
      credentials,
    };
  }
  if (!url) throw new Error('webhook configuration must have either service or URL');
  const parsed = URL.parse(url);
  if (!parsed) throw new Error(`Unparsable URL: parse ${JSON.stringify(url)}: invalid URL`);
  const credentials = credentialsFor(parsed.port ? parsed.host : `${parsed.host}:${defaultPort}`);
  return {
    ...located(originOf(url, parsed), joinedPath(parsed.pathname)),
    tls: { ca, cert: credentials.cert, key: credentials.key },
    credentials,
  };
}

/** Throws an `Error` for an address that is none. */
export function serverEndpoint({ server, tls = {}, token, basicAuth, impersonate }: WebhookServer): Endpoint {
  const parsed = URL.parse(server);
  if (!parsed) throw new Error(`Unparsable URL: parse ${JSON.stringify(server)}: invalid URL`);
  return {
    ...located(originOf(server, parsed), joinedPath(parsed.pathname)),
    tls,
    credentials: { cert: tls.cert, key: tls.key, token, basicAuth, impersonate },
  };
}

/** With the port where the user wrote one, be it the scheme's own: messages show addresses as they were given. */
function originOf(text: string, { protocol, hostname, port }: URL): string {
  const written = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:([0-9]+)(?:[/?#]|$)/i.exec(text)?.[1] ?? port;
  return `${protocol}//${hostname}${written === '' ? '' : `:${Number(written)}`}`;
}

function located(origin: string, path: string) {
  const url = new URL(origin);
  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  const authority = origin.slice(origin.indexOf('//') + 2);
  return { url: `${origin}${path}`, secure, host: url.hostname.replace(/^\[|\]$/g, ''), port, authority, path };
}

/** From the root, without doubled slashes and without one at the end. */
function joinedPath(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '');
  return encodeURI(decodedOnce(`/${segments.join('/')}`)).replace(/[?#]/g, encodeURIComponent);
}

function decodedOnce(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/**
 * The way to the server that one APIService names: TLS with its `caBundle` or none, this server's certificate as the front proxy, and
 * connections that are kept between requests. Certificates are verified against the Service's name, wherever it leads.
 */
import type { APIServiceSpec } from '../../api/gen/apiregistration-v1.ts';
import { StatusError } from '../../apimachinery/status.ts';
import { hostPort } from '../../base/host-port.ts';
import { connectionFailure, type Dial, type DialAddress, DialError } from '../../serving/dial.ts';
import { answerTo, type OutgoingRequest, type UpgradeAnswer } from '../../serving/upgrade.ts';
import { ConnectionPool } from '../webhook-client/connection-pool.ts';
import type { ServiceLocations, ServicePlace } from './service-location.ts';

/** `--proxy-client-cert-file` and `--proxy-client-key-file` (PEM), asked for each time so that renewed ones are taken. */
export type ProxyCredentials = () => { readonly certificate: string; readonly key: string } | undefined;

export interface RemoteServerOptions {
  readonly locations: Pick<ServiceLocations, 'address'>;
  readonly dial: Dial;
  readonly credentials?: ProxyCredentials | undefined;
}

export interface RemoteRequest extends OutgoingRequest {
  /** With query. */
  readonly path: string;
}

/** Endpoints that connections are kept to at the same time. */
const keptPools = 16;

export class RemoteServer {
  readonly place: ServicePlace;
  readonly #spec: APIServiceSpec;
  readonly #options: RemoteServerOptions;
  /** By address and certificate shown. */
  readonly #pools = new Map<string, ConnectionPool>();

  constructor(spec: APIServiceSpec, options: RemoteServerOptions) {
    const { namespace = '', name = '', port = 443 } = spec.service ?? {};
    this.place = { namespace, name, port };
    this.#spec = spec;
    this.#options = options;
  }

  /** Throws what keeps the Service from being found. */
  locate(): DialAddress {
    return this.#options.locations.address(this.place);
  }

  /** Rejects with a `DialError` when there is no answer, or with the signal's reason. */
  async send(address: DialAddress, request: RemoteRequest): Promise<UpgradeAnswer> {
    const { method, path, headers, body, signal } = request;
    const pool = this.#poolTo(address);
    for (;;) {
      const outgoing = pool.request({ method, path, headers: { host: hostPort(address), ...headers } as never });
      try {
        return await answerTo(outgoing, { body, signal });
      } catch (error) {
        // A kept connection may have been closed at the other end meanwhile; what has no body can be asked again.
        const stale = outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (stale && body === undefined && !signal?.aborted) continue;
        throw signal?.aborted ? error : inWords(error, address);
      }
    }
  }

  /** Ends idle connections; requests under way finish. */
  close(): void {
    for (const pool of this.#pools.values()) pool.drain();
    this.#pools.clear();
  }

  #poolTo(address: DialAddress): ConnectionPool {
    const { certificate = '', key = '' } = this.#options.credentials?.() ?? {};
    const at = `${hostPort(address)} ${certificate}`;
    const known = this.#pools.get(at);
    if (known) return known;
    const { caBundle, insecureSkipTLSVerify = false } = this.#spec;
    const { namespace, name } = this.place;
    const pool = new ConnectionPool(
      {
        url: `https://${hostPort(address)}`,
        secure: true,
        ...address,
        authority: hostPort(address),
        path: '/',
        tls: {
          serverName: `${name}.${namespace}.svc`,
          ...(caBundle ? { ca: Buffer.from(caBundle, 'base64').toString('latin1') } : {}),
          ...(certificate === '' ? {} : { cert: certificate, key }),
          insecureSkipVerify: insecureSkipTLSVerify,
        },
        credentials: {},
      },
      this.#options.dial,
    );
    this.#pools.set(at, pool);
    const [oldest] = this.#pools;
    if (oldest && this.#pools.size > keptPools) {
      this.#pools.delete(oldest[0]);
      oldest[1].drain();
    }
    return pool;
  }
}

function inWords(error: unknown, { host }: DialAddress): Error {
  if (error instanceof DialError || error instanceof StatusError) return error;
  return new DialError(connectionFailure(error, host), (error as NodeJS.ErrnoException).code ?? '', { cause: error });
}

/**
 * Who sends how much to an API server of this process, counted where requests arrive: Node.js tells of each stream of HTTP/2. Users are told apart
 * by the names in their certificates.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';

export interface Traffic {
  /** By method and resource, as `PUT leases`. */
  readonly requests: ReadonlyMap<string, number>;
  /** By the server, of connections that are still open; encryption included. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

interface Stream {
  readonly stream: ServerHttp2Stream;
  readonly headers: Readonly<Record<string, string>>;
}

/** Counts from its making on, of the whole process. */
export class TrafficCount {
  readonly #requests = new Map<string, Map<string, number>>();
  readonly #sockets = new Map<string, Set<TLSSocket>>();
  readonly #users = new WeakMap<Http2Session, string>();

  constructor() {
    subscribe('http2.server.stream.start', (message) => this.#add(message as Stream));
  }

  /** Of a user, so far. */
  of(user: string): Traffic {
    const sockets = [...(this.#sockets.get(user) ?? [])];
    return {
      requests: new Map(this.#requests.get(user)),
      receivedBytes: sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
      sentBytes: sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    };
  }

  #add({ stream, headers }: Stream): void {
    const user = stream.session ? this.#userOf(stream.session) : '';
    const requests = this.#requests.get(user) ?? new Map<string, number>();
    this.#requests.set(user, requests);
    const what = requestName(headers[':method'] ?? '', headers[':path'] ?? '');
    requests.set(what, (requests.get(what) ?? 0) + 1);
  }

  /** A certificate is read once for each connection: that costs more than a small request. */
  #userOf(session: Http2Session): string {
    const known = this.#users.get(session);
    if (known !== undefined) return known;
    const socket = session.socket as TLSSocket;
    const user = String(socket.getPeerCertificate().subject?.CN ?? '');
    this.#users.set(session, user);
    const sockets = this.#sockets.get(user) ?? new Set<TLSSocket>();
    this.#sockets.set(user, sockets);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return user;
  }
}

export function since(before: Traffic, after: Traffic): Traffic {
  const changed = [...after.requests]
    .map(([what, count]) => [what, count - (before.requests.get(what) ?? 0)] as const)
    .filter(([, count]) => count > 0);
  return {
    requests: new Map(changed.sort(([, a], [, b]) => b - a)),
    receivedBytes: after.receivedBytes - before.receivedBytes,
    sentBytes: after.sentBytes - before.sentBytes,
  };
}

/** `PATCH pods/status` for `/api/v1/namespaces/default/pods/web/status`. */
function requestName(method: string, target: string): string {
  const [path = '', query = ''] = target.split('?');
  const inGroup = path.replace(/^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\//, '');
  const [resource = '', , subresource] = inGroup.replace(/^namespaces\/[^/]+\/(?=.)/, '').split('/');
  const verb = /(?:^|&)watch=(?:true|1)/.test(query) ? 'WATCH' : method;
  return `${verb} ${[resource, subresource].filter(Boolean).join('/')}`;
}

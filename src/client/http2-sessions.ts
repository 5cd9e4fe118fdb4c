/**
 * The connections of one HTTP transport. A request goes over a session that still takes streams; when all are full (servers allow
 * some hundred, and each watch holds one for long) or gone, another is opened. A session that falls silent is pinged and given up
 * when no answer comes, so that a cut cable does not leave watches hanging.
 */
import * as http2 from 'node:http2';
import type { SecureContextOptions } from 'node:tls';
import type { Clock, Timer } from '../base/clock.ts';
import { ConnectionError } from './connection-error.ts';

export interface SessionOptions {
  /** `https://host:port` or `http://host:port`. */
  readonly origin: string;
  readonly clock: Clock;
  readonly tls?: SecureContextOptions & { readonly servername?: string; readonly rejectUnauthorized?: boolean };
  /** Silence on a busy connection after which it is pinged, and how long the answer may take. Defaults as client-go's. */
  readonly pingAfterMs?: number;
  readonly pingTimeoutMs?: number;
}

const connectTimeoutMs = 30_000;
/** What servers allow that do not say. */
const assumedStreams = 100;
/** Large answers should not wait for window updates. */
const streamWindowBytes = 4 * 1024 * 1024;
const sessionWindowBytes = 32 * 1024 * 1024;

/** One connection; its fields are `Http2Sessions`' own. */
export interface Session {
  readonly session: http2.ClientHttp2Session;
  streams: number;
  /** No new streams: the server said goodbye or an error came. */
  closing: boolean;
  connected: boolean;
  error: Error | undefined;
  lastHeardMs: number;
  ping: Timer | undefined;
}

export class Http2Sessions {
  readonly #options: SessionOptions;
  #tls: SessionOptions['tls'];
  readonly #sessions = new Set<Session>();
  #closed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#tls = options.tls;
  }

  /** For new connections; those that are open take no more requests and end with their last stream. */
  replaceTls(tls: SessionOptions['tls']): void {
    this.#tls = tls;
    for (const session of this.#sessions) {
      session.closing = true;
      session.session.close();
    }
  }

  /** Opens a stream. Its 'error' event carries the session's error where that is the cause; see `connectionError`. */
  request(
    headers: http2.OutgoingHttpHeaders,
    endStream: boolean,
  ): { stream: http2.ClientHttp2Stream; session: Session } {
    if (this.#closed) throw this.#error(new Error('the transport is closed'), true);
    const session = this.#available();
    const stream = session.session.request(headers, { endStream });
    this.#count(session, stream);
    return { stream, session };
  }

  /**
   * Nobody waits for this stream any more. A connection that was not there in time is left to those who still wait for it: who comes next
   * had better dial anew, as the other end may be gone without a word.
   */
  giveUp(stream: http2.ClientHttp2Stream, session: Session): void {
    if (session.connected) {
      stream.close(http2.constants.NGHTTP2_CANCEL);
      return;
    }
    session.closing = true;
    // To close one, Node.js would wait for the connection.
    stream.destroy();
  }

  /** Something came over the session: it lives. */
  heard(session: Session): void {
    session.lastHeardMs = this.#options.clock.monotonic();
  }

  /** What became of a stream, in words for people. */
  connectionError(cause: unknown, session: Session, answered: boolean): ConnectionError {
    const error = session.error ?? (cause instanceof Error ? cause : new Error(String(cause)));
    const refused =
      (cause as { code?: string }).code === 'ERR_HTTP2_STREAM_ERROR' && /REFUSED_STREAM/.test(String(cause));
    return this.#error(error, !answered && (!session.connected || refused));
  }

  /** Connections now open. */
  get size(): number {
    return this.#sessions.size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const sessions = [...this.#sessions];
    await Promise.all(
      sessions.map(
        ({ session }) =>
          new Promise<void>((resolve) => {
            if (session.destroyed) return resolve();
            session.once('close', () => resolve());
            session.destroy();
          }),
      ),
    );
  }

  #available(): Session {
    for (const session of this.#sessions) {
      const most = session.session.remoteSettings?.maxConcurrentStreams ?? assumedStreams;
      if (!session.closing && !session.session.destroyed && session.streams < Math.min(most, 1000)) return session;
    }
    return this.#open();
  }

  #open(): Session {
    const { origin, clock } = this.#options;
    const connection = http2.connect(origin, {
      ...this.#tls,
      // The default of 10 MB ends a session that carries a large LIST and many watches.
      maxSessionMemory: 1000,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
    });
    const session: Session = {
      session: connection,
      streams: 0,
      closing: false,
      connected: false,
      error: undefined,
      lastHeardMs: clock.monotonic(),
      ping: undefined,
    };
    this.#sessions.add(session);
    const deadline = clock.after(connectTimeoutMs, () => {
      connection.destroy(Object.assign(new Error('dial timeout'), { code: 'ETIMEDOUT' }));
    });
    connection.once('connect', () => {
      deadline.cancel();
      session.connected = true;
      session.lastHeardMs = clock.monotonic();
      connection.setLocalWindowSize(sessionWindowBytes);
    });
    connection.on('goaway', () => {
      session.closing = true;
    });
    connection.on('error', (error) => {
      session.closing = true;
      session.error ??= error;
    });
    connection.once('close', () => {
      deadline.cancel();
      session.closing = true;
      session.ping?.cancel();
      this.#sessions.delete(session);
    });
    return session;
  }

  /** An idle connection must not keep the process alive; a busy one is watched for silence. */
  #count(session: Session, stream: http2.ClientHttp2Stream): void {
    const connection = session.session;
    if (session.streams++ === 0) {
      connection.ref();
      this.#listen(session);
    }
    stream.once('close', () => {
      if (--session.streams > 0) return;
      session.ping?.cancel();
      session.ping = undefined;
      if (connection.destroyed) return;
      if (session.connected) connection.unref();
      else connection.destroy();
    });
  }

  #listen(session: Session): void {
    const { clock, pingAfterMs = 30_000, pingTimeoutMs = 15_000 } = this.#options;
    const silentMs = clock.monotonic() - session.lastHeardMs;
    session.ping?.cancel();
    if (silentMs < pingAfterMs || !session.connected) {
      session.ping = clock.after(Math.max(pingAfterMs - silentMs, 1000), () => this.#listen(session));
      return;
    }
    session.ping = clock.after(pingTimeoutMs, () => {
      session.session.destroy(Object.assign(new Error('http2: client connection lost'), { code: 'ECONNRESET' }));
    });
    if (session.session.destroyed) return;
    session.session.ping((error) => {
      if (error) return;
      session.lastHeardMs = clock.monotonic();
      this.#listen(session);
    });
  }

  #error(cause: Error, neverSent: boolean): ConnectionError {
    const code = (cause as NodeJS.ErrnoException).code ?? 'ECONNRESET';
    const { origin } = this.#options;
    const reason = code === 'ECONNREFUSED' ? 'connection refused' : cause.message;
    return new ConnectionError(`no answer from the API server at ${origin}: ${reason}`, { code, neverSent }, { cause });
  }
}

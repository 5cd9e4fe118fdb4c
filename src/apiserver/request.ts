/**
 * A request to the API server as every stage of the pipeline sees it, whichever transport it came by: HTTPS, or a call from a
 * component of the same process. The order of the stages stands in `pipeline.ts`.
 */

import type { UserInfo } from '../serving/user-info.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { YamlThread } from './encoding/yaml-thread.ts';

export type { UserInfo } from '../serving/user-info.ts';

/** What the URL means, before anything is looked up. */
export interface RequestInfo {
  readonly isResource: boolean;
  /** For resources: get list watch create update patch delete deletecollection proxy; for other paths the lower-case method. */
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Path segments after `resource/name/subresource`, as proxies use them. */
  readonly rest: readonly string[];
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
}

/** The body: bytes from a socket, read once and with a limit; or a value handed over by a component of the same process. */
export type RequestBody =
  | { readonly kind: 'none' }
  /** Rejects with a `StatusError` 413 above `limitBytes`, 400 when the sender stops half-way. */
  | {
      readonly kind: 'bytes';
      read(limitBytes: number): Promise<Buffer>;
      /** As they arrive, in the stead of `read`, for who hands them on: nothing is kept, and the sender waits for the taker. */
      pieces?(): AsyncIterable<Uint8Array>;
    }
  | { readonly kind: 'value'; readonly value: unknown };

/** An HTTP/1.1 connection that asked to be upgraded (SPDY or WebSocket); whoever takes it answers on the socket itself. */
export interface UpgradeConnection {
  readonly request: import('node:http').IncomingMessage;
  readonly socket: import('node:stream').Duplex;
  readonly head: Buffer;
}

export interface ApiRequest {
  readonly method: string;
  /** Decoded path without query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The query as the client wrote it, for who hands it on; absent: what `query` says. */
  readonly search?: string | undefined;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: RequestBody;
  readonly remoteAddress: string;
  /** DER of the verified client certificate chain, leaf first; empty without one. */
  readonly clientCertificates: readonly Buffer[];
  /** Set by the in-process transport, and after authentication. */
  readonly user?: UserInfo | undefined;
  /** What the audit log tells of this request; set after authentication, absent where it tells nothing. */
  readonly audit?: AuditTrail | undefined;
  /** What the request is called in every audit log on its way; set by the pipeline. */
  readonly auditID?: string | undefined;
  /** Aborted when the client is gone or the request's time is up. */
  readonly signal: AbortSignal;
  /** Aborts the signal: the time is up. Absent where the signal is the caller's own. */
  expire?(): void;
  readonly upgrade?: UpgradeConnection | undefined;
  /** Where long YAML is read, set by the pipeline; absent: on the spot. */
  readonly yamlThread?: YamlThread | undefined;
}

/** Streams and watches of an answer with the status 101 leave over the WebSocket that the client asked for. */
export type ResponseBody =
  | { readonly kind: 'none' }
  /** An object of the API; encoded as the request's Accept header asks, or handed over as it is in-process. */
  | { readonly kind: 'object'; readonly object: unknown }
  /** Encoded bytes, in order; `contentType` is in the headers. */
  | {
      readonly kind: 'bytes';
      readonly chunks: readonly Uint8Array[];
      /** What the bytes tell, where they are not JSON; for the audit log. */
      readonly object?: (() => unknown) | undefined;
    }
  /** `live`: each chunk leaves as it comes, and nothing is compressed on the way (logs that are followed, answers of backends). */
  | {
      readonly kind: 'stream';
      readonly chunks: AsyncIterable<Chunk>;
      readonly live?: boolean | undefined;
      readonly object?: (() => unknown) | undefined;
    }
  /** A watch; each transport frames the events itself. */
  | { readonly kind: 'watch'; readonly events: WatchSource }
  /** The connection was taken over (upgrade); nothing more to send. */
  | { readonly kind: 'taken' };

/**
 * Bytes of a stream that leave together: in one piece, or in parts that follow each other. A long list consists of cached parts, and
 * joining them would make as many bytes again, which the garbage collector of a full server takes for a reason to run.
 */
export type Chunk = Uint8Array | readonly Uint8Array[];

/** One event of a watch; `encoded()` gives the JSON line shared by all watchers of the same version and media type. */
export interface WatchFrame {
  readonly type: string;
  readonly object: unknown;
  encoded(): Buffer;
}

/** Where frames go. */
export interface FrameSink {
  /** A promise: nothing more until it resolves. */
  write(frames: readonly WatchFrame[]): Promise<void> | undefined;
  end(): void;
}

/** What a watch tells, to one reader: who is called with what has come in, or who asks for it. */
export interface WatchSource {
  /** From now on everything goes to the sink, its end included. */
  pumpTo(sink: FrameSink): void;
  /** What is there, or the next that comes; undefined at the end. */
  takeBatch(): Promise<readonly WatchFrame[] | undefined>;
  /** The reader has gone away: drops everything. */
  cancel(): void;
  /** Calls back once, when the watch has ended for whatever reason; at once if it has. */
  onEnd(callback: () => void): void;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
  /** Told the size of the body, once, by whoever writes it; in-process answers have none. */
  readonly weighed?: ((bytes: number) => void) | undefined;
}

/** A stage or the end of the pipeline. Throws `StatusError` for what should become a `Status`. */
export type Handler = (request: ApiRequest, info: RequestInfo) => Promise<ApiResponse>;

/**
 * Calls to the members of an etcd cluster. One member is asked at a time; when it cannot be reached, or has no leader, the next one is.
 * A read is tried again until its time is up. A write is tried again only if it cannot have been carried out: else its failure is told,
 * for its outcome is not known.
 */
import {
  type ClientDuplexStream,
  credentials,
  Client as GrpcClient,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import type { Draft, Message, Table } from '../../base/wire-message.ts';
import { BackendError } from '../store.ts';
import {
  type Method,
  methods,
  type WatchRequest,
  type WatchResponse,
  watchPath,
  watchRequest,
  watchResponse,
} from './messages.ts';

export interface EtcdTls {
  readonly caPem?: string | undefined;
  readonly certificatePem?: string | undefined;
  readonly keyPem?: string | undefined;
}

export interface EtcdConnectionOptions {
  /** `https://10.0.0.1:2379`; without a scheme: as with `http`. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls | undefined;
  readonly clock: Clock;
  /** Of one call with all its tries. Default 10 seconds. */
  readonly requestTimeoutMs?: number | undefined;
  /** How long a member may say nothing before it is asked whether it lives. Default 30 seconds, as upstream's client. */
  readonly keepaliveMs?: number | undefined;
}

export type WatchStream = ClientDuplexStream<WatchRequest, WatchResponse>;

export interface WatchedMember {
  /** Its release; empty if it does not tell that to such as us. */
  version(): Promise<string>;
  /** A stream that etcd ends when the member loses the leader. */
  open(): WatchStream;
  /** Lets the next watch go to another. */
  leave(): void;
}

/** What etcd said to a call, in the words in which its own client tells it. */
export class EtcdError extends BackendError {
  override readonly name = 'EtcdError';
  /** Of gRPC. */
  readonly code: number;
  /** What was said, without what the client adds. */
  readonly details: string;
  constructor(code: number, details: string, options?: ErrorOptions) {
    super(isEtcds(code, details) ? details : `rpc error: code = ${codeName(code)} desc = ${details}`, options);
    this.code = code;
    this.details = details;
  }
}

interface CallOptions {
  /** Whether it may be carried out twice. */
  readonly repeatable: boolean;
  /** Of this call with all its tries, where it is not the connection's. */
  readonly timeoutMs?: number | undefined;
}

const defaultRequestTimeoutMs = 10_000;
const defaultKeepaliveMs = 30_000;
/** How long a member may take to say that it lives. */
const longestSilenceMs = 10_000;
const retryDelayMs = 50;
const channelOptions = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.use_local_subchannel_pool': 1,
} as const;

export class EtcdConnection {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #endpoints: readonly string[];
  readonly #members: readonly GrpcClient[];
  #current = 0;

  constructor({ endpoints, tls, clock, requestTimeoutMs, keepaliveMs }: EtcdConnectionOptions) {
    if (endpoints.length === 0) throw new TypeError('no etcd endpoint is given');
    this.#clock = clock;
    this.#timeoutMs = requestTimeoutMs ?? defaultRequestTimeoutMs;
    this.#endpoints = endpoints;
    this.#members = endpoints.map((endpoint) => memberAt(endpoint, { tls, keepaliveMs }));
  }

  call<Q extends Table, R extends Table>(
    method: Method<Q, R>,
    request: Draft<Q>,
    { repeatable, timeoutMs = this.#timeoutMs }: CallOptions,
  ): Promise<Message<R>> {
    const dueMs = this.#clock.monotonic() + timeoutMs;
    const attempt = async (): Promise<Message<R>> => {
      const member = this.#current;
      try {
        return await this.#callOnce(member, method, request, dueMs);
      } catch (error) {
        if (!(error instanceof EtcdError) || !isOfMember(error)) throw error;
        this.#leave(member);
        const again = repeatable || neverSent(error);
        if (!again || this.#clock.monotonic() + retryDelayMs >= dueMs) throw error;
        await new Promise<void>((resolve) => this.#clock.after(retryDelayMs, resolve));
        return attempt();
      }
    };
    return attempt();
  }

  /** Asks every member by itself; undefined for one that does not answer in time. */
  async callEach<Q extends Table, R extends Table>(
    method: Method<Q, R>,
    request: Draft<Q>,
    { timeoutMs }: { readonly timeoutMs: number },
  ): Promise<ReadonlyMap<string, Message<R> | undefined>> {
    const dueMs = this.#clock.monotonic() + timeoutMs;
    const answers = this.#endpoints.map(async (endpoint, member) => {
      const answer = await this.#callOnce(member, method, request, dueMs).catch(() => undefined);
      return [endpoint, answer] as const;
    });
    return new Map(await Promise.all(answers));
  }

  /** The member to watch at. */
  memberForWatch(): WatchedMember {
    const member = this.#current;
    return {
      version: async () => {
        const dueMs = this.#clock.monotonic() + this.#timeoutMs;
        try {
          return (await this.#callOnce(member, methods.status, {}, dueMs)).version;
        } catch (error) {
          if (!(error instanceof EtcdError) || isOfMember(error)) throw error;
          return '';
        }
      },
      open: () => {
        const metadata = new Metadata();
        metadata.set('hasleader', 'true');
        const { encode } = watchRequest;
        return this.#members[member]!.makeBidiStreamRequest(watchPath, encode, watchResponse.decode, metadata);
      },
      leave: () => this.#leave(member),
    };
  }

  close(): void {
    for (const member of this.#members) member.close();
  }

  #leave(member: number): void {
    if (this.#current === member) this.#current = (member + 1) % this.#members.length;
  }

  #callOnce<Q extends Table, R extends Table>(
    member: number,
    method: Method<Q, R>,
    request: Draft<Q>,
    dueMs: number,
  ): Promise<Message<R>> {
    return new Promise((resolve, reject) => {
      let late = false;
      const call = this.#members[member]!.makeUnaryRequest(
        method.path,
        method.request.encode,
        method.response.decode,
        request,
        (error: ServiceError | null, response?: Message<R>) => {
          timer.cancel();
          if (!error) resolve(response!);
          else if (late) reject(new EtcdError(status.DEADLINE_EXCEEDED, 'context deadline exceeded'));
          else reject(new EtcdError(error.code, error.details, { cause: error }));
        },
      );
      const timer = this.#clock.after(dueMs - this.#clock.monotonic(), () => {
        late = true;
        call.cancel();
      });
    });
  }
}

type MemberOptions = Pick<EtcdConnectionOptions, 'tls' | 'keepaliveMs'>;

function memberAt(endpoint: string, { tls = {}, keepaliveMs = defaultKeepaliveMs }: MemberOptions): GrpcClient {
  const url = new URL(endpoint.includes('://') ? endpoint : `http://${endpoint}`);
  const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
  const secure = url.protocol === 'https:';
  return new GrpcClient(
    `${url.hostname}:${url.port || '2379'}`,
    secure
      ? credentials.createSsl(pem(tls.caPem), pem(tls.keyPem), pem(tls.certificatePem))
      : credentials.createInsecure(),
    {
      ...channelOptions,
      'grpc.keepalive_time_ms': keepaliveMs,
      'grpc.keepalive_timeout_ms': Math.min(keepaliveMs, longestSilenceMs),
    },
  );
}

/** Whether another member may do better: this one cannot be reached, has no leader, or does not answer. */
function isOfMember({ code }: EtcdError): boolean {
  return code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED;
}

/** The words with which the gRPC library says that a call has not left this machine. */
function neverSent({ details }: EtcdError): boolean {
  return details.startsWith('No connection established') || details.startsWith('Name resolution failed');
}

function isEtcds(code: number, details: string): boolean {
  return details.startsWith('etcdserver: ') || code === status.DEADLINE_EXCEEDED;
}

/** `Unavailable` for 14: as Go writes it. */
function codeName(code: number): string {
  return (status[code] ?? 'UNKNOWN')
    .split('_')
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join('');
}

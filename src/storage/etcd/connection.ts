/**
 * Calls to the members of an etcd cluster. One member is asked at a time; when it cannot be reached, or has no leader, the next one is.
 * A read is tried again until its time is up. A write is tried again only if it cannot have been carried out: else its failure is told,
 * for its outcome is not known.
 */
import type { Clock } from '../../base/clock.ts';
import { type Duplex, type DuplexHandlers, GrpcConnection, type GrpcTls } from '../../base/grpc/connection.ts';
import { type CalledMethod, GrpcError, grpcCodes } from '../../base/grpc/index.ts';
import { BackendError } from '../store.ts';
import { methods, type WatchRequest, type WatchResponse, watchMethod } from './messages.ts';

export type EtcdTls = GrpcTls;

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

export type WatchStream = Duplex<WatchRequest>;

export interface WatchedMember {
  /** Its release; empty if it does not tell that to such as us. */
  version(): Promise<string>;
  /** A stream that etcd ends when the member loses the leader. */
  open(handlers: DuplexHandlers<WatchResponse>): WatchStream;
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
  /** Whether it surely was not carried out. */
  readonly neverSent: boolean;

  constructor(cause: GrpcError) {
    const { code, details, message, neverSent } = cause;
    super(isEtcds(cause) ? details : message, { cause });
    this.code = code;
    this.details = details;
    this.neverSent = neverSent;
  }

  override get tooLarge(): boolean {
    // The second where it does not even fit into a message.
    return (
      (this.code === grpcCodes.invalidArgument && this.details === 'etcdserver: request is too large') ||
      (this.code === grpcCodes.resourceExhausted && this.details.includes('message larger than max'))
    );
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
const redial = { firstMs: 100, longestMs: 1_000 };

export class EtcdConnection {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #endpoints: readonly string[];
  readonly #members: readonly GrpcConnection[];
  #current = 0;

  constructor({ endpoints, tls, clock, requestTimeoutMs, keepaliveMs }: EtcdConnectionOptions) {
    if (endpoints.length === 0) throw new TypeError('no etcd endpoint is given');
    this.#clock = clock;
    this.#timeoutMs = requestTimeoutMs ?? defaultRequestTimeoutMs;
    this.#endpoints = endpoints;
    this.#members = endpoints.map((endpoint) => memberAt(endpoint, { tls, keepaliveMs, clock }));
  }

  call<Q, A>(
    method: CalledMethod<Q, A>,
    request: Q,
    { repeatable, timeoutMs = this.#timeoutMs }: CallOptions,
  ): Promise<A> {
    const dueMs = this.#clock.monotonic() + timeoutMs;
    const attempt = async (): Promise<A> => {
      const member = this.#current;
      try {
        return await this.#callOnce(member, method, request, dueMs);
      } catch (error) {
        if (!(error instanceof EtcdError) || !isOfMember(error)) throw error;
        this.#leave(member);
        const again = repeatable || error.neverSent;
        if (!again || this.#clock.monotonic() + retryDelayMs >= dueMs) throw error;
        await new Promise<void>((resolve) => this.#clock.after(retryDelayMs, resolve));
        return attempt();
      }
    };
    return attempt();
  }

  /** Asks every member by itself; undefined for one that does not answer in time. */
  async callEach<Q, A>(
    method: CalledMethod<Q, A>,
    request: Q,
    { timeoutMs }: { readonly timeoutMs: number },
  ): Promise<ReadonlyMap<string, A | undefined>> {
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
      open: (handlers) => this.#members[member]!.duplex(watchMethod, handlers, { hasleader: 'true' }),
      leave: () => this.#leave(member),
    };
  }

  close(): void {
    for (const member of this.#members) member.close();
  }

  #leave(member: number): void {
    if (this.#current === member) this.#current = (member + 1) % this.#members.length;
  }

  async #callOnce<Q, A>(member: number, method: CalledMethod<Q, A>, request: Q, dueMs: number): Promise<A> {
    try {
      // A try that begins late may still learn at once why it fails.
      const timeoutMs = Math.max(1, dueMs - this.#clock.monotonic());
      return await this.#members[member]!.unary(method, request, { timeoutMs });
    } catch (error) {
      throw error instanceof GrpcError ? new EtcdError(error) : error;
    }
  }
}

type MemberOptions = Pick<EtcdConnectionOptions, 'clock' | 'tls' | 'keepaliveMs'>;

function memberAt(
  endpoint: string,
  { clock, tls = {}, keepaliveMs = defaultKeepaliveMs }: MemberOptions,
): GrpcConnection {
  const url = new URL(endpoint.includes('://') ? endpoint : `http://${endpoint}`);
  return new GrpcConnection({
    clock,
    target: `${url.hostname}:${url.port || '2379'}`,
    tls: url.protocol === 'https:' ? tls : undefined,
    maxMessageBytes: -1,
    redial,
    keepalive: { silenceMs: keepaliveMs, answerMs: Math.min(keepaliveMs, longestSilenceMs) },
    exclusive: true,
  });
}

/** Whether another member may do better: this one cannot be reached, has no leader, or does not answer. */
function isOfMember({ code }: EtcdError): boolean {
  return code === grpcCodes.unavailable || code === grpcCodes.deadlineExceeded;
}

function isEtcds({ code, details }: GrpcError): boolean {
  return details.startsWith('etcdserver: ') || code === grpcCodes.deadlineExceeded;
}

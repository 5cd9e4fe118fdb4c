/**
 * A gRPC service behind a socket of this machine, of whose methods each takes one message and answers with one. The library is loaded by
 * whoever connects; connecting waits for nobody.
 */
import type { Clock } from './clock.ts';
import type { Draft, Message, MessageCodec, Table } from './wire-message.ts';

/** A call that failed, in the words and with the name of the code that clients in Go have for it. */
export class UnaryCallError extends Error {
  override readonly name = 'UnaryCallError';
  /** `Unavailable`, `DeadlineExceeded`. */
  readonly code: string;
  readonly details: string;

  constructor(code: string, details: string, options?: ErrorOptions) {
    super(`rpc error: code = ${code} desc = ${details}`, options);
    this.code = code;
    this.details = details;
  }
}

export interface UnaryServiceOptions {
  /** As gRPC names it: `unix:///var/run/kms.sock`. */
  readonly target: string;
  /** With its package: `v2.KeyManagementService`. */
  readonly service: string;
  readonly clock: Clock;
  /** Whether calls wait, within their time, for a service that is not there yet; otherwise they fail at once. */
  readonly waitForReady?: boolean | undefined;
}

export interface UnaryMethod<Q extends Table, R extends Table> {
  readonly name: string;
  readonly question: MessageCodec<Q>;
  readonly answer: MessageCodec<R>;
}

export interface UnaryService {
  /** Rejects with an `UnaryCallError`. */
  call<Q extends Table, R extends Table>(
    method: UnaryMethod<Q, R>,
    request: Draft<Q>,
    timeoutMs: number,
  ): Promise<Message<R>>;
  close(): void;
}

export async function connectUnaryService(options: UnaryServiceOptions): Promise<UnaryService> {
  const { target, service, clock, waitForReady = false } = options;
  const grpc = await import('@grpc/grpc-js');
  const client = new grpc.Client(target, grpc.credentials.createInsecure(), { 'grpc.default_authority': 'localhost' });
  const metadata = new grpc.Metadata({ waitForReady });
  return {
    call<Q extends Table, R extends Table>(method: UnaryMethod<Q, R>, request: Draft<Q>, timeoutMs: number) {
      const { promise, resolve, reject } = Promise.withResolvers<Message<R>>();
      let late = false;
      const underWay = client.makeUnaryRequest(
        `/${service}/${method.name}`,
        method.question.encode,
        method.answer.decode,
        request,
        metadata,
        (cause, response) => {
          timer.cancel();
          if (!cause) resolve(response as Message<R>);
          else if (late) reject(new UnaryCallError('DeadlineExceeded', 'context deadline exceeded', { cause }));
          else reject(new UnaryCallError(codeName(grpc.status[cause.code]), cause.details, { cause }));
        },
      );
      const timer = clock.after(timeoutMs, () => {
        late = true;
        underWay.cancel();
      });
      return promise;
    },
    close: () => client.close(),
  };
}

/** `DEADLINE_EXCEEDED` is Go's `DeadlineExceeded`. */
function codeName(name = 'UNKNOWN'): string {
  if (name === 'CANCELLED') return 'Canceled';
  return name
    .split('_')
    .map((word) => `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`)
    .join('');
}

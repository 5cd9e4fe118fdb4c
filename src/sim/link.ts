/**
 * The way between a component and the API server. Every message, request, answer and batch of watch events, takes a seeded time; faults
 * lose it, hold it up or tell it twice, cut the way altogether, or end the component between two of its calls.
 *
 * Requests of one component do not wait for one another and may overtake each other, as they do on HTTP/2; events of one watch keep their
 * order.
 */
import { inProcessTransport } from '../apiserver/in-process-transport.ts';
import type { ApiRequest, ApiResponse, FrameSink, UserInfo, WatchFrame, WatchSource } from '../apiserver/request.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { ConnectionError } from '../client/connection-error.ts';
import { createClient } from '../client/typed-client.ts';
import { between } from './chance.ts';

/** What happens to a call: its request or its answer is lost, it is sent twice, or the component dies before or after the server's work. */
export type CallFault = 'loseRequest' | 'loseAnswer' | 'repeat' | 'dieBefore' | 'dieAfter' | undefined;
/** What happens to a batch of events: it is held up, lost with the whole watch, told twice, or told otherwise. */
export interface WatchFault {
  readonly holdMs?: number | undefined;
  readonly ends?: boolean | undefined;
  readonly twice?: boolean | undefined;
  readonly frames?: readonly WatchFrame[] | undefined;
}

/** Decides what goes wrong; asked for each message. */
export interface Adversary {
  call?(request: ApiRequest, component: string): CallFault;
  watch?(request: ApiRequest, component: string, batch: readonly WatchFrame[]): WatchFault | undefined;
  /** Another request in its place, or an answer in the server's: how tests plant bugs into components. */
  replace?(request: ApiRequest, component: string): ApiRequest | ApiResponse | undefined;
}

export interface LinkOptions {
  readonly component: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The API server, while it is up. */
  server(): ((request: ApiRequest) => Promise<ApiResponse>) | undefined;
  readonly adversary: Adversary;
  /** Of one message one way. */
  readonly delayMs: readonly [from: number, to: number];
  /** Called when a fault ends the component. */
  onDeath(): void;
  /** Told of each answer that was lost although the server did the work. */
  onLostAnswer(request: ApiRequest): void;
}

/** After this time without an answer a client gives up on a connection. */
const requestPatienceMs = 10_000;
const watchPatienceMs = 45_000;

export class Link {
  readonly #options: LinkOptions;
  readonly #dead = new AbortController();
  #isDead = false;
  #isCut = false;
  #healed: (() => void)[] = [];
  readonly #watches = new Set<WatchSource>();

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** No message comes through any more; calls under way end as a broken connection would. */
  kill(): void {
    this.#isDead = true;
    this.#dead.abort(broken('ECONNRESET', 'the process has ended'));
    this.disconnect();
  }

  /** The server has gone: its watches end. */
  disconnect(): void {
    for (const events of [...this.#watches]) events.cancel();
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Nothing comes through until it is mended. Watches that last out the cut go on where they were. */
  cut(): void {
    this.#isCut = true;
  }

  mend(): void {
    this.#isCut = false;
    for (const goOn of this.#healed.splice(0)) goOn();
  }

  client(user: UserInfo): Client {
    const handle = (request: ApiRequest) => this.#carry(request);
    return createClient(inProcessTransport({ handle, clock: this.#options.clock, user, answersLater: true }));
  }

  async #carry(sent: ApiRequest): Promise<ApiResponse> {
    const { adversary, component, onDeath } = this.#options;
    this.#throwIfDead();
    const fault = adversary.call?.(sent, component);
    if (fault === 'dieBefore') onDeath();
    await this.#travel(sent.signal);
    if (fault === 'loseRequest') throw await this.#brokenConnection();
    const replaced = adversary.replace?.(sent, component);
    if (replaced && 'status' in replaced) return replaced;
    const server = this.#options.server();
    if (!server) throw broken('ECONNREFUSED', 'connect ECONNREFUSED');
    const request = (replaced as ApiRequest | undefined) ?? sent;
    if (fault === 'repeat') await server(request);
    const response = await server(request);
    if (fault === 'dieAfter') onDeath();
    if (fault === 'loseAnswer' || this.isDead) this.#options.onLostAnswer(sent);
    if (fault === 'loseAnswer') throw await this.#brokenConnection();
    try {
      await this.#travel(sent.signal);
    } catch (error) {
      if (response.body.kind === 'watch') response.body.events.cancel();
      this.#options.onLostAnswer(sent);
      throw error;
    }
    if (response.body.kind !== 'watch') return response;
    return { ...response, body: { kind: 'watch', events: this.#carried(response.body.events, sent) } };
  }

  #throwIfDead(): void {
    if (this.#isDead) throw this.#dead.signal.reason;
  }

  /** Rejects when the way is cut for longer than a client waits, or the component has died. */
  #travel(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#options.clock.after(this.#delayMs(), () => {
        if (this.isDead) reject(this.#dead.signal.reason);
        else if (this.#isCut) this.#waitForMending(signal).then(resolve, reject);
        else resolve();
      });
    });
  }

  async #waitForMending(signal: AbortSignal): Promise<void> {
    if (!(await this.#healedWithin(requestPatienceMs, signal)))
      throw broken('ETIMEDOUT', 'the connection has timed out');
    this.#throwIfDead();
  }

  /** Of the next message. */
  #delayMs(): number {
    const { random, delayMs } = this.#options;
    return between(random, delayMs[0], delayMs[1]);
  }

  async #healedWithin(patienceMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const waiting = new AbortController();
    const either = AbortSignal.any([signal, waiting.signal, this.#dead.signal]);
    this.#healed.push(() => waiting.abort());
    await sleep(clock, patienceMs, either).catch(() => undefined);
    return !this.#isCut;
  }

  async #brokenConnection(): Promise<Error> {
    await sleep(this.#options.clock, between(this.#options.random, 0, 2000));
    this.#throwIfDead();
    return broken('ECONNRESET', 'read ECONNRESET');
  }

  #carried(events: WatchSource, request: ApiRequest): WatchSource {
    this.#watches.add(events);
    events.onEnd(() => this.#watches.delete(events));
    const take = async (): Promise<readonly WatchFrame[] | undefined> => {
      const batch = await events.takeBatch();
      if (!batch) return undefined;
      const { adversary, component, clock } = this.#options;
      const fault = adversary.watch?.(request, component, batch);
      const patience = (fault?.holdMs ?? 0) + this.#delayMs();
      await new Promise<void>((resolve) => void clock.after(patience, resolve));
      if (this.isDead || fault?.ends) return this.#end(events);
      if (this.#isCut && !(await this.#healedWithin(watchPatienceMs, request.signal))) return this.#end(events);
      if (fault?.frames) return fault.frames;
      return fault?.twice ? batch.flatMap((frame) => [frame, frame]) : batch;
    };
    return {
      takeBatch: take,
      cancel: () => events.cancel(),
      onEnd: (callback) => events.onEnd(callback),
      pumpTo: (_sink: FrameSink) => {
        throw new TypeError('watches of a simulation are read batch by batch');
      },
    };
  }

  #end(events: WatchSource): undefined {
    events.cancel();
    return undefined;
  }
}

function broken(code: string, message: string): ConnectionError {
  return new ConnectionError(message, { code, neverSent: code === 'ECONNREFUSED' });
}

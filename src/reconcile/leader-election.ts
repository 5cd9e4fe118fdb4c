/**
 * One of several equal processes leads: whoever holds the Lease and renews it. Others watch the Lease's record change and take it
 * when it has not changed for its duration, measured on their own clocks: clocks of different machines are never compared. A
 * leader that was frozen does nothing any more if it works through its term's client (`leadership-term.ts`); a request that was on its way
 * when it froze may still arrive when another leads, so what must not happen twice needs the API's own checks.
 */
import { type Lease, type LeaseSpec, leases } from '../api/gen/coordination-v1.ts';
import { isAlreadyExists, isConflict, isNotFound, messageOf } from '../apimachinery/status.ts';
import { formatMicroTime } from '../apimachinery/time.ts';
import { type Clock, sleep, withTimeout } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { jitter, type Random } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { type LeadershipTerm, leadershipTerm } from './leadership-term.ts';

export interface LeaderElectionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Unique among the candidates, e.g. `host_uuid`. */
  readonly identity: string;
  /**
   * The work of the leader. Its signal is aborted when leadership is lost or given up; it must then end. Work that changes anything does
   * it through `term.guard(client)`.
   */
  lead(signal: AbortSignal, term: LeadershipTerm): Promise<void>;
  onNewLeader?(identity: string): void;
  /** What the Lease also tells while this one holds it, asked anew with each renewal. */
  annotations?(): Readonly<Record<string, string>>;
  /** Ends the candidacy. */
  readonly signal: AbortSignal;
  /** How long others wait after the last renewal before they take over; default 15. */
  readonly leaseDurationSeconds?: number | undefined;
  /** How long the leader tries to renew before it steps down; default 10. */
  readonly renewDeadlineSeconds?: number | undefined;
  /** Time between tries; default 2. */
  readonly retryPeriodSeconds?: number | undefined;
}

const jitterFactor = 1.2;

/**
 * Competes until the signal is aborted: leads, and after losing the Lease waits for `lead` to end and competes again. Rejects with
 * what `lead` rejects with while it still holds the Lease.
 */
export async function leaderElection(options: LeaderElectionOptions): Promise<void> {
  const candidate = new Candidate(options);
  while (!options.signal.aborted) {
    if (await candidate.acquire()) await candidate.serve();
  }
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #durationSeconds: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #observed: Lease | undefined;
  #observedAtMs = 0;
  /** When the last renewal that came through was begun: from then on the others wait at least the Lease's duration. */
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #reported: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#durationSeconds = options.leaseDurationSeconds ?? 15;
    this.#renewDeadlineMs = (options.renewDeadlineSeconds ?? 10) * 1000;
    this.#retryPeriodMs = (options.retryPeriodSeconds ?? 2) * 1000;
    if (this.#durationSeconds * 1000 <= this.#renewDeadlineMs) {
      throw new Error('leaseDuration must be greater than renewDeadline');
    }
    if (this.#renewDeadlineMs <= this.#retryPeriodMs * jitterFactor) {
      throw new Error('renewDeadline must be greater than retryPeriod*JitterFactor');
    }
  }

  /** Tries until it holds the Lease (true) or the candidacy ends (false). */
  async acquire(): Promise<boolean> {
    const { clock, random, log, signal, identity } = this.#options;
    while (!signal.aborted) {
      // The answer may have come after a freeze that outlasted the Lease.
      if ((await this.#tryWithin(this.#renewDeadlineMs, signal)) && this.#isCurrent()) {
        log.info('became leader', { lease: this.#options.lease.name, identity });
        return true;
      }
      await sleep(clock, jitter(random, this.#retryPeriodMs, jitterFactor), signal).catch(() => {});
    }
    return false;
  }

  /** Leads while the Lease is renewed in time. */
  async serve(): Promise<void> {
    const { signal, log, lease } = this.#options;
    const term = new AbortController();
    const end = () => term.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    const renewing = this.#renew(term.signal).finally(() => term.abort(new Error('leadership lost')));
    try {
      const isCurrent = () => !term.signal.aborted && this.#isCurrent();
      await this.#options.lead(term.signal, leadershipTerm(isCurrent, term.signal));
      // Work that is done or failed leaves nothing to lead.
      if (!term.signal.aborted) await new Promise((resolve) => term.signal.addEventListener('abort', resolve));
    } catch (error) {
      if (!term.signal.aborted) throw error;
      log.debug('the leader ended with an error', { error: messageOf(error) });
    } finally {
      term.abort(new Error('leadership given up'));
      await renewing;
      signal.removeEventListener('abort', end);
      await this.#release();
      log.info('stopped leading', { lease: lease.name });
    }
  }

  /** Returns when renewal has failed for the deadline or the signal is aborted. */
  async #renew(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, this.#retryPeriodMs, signal).catch(() => {});
      if (signal.aborted) return;
      const leftMs = this.#renewDeadlineMs - (clock.monotonic() - this.#renewedAtMs);
      if (leftMs > 0 && (await this.#tryWithin(leftMs))) continue;
      if (this.#holder() !== this.#options.identity && this.#isValid()) {
        log.warn('another has taken the lease', { lease: this.#options.lease.name, holder: this.#holder() });
        return;
      }
      if (!this.#isCurrent()) {
        log.warn('failed to renew the lease in time', { lease: this.#options.lease.name });
        return;
      }
    }
  }

  /** One try that may not outlast the deadline: a call without an answer must keep no leader in office, and no candidate from trying. */
  async #tryWithin(limitMs: number, ended?: AbortSignal): Promise<boolean> {
    const overdue = new AbortController();
    const signal = ended ? AbortSignal.any([ended, overdue.signal]) : overdue.signal;
    try {
      return await withTimeout(this.#options.clock, this.#tryAcquireOrRenew(signal), limitMs, () => {
        return new Error('no answer in time');
      });
    } catch (error) {
      overdue.abort(error);
      return false;
    }
  }

  async #tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const startedMs = this.#options.clock.monotonic();
    const renewed = await this.#acquireOrRenew(signal);
    if (renewed) this.#renewedAtMs = Math.max(this.#renewedAtMs, startedMs);
    return renewed;
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const { client, lease, identity, log } = this.#options;
    try {
      // A leader whose record is still as it wrote it need not read it again.
      if (this.#holder() === identity && this.#isValid()) {
        try {
          await this.#update(this.#observed!, signal);
          return true;
        } catch (error) {
          if (!isConflict(error)) throw error;
        }
      }
      const current = await client.get(leases, lease, { signal });
      this.#observe(current);
      const holder = this.#holder();
      if (holder !== '' && holder !== identity && this.#isValid()) return false;
      await this.#update(current, signal);
      return true;
    } catch (error) {
      if (isNotFound(error)) return this.#create(signal);
      if (!isConflict(error)) log.debug('lease not acquired', { lease: lease.name, error: messageOf(error) });
      return false;
    }
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { client, clock, lease, log } = this.#options;
    const now = formatMicroTime(clock.now());
    const spec = this.#spec({ acquireTime: now, leaseTransitions: 0 });
    try {
      const metadata = { ...lease, annotations: this.#options.annotations?.() };
      this.#observe(await client.create(leases, { metadata, spec }, { signal }));
      return true;
    } catch (error) {
      if (!isAlreadyExists(error)) log.warn('lease not created', { lease: lease.name, error: messageOf(error) });
      return false;
    }
  }

  async #update(current: Lease, signal: AbortSignal): Promise<void> {
    const { client, clock, identity } = this.#options;
    const held = current.spec.holderIdentity === identity;
    const transitions = current.spec.leaseTransitions ?? 0;
    const spec = this.#spec({
      acquireTime: held ? current.spec.acquireTime : formatMicroTime(clock.now()),
      leaseTransitions: held ? transitions : transitions + 1,
    });
    const annotations = { ...current.metadata.annotations, ...this.#options.annotations?.() };
    const metadata = { ...current.metadata, ...(Object.keys(annotations).length > 0 ? { annotations } : {}) };
    this.#observe(
      await client.update(leases, { ...current, metadata, spec: { ...current.spec, ...spec } }, { signal }),
    );
  }

  async #release(): Promise<void> {
    const { client, clock, identity, log, lease } = this.#options;
    const observed = this.#observed;
    // Once the time is over the Lease is another's to take, and needs no help.
    if (!observed || this.#holder() !== identity || !this.#isCurrent()) return;
    const now = formatMicroTime(clock.now());
    const spec: LeaseSpec = {
      ...observed.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
    };
    try {
      const released = client.update(leases, { ...observed, spec });
      this.#observe(await withTimeout(clock, released, this.#renewDeadlineMs, () => new Error('no answer in time')));
    } catch (error) {
      log.debug('lease not released', { lease: lease.name, error: messageOf(error) });
      this.#observed = undefined;
    }
  }

  #spec(parts: Pick<LeaseSpec, 'acquireTime' | 'leaseTransitions'>): LeaseSpec {
    const { clock, identity } = this.#options;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: this.#durationSeconds,
      renewTime: formatMicroTime(clock.now()),
      ...parts,
    };
  }

  /** A record that changed was renewed by someone alive, just now by our own clock. */
  #observe(lease: Lease): void {
    const changed = JSON.stringify(this.#observed?.spec) !== JSON.stringify(lease.spec);
    this.#observed = lease;
    if (changed) this.#observedAtMs = this.#options.clock.monotonic();
    const holder = this.#holder();
    if (holder === this.#reported) return;
    this.#reported = holder;
    if (holder !== '') this.#options.onNewLeader?.(holder);
  }

  #isCurrent(): boolean {
    return this.#options.clock.monotonic() - this.#renewedAtMs < this.#renewDeadlineMs;
  }

  #holder(): string {
    return this.#observed?.spec.holderIdentity ?? '';
  }

  #isValid(): boolean {
    const durationMs = (this.#observed?.spec.leaseDurationSeconds ?? 0) * 1000;
    return this.#observedAtMs + durationMs > this.#options.clock.monotonic();
  }
}

/**
 * The seats of one priority level and the queues before them: fair queuing for requests that differ in width and length (upstream's
 * "fair queuing for server requests").
 *
 * The level keeps a progress meter R: the seat-seconds that every queue with something to do has had by now, were all of them served
 * at once. Of the queues' oldest requests the one that would be done first by that measure is served next. What a request really took
 * is corrected when it is done. As long as there is room, nobody waits and no queue is looked at but the request's own.
 *
 *     limit 1, queues A and B: A1 A2 A3 come, then B1  ->  A1 B1 A2 A3
 */
import type { Clock } from '../../base/clock.ts';
import { type Arrival, FairQueue, Turn } from './fair-queue.ts';
import type { RejectReason } from './flow-counts.ts';
import { SeatDemand } from './seat-demand.ts';
import { dealHand } from './shuffle-sharding.ts';
import { expectedServiceMs } from './work.ts';

export interface QueueSettings {
  /** 0: nobody waits; whoever finds no room is refused. */
  readonly queues: number;
  readonly queueLengthLimit: number;
  readonly handSize: number;
}

export interface Served {
  /** The request is answered. */
  finish(): void;
}

export type Decision = Served | RejectReason;

/** Hands kept dealt; there are as many as flows. */
const handCapacity = 16_384;

export class QueueSet {
  readonly demand: SeatDemand;
  readonly #clock: Clock;
  readonly #exempt: boolean;
  #settings: QueueSettings = { queues: 0, queueLengthLimit: 0, handSize: 0 };
  #limit = 0;
  readonly #queues: FairQueue[] = [];
  readonly #hands = new Map<bigint, readonly number[]>();
  /** Those of no queue. */
  readonly #executing = new Set<Turn>();
  readonly #waitingQueues = new Set<FairQueue>();
  #activeQueues = 0;
  #r = 0;
  #lastMs: number;
  /** Where the last one came from: of equals, the next queue after it is first. */
  #robin = 0;
  #enqueued = 0;
  waiting = 0;
  waitingSeats = 0;
  executing = 0;
  seatsInUse = 0;
  dispatched = 0;
  rejected = 0;
  cancelled = 0;

  constructor(clock: Clock, exempt: boolean) {
    this.#clock = clock;
    this.#exempt = exempt;
    this.#lastMs = clock.monotonic();
    this.demand = new SeatDemand(clock);
  }

  get limit(): number {
    return this.#limit;
  }

  get idle(): boolean {
    return this.waiting === 0 && this.executing === 0;
  }

  get queues(): readonly FairQueue[] {
    return this.#queues;
  }

  /** Those served without a queue. */
  get queueless(): ReadonlySet<Turn> {
    return this.#executing;
  }

  get progress(): number {
    return this.#r;
  }

  /** Queues too many get nothing new and go when they are empty. */
  configure(settings: QueueSettings, limit: number): void {
    this.#advance();
    const changed = settings.queues !== this.#settings.queues || settings.handSize !== this.#settings.handSize;
    if (changed) this.#hands.clear();
    this.#settings = settings;
    this.#limit = limit;
    for (let index = this.#queues.length; index < settings.queues; index++) this.#queues.push(new FairQueue(index));
    this.#dropExcess();
    this.#dispatchAll();
  }

  /** `hash` names the flow; it is not asked for where there is but one queue. A promise: the request waits. */
  admit(arrival: Arrival, hash: () => bigint, waitLimitMs: number): Decision | Promise<Decision> {
    const nowMs = this.#advance();
    if (this.#settings.queues === 0) return this.#admitQueueless(arrival, nowMs);
    const queue = this.#choose(hash);
    if (this.seatsInUse >= this.#limit && queue.waiting.size >= this.#settings.queueLengthLimit) {
      return this.#refuse(arrival, 'queue-full');
    }
    if (!queue.active) {
      queue.nextDispatchR = this.#r;
      this.#activeQueues++;
    }
    const turn = new Turn(arrival, queue, { nowMs, r: this.#r });
    if (this.waiting === 0 && this.#hasRoom(turn.seats)) {
      this.#robin = queue.index;
      this.#start(turn, nowMs);
      return this.#served(turn);
    }
    return this.#wait(turn, queue, waitLimitMs);
  }

  #admitQueueless(arrival: Arrival, nowMs: number): Decision {
    const turn = new Turn(arrival, undefined, { nowMs, r: this.#r });
    if (!this.#hasRoom(turn.seats)) return this.#refuse(arrival, 'concurrency-limit');
    this.#start(turn, nowMs);
    return this.#served(turn);
  }

  #wait(turn: Turn, queue: FairQueue, waitLimitMs: number): Promise<Decision> {
    const { arrival } = turn;
    const { signal } = arrival.request;
    const { counts } = arrival;
    queue.push(turn);
    queue.bound();
    this.#waitingQueues.add(queue);
    this.waiting++;
    this.waitingSeats += turn.seats;
    counts.waiting++;
    counts.waitingSeats += turn.seats;
    this.#noteDemand();
    return new Promise((resolve) => {
      const giveUp = () => this.#giveUp(turn, queue);
      const timer = this.#clock.after(waitLimitMs, giveUp);
      signal.addEventListener('abort', giveUp, { once: true });
      turn.decide = (admitted) => {
        timer.cancel();
        signal.removeEventListener('abort', giveUp);
        resolve(admitted ? this.#served(turn) : this.#refuse(arrival, 'time-out', this.#lastMs - turn.arrivedMs));
      };
      if (signal.aborted) giveUp();
      else this.#dispatchAll();
    });
  }

  #giveUp(turn: Turn, queue: FairQueue): void {
    this.#advance();
    if (!this.#leaveQueue(turn, queue)) return;
    this.cancelled++;
    if (!queue.active) this.#activeQueues--;
    queue.bound();
    this.#noteDemand();
    turn.decide?.(false);
    this.#dropExcess();
    this.#dispatchAll();
  }

  /** Of the flow's hand the queue with the least work waiting; the hand is looked through from another place each time. */
  #choose(hash: () => bigint): FairQueue {
    const { queues, handSize } = this.#settings;
    if (queues === 1) return this.#queues[0]!;
    const flow = hash();
    let hand = this.#hands.get(flow);
    if (!hand) {
      hand = dealHand(flow, queues, handSize);
      if (this.#hands.size >= handCapacity) this.#hands.clear();
      this.#hands.set(flow, hand);
    }
    const offset = this.#enqueued++ % hand.length;
    let best: FairQueue | undefined;
    for (let i = 0; i < hand.length; i++) {
      const queue = this.#queues[hand[(offset + i) % hand.length]!]!;
      if (!best || queue.waitingWorkSeconds < best.waitingWorkSeconds) best = queue;
    }
    return best!;
  }

  /** One that is wider than the level is served when nobody else is. */
  #hasRoom(seats: number): boolean {
    if (this.#exempt) return true;
    if (seats > this.#limit) return this.executing === 0;
    return this.seatsInUse + seats <= this.#limit;
  }

  #dispatchAll(): void {
    while (this.waiting > 0 && this.seatsInUse < this.#limit && this.#dispatchNext());
  }

  #dispatchNext(): boolean {
    const queue = this.#firstDue();
    const turn = queue?.oldest;
    if (!queue || !turn || !this.#hasRoom(turn.seats)) return false;
    this.#leaveQueue(turn, queue);
    this.#robin = queue.index;
    this.#start(turn, this.#lastMs);
    queue.bound();
    turn.decide?.(true);
    return true;
  }

  /** Of the waiting queues the one whose oldest request would be done first; of equals the one that had its turn longest ago. */
  #firstDue(): FairQueue | undefined {
    const length = this.#queues.length;
    let first: FairQueue | undefined;
    let firstFinish = 0;
    let firstDistance = 0;
    for (const queue of this.#waitingQueues) {
      const finish = queue.nextDispatchR + (queue.oldest?.workSeconds ?? 0);
      const distance = (queue.index + 2 * length - (this.#robin % length) - 1) % length;
      if (first && (finish > firstFinish || (finish === firstFinish && distance >= firstDistance))) continue;
      first = queue;
      firstFinish = finish;
      firstDistance = distance;
    }
    return first;
  }

  /** Final seats beyond the level's are had one after the other instead. */
  #narrowed({ work }: Turn): Turn['work'] {
    if (work.finalSeats <= this.#limit || this.#limit === 0) return work;
    return { ...work, finalSeats: this.#limit, lingerMs: (work.finalSeats * work.lingerMs) / this.#limit };
  }

  #leaveQueue(turn: Turn, queue: FairQueue): boolean {
    if (!queue.remove(turn)) return false;
    if (queue.waiting.size === 0) this.#waitingQueues.delete(queue);
    const { counts } = turn.arrival;
    this.waiting--;
    this.waitingSeats -= turn.seats;
    counts.waiting--;
    counts.waitingSeats -= turn.seats;
    return true;
  }

  #start(turn: Turn, nowMs: number): void {
    const { queue, seats } = turn;
    const { counts } = turn.arrival;
    turn.startedMs = nowMs;
    this.executing++;
    this.dispatched++;
    this.seatsInUse += seats;
    counts.executing++;
    counts.executingSeats += seats;
    counts.dispatched++;
    if (!this.#exempt) counts.waited.add((nowMs - turn.arrivedMs) / 1000);
    if (queue) {
      turn.work = this.#narrowed(turn);
      queue.executing.add(turn);
      queue.seatsInUse += seats;
      queue.nextDispatchR += turn.workSeconds;
    } else this.#executing.add(turn);
    this.#noteDemand();
  }

  #served(turn: Turn): Served {
    return { finish: () => this.#finish(turn) };
  }

  #refuse(arrival: Arrival, reason: RejectReason, waitedMs = 0): RejectReason {
    this.rejected++;
    arrival.counts.reject(reason);
    if (!this.#exempt) arrival.counts.waitedInVain.add(waitedMs / 1000);
    return reason;
  }

  #finish(turn: Turn): void {
    const { queue, work } = turn;
    if (!(queue?.executing ?? this.#executing).has(turn)) return;
    const nowMs = this.#advance();
    this.executing--;
    turn.arrival.counts.executing--;
    turn.arrival.counts.executed.add((nowMs - turn.startedMs) / 1000);
    (queue?.executing ?? this.#executing).delete(turn);
    if (queue) {
      const tookMs = nowMs - turn.startedMs;
      queue.nextDispatchR -= (work.seats * (expectedServiceMs - tookMs)) / 1000;
      queue.bound();
      if (!queue.active) this.#activeQueues--;
    }
    if (work.lingerMs > 0) {
      this.#clock.after(work.lingerMs, () => {
        this.#advance();
        this.#releaseSeats(turn);
        this.#dispatchAll();
      });
    } else this.#releaseSeats(turn);
    this.#dispatchAll();
  }

  #releaseSeats({ queue, seats, arrival }: Turn): void {
    this.seatsInUse -= seats;
    arrival.counts.executingSeats -= seats;
    if (queue) queue.seatsInUse -= seats;
    this.#noteDemand();
    this.#dropExcess();
  }

  #dropExcess(): void {
    while (this.#queues.length > this.#settings.queues) {
      const last = this.#queues.at(-1)!;
      if (last.active || last.seatsInUse > 0) return;
      this.#queues.pop();
    }
  }

  #noteDemand(): void {
    this.demand.set(this.seatsInUse + this.waitingSeats, this.#lastMs);
  }

  /** Brings the progress meter up to now; whoever changes anything calls it before. A double holds R for centuries. */
  #advance(): number {
    const nowMs = this.#clock.monotonic();
    const passedMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    if (this.#activeQueues > 0 && passedMs > 0) {
      const wanted = Math.min(this.seatsInUse + this.waitingSeats, this.#limit);
      this.#r += ((wanted / this.#activeQueues) * passedMs) / 1000;
    }
    return nowMs;
  }
}

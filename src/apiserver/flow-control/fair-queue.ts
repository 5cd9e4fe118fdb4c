/** One queue of a priority level: who waits in it, who of it is being served, and when, in virtual time, its next is due. */
import type { ApiRequest, RequestInfo } from '../request.ts';
import type { FlowCounts } from './flow-counts.ts';
import { seatsOf, type WorkEstimate, workOf } from './work.ts';

export interface Arrival {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly counts: FlowCounts;
  readonly distinguisher: string;
  readonly work: WorkEstimate;
}

/** A request at a level: waiting, being served, or lingering. */
export class Turn {
  readonly arrival: Arrival;
  /** Undefined where nobody queues. */
  readonly queue: FairQueue | undefined;
  readonly seats: number;
  readonly workSeconds: number;
  readonly arrivedMs: number;
  /** The level's progress when it arrived. */
  readonly arrivedR: number;
  work: WorkEstimate;
  startedMs = 0;
  /** Called with whether it may be served; absent for who did not have to wait. */
  decide: ((admitted: boolean) => void) | undefined;

  constructor(arrival: Arrival, queue: FairQueue | undefined, at: { readonly nowMs: number; readonly r: number }) {
    this.arrival = arrival;
    this.queue = queue;
    this.work = arrival.work;
    this.seats = seatsOf(arrival.work);
    this.workSeconds = workOf(arrival.work);
    this.arrivedMs = at.nowMs;
    this.arrivedR = at.r;
  }
}

export class FairQueue {
  readonly index: number;
  /** In the order of arrival. */
  readonly waiting = new Set<Turn>();
  readonly executing = new Set<Turn>();
  waitingSeats = 0;
  waitingWorkSeconds = 0;
  /** Those of lingering requests included. */
  seatsInUse = 0;
  /** The progress at which its oldest waiting request would start if all queues were served at once. */
  nextDispatchR = 0;

  constructor(index: number) {
    this.index = index;
  }

  get active(): boolean {
    return this.waiting.size > 0 || this.executing.size > 0;
  }

  get oldest(): Turn | undefined {
    for (const turn of this.waiting) return turn;
    return undefined;
  }

  push(turn: Turn): void {
    this.waiting.add(turn);
    this.waitingSeats += turn.seats;
    this.waitingWorkSeconds += turn.workSeconds;
  }

  /** False when it is not waiting here any more. */
  remove(turn: Turn): boolean {
    if (!this.waiting.delete(turn)) return false;
    this.waitingSeats -= turn.seats;
    this.waitingWorkSeconds = this.waiting.size === 0 ? 0 : this.waitingWorkSeconds - turn.workSeconds;
    return true;
  }

  /** Who did not use his share while he had nothing waiting does not get it later: nobody starts before he has arrived. */
  bound(): void {
    const oldest = this.oldest;
    if (oldest && this.nextDispatchR < oldest.arrivedR) this.nextDispatchR = oldest.arrivedR;
  }
}

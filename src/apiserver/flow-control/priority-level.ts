/** One priority level: its seats by configuration and by demand, and the queues before them. */
import { exemptName } from '../../api/flowcontrol/v1/mandatory.ts';
import type { PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { SeatClaim } from './concurrency-allocation.ts';
import { QueueSet, type QueueSettings } from './queue-set.ts';

/** A single request gets no more of a level's own seats than this. */
const widestShare = 0.15;
const noQueues: QueueSettings = { queues: 0, queueLengthLimit: 0, handSize: 0 };

export class PriorityLevel {
  readonly name: string;
  readonly exempt: boolean;
  readonly queues: QueueSet;
  object!: PriorityLevelConfiguration;
  /** Gone from the cluster, with requests still under way. */
  quiescing = false;
  nominalSeats = 0;
  leastSeats = 0;
  mostSeats = 0;
  /** For one request; 0: no limit of the level's own. */
  widestSeats = 0;
  /** Whether there are seats from a division before. */
  #limited = false;

  constructor(name: string, clock: Clock) {
    this.name = name;
    this.exempt = name === exemptName;
    this.queues = new QueueSet(clock, this.exempt);
  }

  /** Whether type, name and contents go together; validation sees to it, but other servers may have written. */
  static isSound({ metadata, spec }: PriorityLevelConfiguration): boolean {
    const exempt = spec.type === 'Exempt';
    if (exempt !== (metadata.name === exemptName)) return false;
    if (exempt) return spec.exempt !== undefined && !spec.limited;
    if (spec.type !== 'Limited' || !spec.limited || spec.exempt) return false;
    const { type, queuing } = spec.limited.limitResponse ?? {};
    if (type === 'Reject') return !queuing;
    const { queues = 0, handSize = 0 } = queuing ?? {};
    return type === 'Queue' && queues > 0 && handSize > 0 && handSize <= queues;
  }

  get shares(): number {
    const { limited, exempt } = this.object.spec;
    return (limited ?? exempt)?.nominalConcurrencyShares ?? 0;
  }

  /** How many there must be in the next period: what was used at most in the last, within its own. */
  get claimedSeats(): number {
    const { highWatermark } = this.queues.demand;
    return Math.max(this.leastSeats, this.exempt ? highWatermark : Math.min(this.nominalSeats, highWatermark));
  }

  claim(): SeatClaim {
    const atLeast = this.claimedSeats;
    return { atLeast, atMost: this.mostSeats, target: Math.max(atLeast, this.queues.demand.smoothed) };
  }

  /** Takes its part of the server's seats. */
  divide({ seats, totalSeats }: { readonly seats: number; readonly totalSeats: number }): void {
    const { limited, exempt } = this.object.spec;
    const lendable = Math.round((seats * ((limited ?? exempt)?.lendablePercent ?? 0)) / 100);
    const percent = limited?.borrowingLimitPercent;
    this.nominalSeats = seats;
    this.leastSeats = seats - lendable;
    this.mostSeats = seats + (percent == null ? totalSeats : Math.round((seats * percent) / 100));
    const handSize = limited?.limitResponse?.queuing?.handSize ?? 0;
    this.widestSeats =
      handSize === 0 ? 0 : Math.max(1, Math.min(Math.ceil(seats * widestShare), Math.floor(seats / handSize)));
    this.limit(this.#limited ? this.queues.limit : seats - Math.floor(lendable / 2));
  }

  /** So many seats from now on. */
  limit(seats: number): void {
    this.#limited = true;
    const { queues = 0, queueLengthLimit = 0, handSize = 0 } = this.object.spec.limited?.limitResponse?.queuing ?? {};
    this.queues.configure(queues === 0 ? noQueues : { queues, queueLengthLimit, handSize }, seats);
  }
}

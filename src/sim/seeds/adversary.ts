/** Faults of messages by chance: some get lost, some watches lag, break off or tell things twice, some components die at their own call. */
import type { ApiRequest } from '../../apiserver/request.ts';
import type { Random } from '../../base/random.ts';
import { between } from '../chance.ts';
import type { Adversary, CallFault, WatchFault } from '../link.ts';

/** Chances per message. */
export interface FaultRates {
  readonly loseRequest: number;
  readonly loseAnswer: number;
  readonly die: number;
  readonly holdWatch: number;
  readonly endWatch: number;
  readonly repeatEvents: number;
}

/** The longest time that a watch lags behind. */
export const longestHoldMs = 10_000;

export class SeededAdversary implements Adversary {
  readonly #random: Random;
  #rates: FaultRates | undefined;

  constructor(random: Random, rates: FaultRates) {
    this.#random = random;
    this.#rates = rates;
  }

  /** From now on all goes well. */
  stop(): void {
    this.#rates = undefined;
  }

  call(request: ApiRequest): CallFault {
    const rates = this.#rates;
    if (!rates) return undefined;
    let draw = this.#random.next();
    const isWrite = request.method !== 'GET';
    const chances: readonly (readonly [CallFault, number])[] = [
      ['loseRequest', rates.loseRequest],
      ['loseAnswer', isWrite ? rates.loseAnswer : 0],
      ['dieBefore', isWrite ? rates.die / 2 : 0],
      ['dieAfter', isWrite ? rates.die / 2 : 0],
    ];
    for (const [fault, chance] of chances) {
      if (draw < chance) return fault;
      draw -= chance;
    }
    return undefined;
  }

  watch(): WatchFault | undefined {
    const rates = this.#rates;
    if (!rates) return undefined;
    const draw = this.#random.next();
    if (draw < rates.endWatch) return { ends: true };
    if (draw < rates.endWatch + rates.holdWatch) return { holdMs: between(this.#random, 0, longestHoldMs) };
    if (draw < rates.endWatch + rates.holdWatch + rates.repeatEvents) return { twice: true };
    return undefined;
  }
}

/** From hardly any faults to many. */
export function seededRates(random: Random): FaultRates {
  const strength = random.next() ** 2;
  const upTo = (most: number) => most * strength * random.next();
  return {
    loseRequest: upTo(0.03),
    loseAnswer: upTo(0.03),
    die: upTo(0.01),
    holdWatch: upTo(0.1),
    endWatch: upTo(0.03),
    repeatEvents: upTo(0.1),
  };
}

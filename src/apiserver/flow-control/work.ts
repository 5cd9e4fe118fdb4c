/**
 * How much a request is worth, in seats: so many while it is worked on, and so many for a while after its answer, when watchers are
 * still being told. Work is seats times seconds.
 */
export interface WorkEstimate {
  readonly seats: number;
  /** Occupied for `lingerMs` after the answer; the client does not wait for it. */
  readonly finalSeats: number;
  readonly lingerMs: number;
}

export const oneSeat: WorkEstimate = { seats: 1, finalSeats: 0, lingerMs: 0 };

/** What a request is taken to last before anybody knows. */
export const expectedServiceMs = 3;

export function seatsOf({ seats, finalSeats }: WorkEstimate): number {
  return Math.max(seats, finalSeats);
}

/** In seat-seconds. */
export function workOf({ seats, finalSeats, lingerMs }: WorkEstimate): number {
  return (seats * expectedServiceMs + finalSeats * lingerMs) / 1000;
}

/**
 * Divides the server's seats among priority levels: each gets its target times one common proportion, held within its own bounds, and
 * together they get exactly what there is. Such a proportion exists whenever the bounds leave room for the sum, and it is unique save
 * where only bounds decide.
 *
 *     10 seats, targets 2 and 6, the second bounded by 5  ->  proportion 2.5: 5 and 5
 */
export interface SeatClaim {
  readonly target: number;
  /** At most the target. */
  readonly atLeast: number;
  readonly atMost: number;
}

export interface Allocation {
  /** In the claims' order; fractions. */
  readonly seats: readonly number[];
  readonly proportion: number;
}

/** Targets below are taken for this, so that a level without demand can still grow. */
const leastTarget = 0.001;
const tolerance = 1e-7;

/** Undefined when the bounds leave no room for the sum. */
export function allocateSeats(sum: number, claims: readonly SeatClaim[]): Allocation | undefined {
  const targets = claims.map(({ target }) => Math.max(target, leastTarget));
  const given = (proportion: number) =>
    claims.map(({ atLeast, atMost }, index) => Math.min(atMost, Math.max(atLeast, proportion * targets[index]!)));
  const total = (seats: readonly number[]) => seats.reduce((a, b) => a + b, 0);
  const least = total(claims.map(({ atLeast }) => atLeast));
  const most = total(claims.map(({ atMost }) => atMost));
  if (least > sum + tolerance || most < sum - tolerance) return undefined;
  // The total grows with the proportion, linearly between the proportions at which some claim meets a bound.
  const corners = claims
    .flatMap(({ atLeast, atMost }, index) => [atLeast / targets[index]!, atMost / targets[index]!])
    .sort((a, b) => a - b);
  let below = corners[0] ?? 0;
  for (const corner of corners) {
    const reached = total(given(corner));
    if (reached >= sum - tolerance) {
      const start = total(given(below));
      const share = reached > start ? (sum - start) / (reached - start) : 0;
      const proportion = below + Math.max(0, share) * (corner - below);
      return { seats: given(proportion), proportion };
    }
    below = corner;
  }
  return { seats: given(below), proportion: below };
}

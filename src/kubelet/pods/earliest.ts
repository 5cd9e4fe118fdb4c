/** The least of several times or delays, of which each may be missing; undefined where all are. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const given = times.filter((time) => time !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

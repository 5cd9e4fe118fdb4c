/** Resource versions of one resource are ordered: integers of any length, as upstream has them since v1.35. */

/** Negative when `a` is older than `b`. An absent version is older than any. */
export function compareResourceVersions(a: string | undefined, b: string | undefined): number {
  const left = a ?? '';
  const right = b ?? '';
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}

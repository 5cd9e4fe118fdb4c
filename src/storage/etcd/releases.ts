/** What releases of etcd can be trusted with. */

/**
 * Whether what this release says of a watch's progress is true. Older ones tell of it before all events up to there have been sent
 * (https://github.com/etcd-io/etcd/issues/15220, https://github.com/etcd-io/etcd/issues/17507).
 */
export function tellsProgress(version: string): boolean {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (!match) return false;
  const [major, minor, patch] = match.slice(1).map(Number) as [number, number, number];
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 31;
  if (minor === 5) return patch >= 13;
  return minor > 5;
}

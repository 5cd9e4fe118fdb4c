/** Whether a Pod keeps to the level of the standards that its namespace asks for. */
import { podSecurityChecks } from './checks.ts';
import type { PodLike } from './pod-view.ts';
import type { LevelVersion } from './policy.ts';

/** Everything a Pod does against the policy, as one text; undefined when nothing. */
export function violations(pod: PodLike, { level, minor }: LevelVersion): string | undefined {
  if (level === 'privileged') return undefined;
  const held = podSecurityChecks.filter(
    (check) => check.since <= minor && (check.level === 'baseline' || level === 'restricted'),
  );
  const replaced = new Set(held.flatMap((check) => check.replaces ?? []));
  const findings = held.filter((check) => !replaced.has(check.id)).flatMap((check) => check.run(pod, minor) ?? []);
  if (findings.length === 0) return undefined;
  return findings.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');
}

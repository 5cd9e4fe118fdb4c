/**
 * For which images that are on the node a Pod must show credentials before it may use them: `imagePullCredentialsVerificationPolicy`
 * and its list of images. Pure.
 */
import { withoutTag } from './image-names.ts';

const pullVerificationPolicies = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;

export type PullVerificationPolicy = (typeof pullVerificationPolicies)[number];

export interface PullVerification {
  readonly policy: PullVerificationPolicy;
  /** `registry.test/team/app`, or `registry.test/team/*` for all below. */
  readonly allowlist: readonly string[];
}

/** `isPulled`: the kubelet itself brought the image here. */
export function mustVerify({ policy, allowlist }: PullVerification, image: string, isPulled: boolean): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return isPulled;
    case 'NeverVerifyAllowlistedImages':
      return !allowlist.some((pattern) => isListed(pattern, withoutTag(image)));
    case 'AlwaysVerify':
      return true;
  }
}

function isListed(pattern: string, name: string): boolean {
  return pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** What is wrong with the settings, in upstream's words. */
export function verificationProblem({
  policy,
  allowlist,
}: {
  readonly policy: string;
  readonly allowlist: readonly string[];
}): string | undefined {
  if (!pullVerificationPolicies.some((known) => known === policy)) {
    const [first, second, third, last] = pullVerificationPolicies.map((name) => JSON.stringify(name));
    return `invalid configuration: option ${JSON.stringify(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are ${first}, ${second}, ${third} or ${last}`;
  }
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages')
    return 'invalid configuration: can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"';
  const problem = allowlist.map(listedProblem).find((found) => found !== undefined);
  return (
    problem && `invalid configuration: invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${problem}`
  );
}

function listedProblem(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isWildcard = pattern.endsWith('/*');
  const name = isWildcard ? pattern.slice(0, -1) : pattern;
  if (name === '') return `the supplied pattern is too short: ${pattern}`;
  if (name.includes('*')) return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (isWildcard) return name === '/' ? 'at least registry hostname is required' : undefined;
  if (!/^[a-z0-9][a-z0-9._:/@-]*$/i.test(name)) return 'failed to parse as an image name: invalid reference format';
  return withoutTag(name) === name ? undefined : `neither tag nor digest is accepted in an image reference: ${pattern}`;
}

/**
 * Semantic versions (semver.org 2.0): reading with upstream's words for what is none, and order. Build metadata is checked and
 * takes no part in the order.
 */
import { quote } from '../../go-text.ts';

export interface SemanticVersion {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** `[rc, 1n]` of `1.0.0-rc.1`: numbers are ordered as numbers. */
  readonly prerelease: readonly (string | bigint)[];
}

export class VersionError extends Error {
  override readonly name: string = 'VersionError';
}

/** Throws `VersionError`. */
export function parseVersion(text: string): SemanticVersion {
  if (text === '') throw new VersionError('Version string empty');
  const [major, minor, rest] = splitParts(text);
  if (rest === undefined) throw new VersionError('No Major.Minor.Patch elements found');
  const numbers = { major: number(major!, 'major'), minor: number(minor!, 'minor') };
  const plus = rest.indexOf('+');
  const build = plus < 0 ? [] : rest.slice(plus + 1).split('.');
  const release = plus < 0 ? rest : rest.slice(0, plus);
  const dash = release.indexOf('-');
  const patch = number(dash < 0 ? release : release.slice(0, dash), 'patch');
  const prerelease =
    dash < 0
      ? []
      : release
          .slice(dash + 1)
          .split('.')
          .map(prereleasePart);
  for (const part of build) {
    if (part === '') throw new VersionError('Build meta data is empty');
    if (!/^[0-9A-Za-z-]*$/.test(part)) {
      throw new VersionError(`Invalid character(s) found in build meta data ${quote(part)}`);
    }
  }
  return { ...numbers, patch, prerelease };
}

/** As `parseVersion`, forgiving a leading `v`, leading zeros, and a missing minor or patch number: `v1.02` is 1.2.0. */
export function parseVersionLeniently(text: string): SemanticVersion {
  const parts = splitParts(text.startsWith('v') ? text.slice(1) : text).map((part) =>
    part.length > 1 ? part.replace(/^0+(?=[0-9])/, '') : part,
  );
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) {
    throw new VersionError('short version cannot contain PreRelease/Build meta data');
  }
  while (parts.length < 3) parts.push('0');
  return parseVersion(parts.join('.'));
}

/** -1, 0 or 1. */
export function compareVersions(left: SemanticVersion, right: SemanticVersion): number {
  return (
    order(left.major, right.major) ||
    order(left.minor, right.minor) ||
    order(left.patch, right.patch) ||
    comparePrereleases(left.prerelease, right.prerelease)
  );
}

/** At most three parts, the last with all further dots. */
function splitParts(text: string): string[] {
  const parts = text.split('.');
  return parts.length <= 3 ? parts : [parts[0]!, parts[1]!, parts.slice(2).join('.')];
}

const greatestUint64 = 2n ** 64n - 1n;

function number(text: string, name: string): bigint {
  if (!/^[0-9]*$/.test(text)) {
    throw new VersionError(`Invalid character(s) found in ${name} number ${quote(text)}`);
  }
  if (/^0./.test(text)) {
    throw new VersionError(
      `${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${quote(text)}`,
    );
  }
  return uint64(text);
}

function uint64(text: string): bigint {
  if (text === '') throw new VersionError('strconv.ParseUint: parsing "": invalid syntax');
  const value = BigInt(text);
  if (value > greatestUint64) throw new VersionError(`strconv.ParseUint: parsing ${quote(text)}: value out of range`);
  return value;
}

function prereleasePart(part: string): string | bigint {
  if (part === '') throw new VersionError('Prerelease is empty');
  if (/^0[0-9]+$/.test(part)) {
    throw new VersionError(`Numeric PreRelease version must not contain leading zeroes ${quote(part)}`);
  }
  if (/^[0-9]+$/.test(part)) return uint64(part);
  if (!/^[0-9A-Za-z-]+$/.test(part)) {
    throw new VersionError(`Invalid character(s) found in prerelease ${quote(part)}`);
  }
  return part;
}

/** A version without a prerelease is above those with one; numbers are below words; the longer of equals is above. */
function comparePrereleases(left: SemanticVersion['prerelease'], right: SemanticVersion['prerelease']): number {
  if (left.length === 0 || right.length === 0) return order(right.length, left.length) && (left.length === 0 ? 1 : -1);
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const [one, other] = [left[i]!, right[i]!];
    const kinds = order(Number(typeof one === 'string'), Number(typeof other === 'string'));
    const found = kinds || order(one, other);
    if (found !== 0) return found;
  }
  return order(left.length, right.length);
}

function order<T extends bigint | number | string>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

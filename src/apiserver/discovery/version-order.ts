/**
 * The order of API versions: stable before beta before alpha, higher numbers first, anything else last by name. Examples, in
 * order: v10, v2, v1, v11beta2, v10beta3, v3beta1, v12alpha1, foo1.
 */

/** For `sort`: versions that clients should prefer come first. */
export function compareVersions(a: string, b: string): number {
  const left = parse(a);
  const right = parse(b);
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

interface Version {
  readonly major: number;
  readonly stability: number;
  readonly minor: number;
}

const stabilities: readonly string[] = ['alpha', 'beta', ''];

function parse(text: string): Version | undefined {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(text);
  if (!match) return undefined;
  return { major: Number(match[1]), stability: stabilities.indexOf(match[2] ?? ''), minor: Number(match[3] ?? 0) };
}

/**
 * Which tests of upstream's conformance suite have a counterpart here: a test of `test/conformance/`, or of
 * `test/node/conformance.test.ts` where it takes real containers, that bears upstream's whole name, from `[sig-` to `[Conformance]`, demands
 * what upstream's does. The names come from facts/conformance.
 */
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const pattern = /\btest\(\s*'(\[sig-[^'\n]*)'/g;

export interface ConformanceMark {
  readonly name: string;
  /** Relative to the project's root. */
  readonly file: string;
}

export const conformanceFiles: readonly string[] = globSync('test/{conformance/*,node/conformance}.test.ts', {
  cwd: root,
}).sort();

/** What tests need: an API server and controllers; or beside them nodes whose Pods are told of as if they ran. */
const tiers = ['api-only', 'fake-kubelet'] as const;

/** Upstream's names, in the order of its files. */
export function conformanceNames(): readonly string[] {
  return tiers.flatMap((tier) => {
    const text = readFileSync(resolve(root, `facts/conformance/${tier}-v1.36.txt`), 'utf8');
    return text.split('\n').filter((line) => line !== '');
  });
}

export function conformanceMarks(): readonly ConformanceMark[] {
  return conformanceFiles.flatMap((file) =>
    [...readFileSync(resolve(root, file), 'utf8').matchAll(pattern)].map((match) => ({ name: match[1]!, file })),
  );
}

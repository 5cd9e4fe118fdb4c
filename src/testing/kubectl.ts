/**
 * The kubectl releases of this machine: those of the Google Cloud SDK, those fetched by `scripts/install-test-tools.sh`, or just `kubectl`.
 * What is older than the first that Coracle is made for counts as none.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface Kubectl {
  /** `1.33`. */
  readonly release: string;
  readonly path: string;
}

const oldestMinor = 27;
const tested: readonly string[] = ['1.27', '1.30', '1.33', '1.36'];
const minorOf = (release: string) => Number(release.slice(2));

const tools = resolve(import.meta.dirname, '../../.cache/tools');

/** Every release found, oldest first. */
export function kubectlReleases(path = process.env.PATH ?? ''): readonly Kubectl[] {
  const found = new Map<string, string>();
  const main = path
    .split(':')
    .map((folder) => join(folder, 'kubectl'))
    .find((file) => existsSync(file));
  if (main) {
    const folder = dirname(realpathSync(main));
    for (const name of readdirSync(folder)) {
      const release = /^kubectl\.(1\.\d+)$/.exec(name)?.[1];
      if (release) found.set(release, join(folder, name));
    }
    if (found.size === 0) found.set(releaseOf(main), main);
  }
  if (existsSync(tools))
    for (const name of readdirSync(tools)) {
      const release = /^kubectl-(1\.\d+)$/.exec(name)?.[1];
      if (release) found.set(release, join(tools, name));
    }
  return [...found]
    .map(([release, file]) => ({ release, path: file }))
    .filter(({ release }) => minorOf(release) >= oldestMinor)
    .sort((a, b) => minorOf(a.release) - minorOf(b.release));
}

/** Four releases that lie apart; on a machine that has only one of these, all that it has. */
export function testedReleases(): readonly Kubectl[] {
  const all = kubectlReleases();
  const chosen = all.filter(({ release }) => tested.includes(release));
  return chosen.length > 1 ? chosen : all;
}

function releaseOf(file: string): string {
  const version = execFileSync(file, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  return /"gitVersion": "v(1\.\d+)/.exec(version)?.[1] ?? 'unknown';
}

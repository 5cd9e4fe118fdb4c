/** The kubectl releases of this machine: those of the Google Cloud SDK, one fetched by `scripts/install-test-tools.sh`, or just `kubectl`. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface Kubectl {
  /** `1.33`. */
  readonly release: string;
  readonly path: string;
}

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
    .sort((a, b) => Number(a.release.slice(2)) - Number(b.release.slice(2)));
}

function releaseOf(file: string): string {
  const version = execFileSync(file, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  return /"gitVersion": "v(1\.\d+)/.exec(version)?.[1] ?? 'unknown';
}

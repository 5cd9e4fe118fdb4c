/**
 * What tests need of the machine: root, programs, real containers. Where something is missing the test is left out and says what it lacks;
 * under `CI=true` that is an error instead, so nothing goes untested unseen. This is the one place where tests are left out, as
 * `test/tidy.test.ts` holds.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { kubectlReleases } from './kubectl.ts';

/** For the options of `test`, `it` or `describe`. */
export interface Needs {
  readonly skip: string | false;
}

const containerTools = ['containerd', 'ctr', 'runc', '/usr/lib/cni/bridge', '/bin/busybox'];

/**
 * Those of the parts that are not here, as words; undefined when all are. A part is `root`; `x86-64`; `containers`, what runs real ones; `kubectl`,
 * any release that Coracle is made for; else a program or file: its path, or a name that lies anywhere in `PATH` or among root's programs.
 */
export function missingParts(...parts: readonly string[]): string | undefined {
  const absent = new Set(parts.flatMap((part) => (part === 'containers' ? ['root', ...containerTools] : [part])));
  for (const part of absent) if (isHere(part)) absent.delete(part);
  return absent.size === 0 ? undefined : [...absent].join(', ');
}

/** Leaves a test out where one of the parts is missing; throws in CI. */
export function needs(...parts: readonly string[]): Needs {
  const missing = missingParts(...parts);
  if (missing === undefined) return { skip: false };
  if (process.env.CI === 'true')
    throw new Error(`missing on this machine: ${missing} (scripts/install-test-tools.sh installs what tests need)`);
  return { skip: `needs ${missing}` };
}

/** Leaves a test out, in CI too, where a machine that has all it needs still gives it nothing to try: `reason` says why. */
export function unless(reason: string | undefined): Needs {
  return { skip: reason ?? false };
}

function isHere(part: string): boolean {
  if (part === 'root') return process.getuid?.() === 0;
  if (part === 'x86-64') return process.arch === 'x64';
  if (part === 'kubectl') return kubectlReleases().length > 0;
  if (part.includes('/')) return existsSync(part);
  return [...(process.env.PATH ?? '').split(':'), '/usr/sbin'].some((folder) => existsSync(join(folder, part)));
}

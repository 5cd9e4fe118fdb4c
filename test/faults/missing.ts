/** What the tests of this folder need of the machine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A reason to skip, or false; in CI it is a failure, not a reason. */
export function partsMissing(...more: readonly string[]): string | false {
  const folders = (process.env.PATH ?? '').split(':');
  const absent = ['nft', 'ip', 'nsenter', 'unshare', ...more].filter(
    (name) => !folders.some((folder) => existsSync(join(folder, name))),
  );
  const reasons = [...(process.getuid?.() === 0 ? [] : ['root']), ...absent];
  return reasons.length === 0 || process.env.CI === 'true' ? false : `needs ${reasons.join(', ')}`;
}

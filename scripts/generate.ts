/**
 * `npm run generate`: derives all generated code from facts/. `--check` (in `npm run check`) fails when a file on disk is not what
 * would be written.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
for (const script of globSync('scripts/generate-*.ts', { cwd: root }).sort()) {
  const { status } = spawnSync(process.execPath, [script, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

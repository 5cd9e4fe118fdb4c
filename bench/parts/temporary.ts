/** Folders that go when the program ends, however it ends. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** On a disk: `/tmp` may lie in memory, where nothing is durable. `BENCH_DIRECTORY` names another place. */
export function temporaryFolder(): string {
  const place = process.env.BENCH_DIRECTORY ?? (isInMemory(tmpdir()) ? '/var/tmp' : tmpdir());
  const folder = mkdtempSync(join(place, 'coracle-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  return folder;
}

const tmpfsMagic = 0x01021994;

function isInMemory(path: string): boolean {
  return statfsSync(path).type === tmpfsMagic;
}

/** What has been damaged is refused, with what to do; never taken for what it was, and never the end of the process. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import fc from '../../testing/properties.fixture.ts';
import type { DataDirectoryError } from './database.ts';
import { bufferCodec, openLmdbStore } from './lmdb-store.ts';
import { findPageProblem } from './page-check.ts';

const pageBytes = 8192;
let folder = '';
let whole = Buffer.alloc(0);

const open = (path: string) => openLmdbStore({ path, codec: bufferCodec, clock: new FakeClock(), log: silentLog });

/** With branches, small and large records, and pages that are free again. */
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-damage-'));
  const path = join(folder, 'whole');
  const store = await open(path);
  for (let round = 0; round < 6; round++) {
    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        store.put(`/registry/${i}`, Buffer.alloc(i % 7 === 0 ? 9000 : 300, `value ${i} of round ${round} `)),
      ),
    );
    if (round === 4) await store.compact(store.revision);
  }
  await store.close();
  whole = readFileSync(join(path, 'data.mdb'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

function withFile(name: string, content: Buffer): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'data.mdb'), content);
  return path;
}

function isDamaged(path: string, detail: RegExp) {
  return (error: DataDirectoryError) => {
    assert.deepEqual([error.name, error.reason], ['DataDirectoryError', 'damaged'], error.message);
    assert.match(error.message, detail);
    assert.ok(error.message.includes('coracle snapshot restore FILE --data-dir NEW'));
    assert.ok(error.message.includes(`coracle snapshot save FILE --salvage --from lmdb:${path}`));
    return true;
  };
}

test('a whole file passes the look at its pages', () => {
  assert.equal(findPageProblem(join(withFile('copy', whole), 'data.mdb')), undefined);
});

test('a file that was cut off is refused, wherever it ends', async () => {
  for (const share of [0.2, 0.5, 0.9]) {
    const path = withFile(`cut-${share}`, whole.subarray(0, Math.floor(whole.length * share)));
    await assert.rejects(open(path), isDamaged(path, /page \d+ lies outside of the file|ends in the middle/));
  }
});

test('a file without its second page is refused', async () => {
  const path = withFile(
    'second',
    Buffer.concat([whole.subarray(0, pageBytes), Buffer.alloc(pageBytes), whole.subarray(2 * pageBytes)]),
  );
  await assert.rejects(open(path), isDamaged(path, /page 1, which says where everything lies/));
});

test('a single changed byte of a value is found out', async () => {
  const path = join(folder, 'byte');
  const content = Buffer.from(whole);
  const at = content.lastIndexOf('value 33 of round 5');
  content[at]! ^= 1;
  withFile('byte', content);
  await assert.rejects(open(path), isDamaged(path, /the record of revision \d+ is not what was written/));
});

test('of pages that lost what they held, none is taken for what it was', async () => {
  let refused = 0;
  const damage = fc.constantFrom('zeros', 'noise', 'another page');
  await fc.assert(
    fc.asyncProperty(fc.nat(), damage, fc.nat(), async (position, kind, seed) => {
      const pages = whole.length / pageBytes;
      const page = 2 + (position % (pages - 2));
      const content = Buffer.from(whole);
      const target = content.subarray(page * pageBytes, (page + 1) * pageBytes);
      if (kind === 'zeros') target.fill(0);
      else if (kind === 'noise') for (let i = 0; i < pageBytes; i++) target[i] = (i * (seed % 251) + seed) % 256;
      else whole.copy(target, 0, (2 + (seed % (pages - 2))) * pageBytes);
      const path = withFile('page', content);
      const outcome = await open(path).then(
        async (store) => {
          const { entries } = await store.range({ start: '/', end: '0' });
          await store.close();
          return entries;
        },
        (error: DataDirectoryError) => error.reason,
      );
      rmSync(path, { recursive: true, force: true });
      if (outcome === 'damaged') {
        refused++;
        return;
      }
      // The page was free.
      assert.ok(Array.isArray(outcome), String(outcome));
      assert.equal(outcome.length, 100);
      assert.ok(outcome.every(({ value }) => value.includes('of round 5')));
    }),
    { numRuns: 60 },
  );
  assert.ok(refused > 10, `${refused}`);
});

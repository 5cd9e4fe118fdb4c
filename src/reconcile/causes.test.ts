/** What holds objects up stands in the ledger for as long as it does, and no longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { CauseLedger } from './causes.ts';

const about = { kind: 'Pod', namespace: 'd', name: 'web' };

test('a cause is since when it was first told, whatever its words become meanwhile', async () => {
  const clock = new FakeClock();
  const ledger = new CauseLedger(clock);
  ledger.replace('scheduler', about, [{ reason: 'Unschedulable', message: 'tried once' }]);
  await clock.advance(60_000);
  const untilMs = clock.now() + 5000;
  ledger.replace('scheduler', about, [
    { reason: 'Unschedulable', message: 'tried twice', untilMs },
    { reason: 'Gated', message: 'a gate' },
  ]);
  assert.deepEqual(
    ledger.all().map(({ reason, message, since, until }) => [reason, message, since, until]),
    [
      ['Unschedulable', 'tried twice', '2026-01-01T00:00:00Z', '2026-01-01T00:01:05Z'],
      ['Gated', 'a gate', '2026-01-01T00:01:00Z', undefined],
    ],
  );
});

test('each reporter speaks for itself, and takes back only what it said', () => {
  const ledger = new CauseLedger(new FakeClock());
  ledger.replace('scheduler', about, [{ reason: 'A', message: 'a' }]);
  ledger.replace('eviction', about, [{ reason: 'B', message: 'b' }]);
  ledger.replace('scheduler', about, []);
  assert.deepEqual(
    ledger.all().map(({ by, reason }) => [by, reason]),
    [['eviction', 'B']],
  );
});

test('it keeps the newest when there is too much to tell', () => {
  const ledger = new CauseLedger(new FakeClock());
  for (let index = 0; index < 20_001; index++)
    ledger.replace('x', { ...about, name: `p${index}` }, [{ reason: 'A', message: 'a' }]);
  const names = ledger.all().map((cause) => cause.about.name);
  assert.deepEqual([names.length, names[0]], [20_000, 'p1']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { runServiceRoutes } from './service-routes.ts';

test('where no route leads to the Services, this machine keeps their packets; where one does, nothing is touched', async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const routed = new Set(['fd00:10::/112']);
  const kept: [string, string | undefined][] = [];
  const kernel = {
    isRouted: async (range: string) => routed.has(range),
    async keepHere(range: string, source: string | undefined) {
      kept.push([range, source]);
      routed.add(range);
    },
  };
  const options = { ranges: ['10.96.0.0/16', 'fd00:10::/112'], nodeIps: ['fd00::2', '10.0.0.2'], kernel };
  const running = runServiceRoutes(options, { clock, log: silentLog, signal: abort.signal });
  await clock.advance(0);
  assert.deepEqual(kept, [['10.96.0.0/16', '10.0.0.2']]);

  await clock.advance(30_000);
  assert.equal(kept.length, 1);

  routed.clear();
  await clock.advance(30_000);
  assert.deepEqual(kept.slice(1), [
    ['10.96.0.0/16', '10.0.0.2'],
    ['fd00:10::/112', 'fd00::2'],
  ]);
  abort.abort();
  await assert.rejects(running, { name: 'AbortError' });
});

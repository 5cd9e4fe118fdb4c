/** A guest's disk that forgets: what proofs by power cuts stand on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../../src/base/random.ts';
import { needs } from '../../src/testing/needs.ts';
import { guestParts, startGuest } from './guest.ts';

test('a power cut takes what was not flushed, and nothing else', needs(...guestParts), async () => {
  const guest = await startGuest({ isBare: true, processors: 1, memoryMebibytes: 512, volatile: systemRandom });
  try {
    await guest.run('echo synced >/root/synced; sync; echo written >/root/written');
    await guest.cut();
    await guest.boot();
    assert.equal(await guest.run('cat /root/synced; ls /root'), 'synced\nsynced\n');
    // What one boot has left, the next does not lose.
    await guest.run('echo more >>/root/synced; sync');
    await guest.cut();
    await guest.boot();
    assert.equal(await guest.run('cat /root/synced'), 'synced\nmore\n');
  } finally {
    await guest.stop();
  }
});

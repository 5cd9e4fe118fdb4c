import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandError } from '../command-error.ts';
import { checkNetworkFree, claimNetwork } from './network-claim.ts';

/** An address of this test's own, since the machine it runs on may have a node. */
const address = `\0coracle-test-${process.pid}`;

test('a network has one node with containers; the second is told whose it is and what to do', async () => {
  await checkNetworkFree('/var/lib/b', address);
  {
    await using _claim = await claimNetwork('/var/lib/a', address);
    const refused = (error: unknown) => {
      assert.ok(error instanceof CommandError);
      assert.equal(
        error.message,
        "a node that runs containers is already on this machine's network: that of /var/lib/a.",
      );
      assert.match(error.advice, /^Stop it \(coracle down --data-dir \/var\/lib\/a\), /);
      return true;
    };
    await assert.rejects(claimNetwork('/var/lib/b', address), refused);
    await assert.rejects(checkNetworkFree('/var/lib/b', address), refused);
    await checkNetworkFree('/var/lib/a', address);
  }
  await using _next = await claimNetwork('/var/lib/b', address);
});

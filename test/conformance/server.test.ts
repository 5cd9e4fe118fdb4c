/** What a server says about itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from './cluster.ts';

const { client } = await startCluster({ controllers: [], scheduler: false });

test('[sig-api-machinery] server version should find the server version [Conformance]', async () => {
  const version = (await client.raw({ method: 'GET', path: '/version' })) as {
    readonly major: string;
    readonly minor: string;
  };
  assert.match(version.major, /^\d+$/);
  assert.match(version.minor, /^\d+\+?$/);
  assert.equal(`${version.major}.${version.minor.replace(/\+$/, '')}`, '1.36');
});

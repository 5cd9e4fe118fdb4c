/** Beside the expectations of `expectations.ts`: what a controller wrote itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReplicaSet, replicaSets } from '../api/gen/apps-v1.ts';
import { conflict, internalError } from '../apimachinery/status.ts';
import { ConnectionError } from '../client/connection-error.ts';
import { OwnWrites } from './expectations.ts';

const owner = { metadata: { namespace: 'default', name: 'web', uid: 'web-uid' } };

function replicaSet(name: string, resourceVersion: string, replicas: number): ReplicaSet {
  const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'web-uid', controller: true };
  return {
    metadata: { namespace: 'default', name, uid: `${name}-uid`, resourceVersion, ownerReferences: [reference] },
    spec: { replicas, selector: {} },
  };
}

/** An informer that stands still, and a server that lists. */
function lagging({ atVersion, onServer = [] }: { atVersion: string; onServer?: readonly ReplicaSet[] }) {
  const informer = { type: replicaSets, resourceVersion: atVersion };
  let lists = 0;
  const client = {
    list: async () => {
      lists++;
      return { items: onServer };
    },
  };
  const writes = new OwnWrites<ReplicaSet>(client as never, informer as never);
  return { informer, writes, listed: () => lists };
}

const sizes = (sets: readonly ReplicaSet[]) => Object.fromEntries(sets.map((s) => [s.metadata.name, s.spec.replicas]));

test('what was written stands in the place of what the informer still shows, or beside it', async () => {
  const { writes } = lagging({ atVersion: '7' });
  await writes.noted(owner, Promise.resolve(replicaSet('old', '9', 4)));
  await writes.noted(owner, Promise.resolve(replicaSet('new', '10', 1)));
  const seen = [replicaSet('old', '5', 2), replicaSet('older', '3', 1)];
  assert.deepEqual(sizes(await writes.newest(owner, seen)), { old: 4, older: 1, new: 1 });
});

test('what others wrote after it counts more', async () => {
  const { writes } = lagging({ atVersion: '8' });
  await writes.noted(owner, Promise.resolve(replicaSet('a', '9', 4)));
  assert.deepEqual(sizes(await writes.newest(owner, [replicaSet('a', '10', 6)])), { a: 6 });
});

test('once the informer has come to it, the informer is believed, even that it is gone', async () => {
  const { writes, informer } = lagging({ atVersion: '7' });
  await writes.noted(owner, Promise.resolve(replicaSet('a', '9', 4)));
  informer.resourceVersion = '12';
  const seen: ReplicaSet[] = [];
  assert.equal(await writes.newest(owner, seen), seen);
});

test('the server is asked where an answer was lost, once, and not where it refused', async () => {
  const { writes, listed } = lagging({ atVersion: '7', onServer: [replicaSet('a', '9', 4)] });
  const refused = conflict({ group: 'apps', resource: 'replicasets' }, 'a', 'the object has been modified');
  await assert.rejects(writes.noted(owner, Promise.reject(refused)));
  await writes.newest(owner, []);
  assert.equal(listed(), 0);
  const lost = new ConnectionError('read ECONNRESET', { code: 'ECONNRESET', neverSent: false });
  await assert.rejects(writes.noted(owner, Promise.reject(lost)));
  assert.deepEqual(sizes(await writes.newest(owner, [replicaSet('a', '5', 2)])), { a: 4 });
  assert.deepEqual(sizes(await writes.newest(owner, [replicaSet('a', '5', 2)])), { a: 4 });
  assert.equal(listed(), 1);
});

test('the server is asked where it failed itself: it may have written before', async () => {
  const { writes, listed } = lagging({ atVersion: '7', onServer: [replicaSet('a', '9', 4)] });
  await assert.rejects(writes.noted(owner, Promise.reject(internalError('etcdserver: request timed out'))));
  assert.deepEqual(sizes(await writes.newest(owner, [])), { a: 4 });
  assert.equal(listed(), 1);
});

/** Lists in chunks, over a store whose history the test can cut off. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { podTemplates } from '../../src/api/gen/core-v1.ts';
import type { StatusError } from '../../src/apimachinery/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createClient, createHttpTransport, isExpired, type ListOptions } from '../../src/client/index.ts';
import { openCluster } from '../api/cluster.ts';

const cluster = await openCluster();
const { url: server, ca, cert, key } = cluster.admin;
const transport = createHttpTransport({ server, clock: systemClock, tls: { ca, cert, key } });
const client = createClient(transport);
after(async () => {
  await transport.close();
  await cluster.close();
});

const total = 400;
const nameOf = (index: number) => `template-${String(index).padStart(4, '0')}`;
const namespace = 'default';
const template = { spec: { containers: [{ name: 'test', image: 'test2' }] } };
await Promise.all(
  Array.from({ length: total }, (_, index) =>
    client.create(podTemplates, { metadata: { namespace, name: nameOf(index) }, template }),
  ),
);

/** One chunk, which goes on where `found` objects were seen and says how many are left, or that none is. */
async function chunk(found: number, options: ListOptions & { readonly limit: number }) {
  const list = await client.list(podTemplates, { namespace, ...options });
  assert.ok(list.items.length <= options.limit);
  assert.deepEqual(
    list.items.map(({ metadata }) => metadata.name),
    list.items.map((_, index) => nameOf(found + index)),
  );
  const left = list.continue === undefined ? undefined : total - found - list.items.length;
  assert.equal(list.remainingItemCount, left);
  return list;
}

/** The rest of a list, all of one version. */
async function assertRest(
  found: number,
  limit: number,
  from: { readonly continue: string | undefined; readonly resourceVersion?: string },
): Promise<void> {
  let seen = found;
  let { continue: token, resourceVersion } = from;
  do {
    const list = await chunk(seen, { limit, continue: token });
    resourceVersion ??= list.resourceVersion;
    assert.equal(list.resourceVersion, resourceVersion);
    seen += list.items.length;
    token = list.continue;
  } while (token !== undefined);
  assert.equal(seen, total);
}

test('[sig-api-machinery] Servers with support for API chunking should return chunks of results for list calls [Conformance]', async () => {
  for (let turn = 0; turn < 3; turn++) await assertRest(0, 17, { continue: undefined });
  const whole = await chunk(0, { limit: total + 1 });
  assert.equal(whole.items.length, total);
});

test('[sig-api-machinery] Servers with support for API chunking should support continue listing from the last key if the original version has been compacted away, though the list is inconsistent [Slow] [Conformance]', async () => {
  const limit = total / 10;
  const first = await chunk(0, { limit });
  // Another write, so that there is something to forget.
  await client.patch(
    podTemplates,
    { namespace, name: nameOf(0) },
    { type: 'merge', body: { metadata: { labels: { a: 'b' } } } },
  );
  await cluster.store.store.compact(cluster.store.store.revision);
  const error = await client.list(podTemplates, { namespace, limit, continue: first.continue }).then(
    () => undefined,
    (refused: unknown) => refused as StatusError,
  );
  assert.ok(isExpired(error), String(error));
  assert.equal(error?.status.code, 410);
  const inconsistent = error?.status.metadata?.continue;
  assert.ok(inconsistent);
  const second = await chunk(limit, { limit, continue: inconsistent });
  assert.equal(second.items.length, limit);
  assert.notEqual(second.resourceVersion, first.resourceVersion);
  await assertRest(2 * limit, limit, second);
});

/** What objects were before. Over both stores; times only where the store knows them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deployments } from '../../api/gen/apps-v1.ts';
import { configMaps } from '../../api/gen/core-v1.ts';
import { events } from '../../api/gen/events-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type OpenServer, openServerWithDefault, type StoreName } from '../api-server.fixture.ts';

interface Told {
  readonly sinceRevision: string;
  readonly earlierForgotten: boolean;
  readonly skipped: number;
  readonly items: readonly {
    readonly type: string;
    readonly revision: string;
    readonly time?: string;
    readonly object: KubeObject & { readonly data?: Record<string, string> };
  }[];
}

const namespace = 'default';

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describe(`the history of objects over a ${storeName} store`, () => {
    let opened: OpenServer;
    const clock = new FakeClock(Date.UTC(2026, 0, 1, 12));
    before(async () => {
      opened = await openServerWithDefault({ storeName, clock });
    });
    after(() => opened.close());

    const told = async (name: string, query: Record<string, string> = {}) => {
      const path = `/api/v1/namespaces/default/configmaps/${name}/history`;
      return (await opened.client.raw({ method: 'GET', path, query: new Map(Object.entries(query)) })) as Told;
    };
    const put = async (name: string, value: string) => {
      await clock.advance(1000);
      const patch = { type: 'merge' as const, body: { data: { value } } };
      return opened.client.patch(configMaps, { namespace, name }, patch);
    };
    const create = (name: string) =>
      opened.client.create(configMaps, { metadata: { name, namespace }, data: { value: 'first' } });

    test('is every change with the object as it was, from creation to removal and beyond', async () => {
      const made = await create('a');
      await put('a', 'second');
      await create('a-1');
      await opened.client.delete(configMaps, { namespace, name: 'a' });
      await create('a');
      const { items, earlierForgotten, skipped } = await told('a');
      assert.deepEqual(
        items.map(({ type, object }) => [type, object.metadata.name, object.data?.value]),
        [
          ['ADDED', 'a', 'first'],
          ['MODIFIED', 'a', 'second'],
          ['DELETED', 'a', 'second'],
          ['ADDED', 'a', 'first'],
        ],
      );
      assert.deepEqual([earlierForgotten, skipped], [false, 0]);
      assert.deepEqual(items[0]!.object, made);
      assert.equal(items[0]!.revision, made.metadata.resourceVersion);
      const times = items.map(({ time }) => time);
      if (storeName === 'LMDB')
        assert.deepEqual(times.slice(0, 2), ['2026-01-01T12:00:00.000000Z', '2026-01-01T12:00:01.000000Z']);
      else assert.deepEqual(new Set(times), new Set([undefined]));
    });

    test('of an object that changed often is its newest part, and says how much is missing', async () => {
      await create('often');
      for (let i = 0; i < 9; i++) await put('often', `${i}`);
      const { items, skipped } = await told('often', { limit: '3' });
      assert.deepEqual(
        items.map(({ object }) => object.data?.value),
        ['6', '7', '8'],
      );
      assert.equal(skipped, 7);
      await assert.rejects(told('often', { limit: '0' }), { message: 'limit must be a number from 1 to 1000' });
    });

    test('begins with what stood when the store was compacted', async () => {
      await create('b');
      await put('b', 'second');
      await put('b', 'third');
      await opened.store.store.compact(opened.store.store.revision);
      await put('b', 'fourth');
      const { items, earlierForgotten, sinceRevision } = await told('b');
      assert.deepEqual(
        items.map(({ type, object }) => [type, object.data?.value]),
        [
          ['MODIFIED', 'third'],
          ['MODIFIED', 'fourth'],
        ],
      );
      assert.ok(earlierForgotten);
      assert.equal(Number(sinceRevision), opened.store.store.compactedRevision);
      await assert.rejects(told('never'), { message: 'configmaps "never" not found' });
    });

    test('is told in the version that was asked for, and of a group', async () => {
      const { client } = opened;
      const regarding = { namespace, kind: 'Pod', name: 'p' };
      const eventTime = '2026-01-01T12:00:00.000000Z';
      const said = { reason: 'r', action: 'a', type: 'Normal', reportingController: 'c/c', reportingInstance: 'i' };
      await client.create(events, { metadata: { name: 'e', namespace }, regarding, eventTime, ...said });
      for (const [root, field] of [
        ['/api/v1', 'involvedObject'],
        ['/apis/events.k8s.io/v1', 'regarding'],
      ] as const) {
        const path = `${root}/namespaces/default/events/e/history`;
        const { items } = (await client.raw({ method: 'GET', path })) as Told;
        assert.equal(items.length, 1);
        assert.equal(items[0]!.object.apiVersion, root.replace(/^\/apis?\//, ''));
        assert.deepEqual((items[0]!.object as unknown as Record<string, unknown>)[field], regarding);
      }
      const selector = { matchLabels: { a: 'b' } };
      const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
      await client.create(deployments, { metadata: { name: 'd', namespace }, spec: { selector, template } });
      const path = '/apis/apps/v1/namespaces/default/deployments/d/history';
      assert.equal(((await client.raw({ method: 'GET', path })) as Told).items[0]!.type, 'ADDED');
    });

    test('can only be read, and only of what is stored', async () => {
      const path = '/api/v1/namespaces/default/configmaps/a/history';
      for (const method of ['PUT', 'POST', 'DELETE'] as const)
        await assert.rejects(opened.client.raw({ method, path, body: {} }), { code: 404 });
      const review = '/apis/authorization.k8s.io/v1/subjectaccessreviews/x/history';
      await assert.rejects(opened.client.raw({ method: 'GET', path: review }), { code: 404 });
    });

    test('as a whole says how far back it reaches and what it costs', async () => {
      const path = '/coracle/v1/history';
      const page = async (at?: string) =>
        (await opened.client.raw({ method: 'GET', path, query: new Map(at ? [['at', at]] : []) })) as {
          revision: string;
          bytes?: number;
          at?: { revision: string };
        };
      await create('c');
      const then = opened.store.store.revision;
      const thenText = new Date(clock.now()).toISOString();
      await put('c', 'later');
      const { revision, bytes } = await page();
      assert.equal(revision, String(opened.store.store.revision));
      if (storeName === 'memory') {
        await assert.rejects(page(thenText), /does not know when something was written/);
        return;
      }
      assert.ok(bytes! > 0);
      assert.equal((await page(thenText)).at?.revision, String(then));
      await assert.rejects(page('2020-01-01T00:00:00Z'), {
        code: 410,
        message: /^2020-01-01T00:00:00Z lies before what is remembered, which begins at 2026-01-01T12:00:/,
      });
      await assert.rejects(page('yesterday'), { code: 400, message: 'at: "yesterday" is no time as in RFC 3339' });
    });
  });
}

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConfigMap, configMaps, pods, secrets } from '../api/gen/core-v1.ts';
import { StatusError, serviceUnavailable } from '../apimachinery/status.ts';
import { harness } from './harness.fixture.ts';
import type { Informer } from './informer.ts';
import { informerSet } from './informer-set.ts';

const configMap = (name: string, data: Record<string, string> = {}, namespace = 'default'): ConfigMap => ({
  metadata: { name, namespace },
  data,
});

function record(informer: Informer<ConfigMap>): string[] {
  const calls: string[] = [];
  informer.onChange({
    added: ({ metadata }) => calls.push(`added ${metadata.name}`),
    updated: ({ metadata, data }, previous) => calls.push(`updated ${metadata.name} ${previous.data?.a}->${data?.a}`),
    deleted: ({ metadata }) => calls.push(`deleted ${metadata.name}`),
  });
  return calls;
}

describe('informer', () => {
  test('holds what the server has and follows it', async () => {
    const { client, informers, settle, stop } = harness();
    await client.create(configMaps, configMap('first', { a: '1' }));
    const informer = informers.of(configMaps);
    const calls = record(informer);
    assert.equal(informer.synced, false);
    await informer.whenSynced();
    assert.deepEqual(calls, ['added first']);
    const second = await client.create(configMaps, configMap('second', { a: '1' }));
    await client.update(configMaps, { ...second, data: { a: '2' } });
    await client.delete(configMaps, { namespace: 'default', name: 'first' });
    await settle();
    assert.deepEqual(calls.slice(1), ['added second', 'updated second 1->2', 'deleted first']);
    assert.equal(informer.get('default/second')?.data?.a, '2');
    assert.equal(informer.get('default/first'), undefined);
    stop.abort();
  });

  test('asking twice gives one informer and one watch; another selection gives another', async () => {
    const { api, informers, settle, stop } = harness();
    assert.equal(informers.of(configMaps), informers.of(configMaps, {}));
    assert.notEqual(informers.of(configMaps), informers.of(configMaps, { namespace: 'default' }));
    await informers.whenSynced();
    await settle();
    assert.equal(api.watches, 2);
    stop.abort();
    await settle();
    assert.equal(api.watches, 0);
  });

  test('of a kind that is forgotten the watch ends, those who wait are told, and who asks again gets a new one', async () => {
    const { api, client, informers, settle, stop } = harness();
    await client.create(configMaps, configMap('x'));
    const before = informers.whileServed(configMaps);
    await before.whenSynced();
    api.setServed(secrets, false);
    const waiting = assert.rejects(
      informers.whileServed(secrets).whenSynced(),
      /secrets\.v1\. is not followed any more/,
    );
    informers.forget(secrets);
    await waiting;

    informers.forget(configMaps);
    await settle();
    assert.equal(api.watches, 0);
    await client.create(configMaps, configMap('y'));
    const after = informers.whileServed(configMaps);
    await after.whenSynced();
    assert.deepEqual([before.list().length, after.list().length], [1, 2]);
    stop.abort();
  });

  test('one that somebody asked for by name goes on though others forget its kind, and is true again once the kind is back', async () => {
    const { api, client, clock, informers, settle, stop } = harness();
    const kept = informers.of(configMaps);
    assert.equal(informers.whileServed(configMaps), kept);
    assert.notEqual(informers.whileServed(secrets), kept);
    await informers.whenSynced();
    api.setServed(configMaps, false);
    informers.forget(configMaps);
    await settle();
    api.setServed(configMaps, true);
    await client.create(configMaps, configMap('x'));
    await clock.advance(120_000);
    assert.deepEqual(
      kept.list().map(({ metadata }) => metadata.name),
      ['x'],
    );
    assert.equal(informers.of(configMaps), kept);
    stop.abort();
  });

  test('objects are frozen, carry their kind, and have no managedFields', async () => {
    const { api, client, clock, random, log, signal, informers, stop } = harness();
    const metadata = { name: 'x', namespace: 'default', managedFields: [{ manager: 'me' }] };
    await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' } });
    const informer = informers.of(configMaps);
    await informer.whenSynced();
    const object = informer.get('default/x')!;
    assert.equal(object.kind, 'ConfigMap');
    assert.equal(object.apiVersion, 'v1');
    assert.equal(object.metadata.managedFields, undefined);
    assert.throws(() => ((object.data as Record<string, string>).a = '2'), TypeError);
    const keeping = informerSet({ client, clock, random, log, signal, keepManagedFields: true }).of(configMaps);
    await keeping.whenSynced();
    assert.deepEqual(keeping.get('default/x')?.metadata.managedFields, [{ manager: 'me' }]);
    assert.ok(api.requests.length > 0);
    stop.abort();
  });

  test('lists by namespace and by index, and keeps indexes true', async () => {
    const { client, informers, settle, stop } = harness();
    await client.create(configMaps, configMap('x', { a: 'red' }));
    await client.create(configMaps, configMap('y', { a: 'red' }, 'other'));
    const informer = informers.of(configMaps);
    informer.addIndex('colour', ({ data }) => (data?.a ? [data.a] : []));
    await informer.whenSynced();
    const names = (objects: readonly ConfigMap[]) => objects.map(({ metadata }) => metadata.name);
    assert.deepEqual(names(informer.list('other')), ['y']);
    assert.deepEqual(names(informer.list('nowhere')), []);
    assert.deepEqual(names(informer.byIndex('colour', 'red')), ['x', 'y']);
    await client.update(configMaps, configMap('x', { a: 'blue' }));
    await client.delete(configMaps, { namespace: 'other', name: 'y' });
    await settle();
    assert.deepEqual(names(informer.byIndex('colour', 'red')), []);
    assert.deepEqual(names(informer.byIndex('colour', 'blue')), ['x']);
    informer.addIndex('name', ({ metadata }) => [metadata.name!]);
    assert.deepEqual(names(informer.byIndex('name', 'x')), ['x']);
    assert.throws(() => informer.byIndex('unknown', 'x'));
    stop.abort();
  });

  test('a late handler is told of everything known; a removed one of nothing', async () => {
    const { client, informers, settle, stop } = harness();
    await client.create(configMaps, configMap('x'));
    const informer = informers.of(configMaps);
    await informer.whenSynced();
    const calls: string[] = [];
    const registration = informer.onChange({ added: ({ metadata }) => calls.push(metadata.name!) });
    assert.deepEqual(calls, ['x']);
    assert.equal(registration.synced, true);
    registration.remove();
    await client.create(configMaps, configMap('y'));
    await settle();
    assert.deepEqual(calls, ['x']);
    stop.abort();
  });

  test('a handler that throws is logged and does not keep the next from being called', async () => {
    const { client, informers, settle, stop, lines } = harness();
    const informer = informers.of(configMaps);
    informer.onChange({
      added() {
        throw new Error('broken handler');
      },
    });
    const calls = record(informer);
    await informer.whenSynced();
    await client.create(configMaps, configMap('x'));
    await settle();
    assert.deepEqual(calls, ['added x']);
    assert.equal(lines.find(({ level }) => level === 'error')?.fields?.error, 'broken handler');
    stop.abort();
  });

  test('resumes a watch that ends from where it was, without a new list', async () => {
    const { api, client, clock, informers, settle, stop } = harness();
    const informer = informers.of(configMaps);
    const calls = record(informer);
    await informer.whenSynced();
    await clock.advance(2000);
    api.dropWatches();
    await client.create(configMaps, configMap('meanwhile'));
    await settle();
    assert.deepEqual(calls, ['added meanwhile']);
    assert.equal(api.requests.filter(({ query, method }) => method === 'GET' && !query?.has('watch')).length, 1);
    stop.abort();
  });

  test('lists again after 410 and reports exactly what changed meanwhile', async () => {
    const { api, client, clock, informers, stop } = harness();
    for (const name of ['kept', 'changed', 'removed']) await client.create(configMaps, configMap(name, { a: '1' }));
    const informer = informers.of(configMaps);
    await informer.whenSynced();
    const calls = record(informer).splice(0, 0);
    const heard = record(informer);
    heard.splice(0);
    await clock.advance(2000);
    api.failWith(({ query }) => (query?.has('watch') ? serviceUnavailable('restarting') : undefined));
    api.dropWatches();
    await client.update(configMaps, configMap('changed', { a: '2' }));
    await client.delete(configMaps, { namespace: 'default', name: 'removed' });
    await client.create(configMaps, configMap('added', { a: '1' }));
    api.compact();
    api.failWith(undefined);
    await clock.advance(60_000);
    assert.deepEqual(heard.sort(), ['added added', 'deleted removed', 'updated changed 1->2']);
    assert.deepEqual(calls, []);
    stop.abort();
  });

  test('waits longer and longer for a server that is down, and recovers', async () => {
    const { api, client, clock, informers, stop } = harness();
    await client.create(configMaps, configMap('x'));
    const before = api.requests.length;
    api.failWith(() => serviceUnavailable('down'));
    const informer = informers.of(configMaps);
    await clock.advance(60_000);
    const tries = api.requests.length - before;
    // 0.8 s doubling to 30 s, each lengthened by up to its own length.
    assert.ok(tries >= 4 && tries <= 8, `${tries} tries in a minute`);
    assert.equal(informer.synced, false);
    api.failWith(undefined);
    await clock.advance(60_000);
    assert.equal(informer.synced, true);
    assert.ok(informer.get('default/x'));
    stop.abort();
  });

  test('gives up a watch that falls silent past its timeout', async () => {
    const { api, client, clock, informers, stop } = harness();
    const informer = informers.of(configMaps);
    await informer.whenSynced();
    await clock.advance(2000);
    api.silenceWatches();
    await client.create(configMaps, configMap('unheard'));
    await clock.advance(1000);
    assert.equal(informer.get('default/unheard'), undefined);
    await clock.advance(10 * 60_000 + 60_000);
    assert.ok(informer.get('default/unheard'));
    stop.abort();
  });

  test('bookmarks carry the version on', async () => {
    const { api, client, clock, informers, settle, stop } = harness();
    const informer = informers.of(configMaps, { namespace: 'quiet' });
    await informer.whenSynced();
    await settle();
    await client.create(configMaps, configMap('elsewhere'));
    api.bookmark();
    await settle();
    assert.equal(informer.resourceVersion, api.resourceVersion);
    api.compact();
    await clock.advance(2000);
    api.dropWatches();
    await settle();
    assert.equal(api.requests.filter(({ query }) => !query?.has('watch')).length, 2, 'one list and one create');
    stop.abort();
  });

  test('whenSynced rejects when its signal is aborted first, or the informers are stopped', async () => {
    const { api, informers, stop } = harness();
    api.failWith(() => new StatusError({ metadata: {}, code: 403, reason: 'Forbidden', message: 'no' }));
    const waiting = new AbortController();
    const synced = informers.of(configMaps).whenSynced(waiting.signal);
    waiting.abort(new Error('enough'));
    await assert.rejects(synced, /enough/);
    const stopped = informers.of(configMaps).whenSynced();
    stop.abort(new Error('stopped'));
    await assert.rejects(stopped, /stopped/);
    await assert.rejects(informers.of(pods).whenSynced(), /stopped/);
  });
});

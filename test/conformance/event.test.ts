/** Events, by their old API and their new one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { events as coreEvents } from '../../src/api/gen/core-v1.ts';
import { type Event, events } from '../../src/api/gen/events-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { startCluster } from './cluster.ts';
import { assertDeleted, assertNewer, assertUpdatedAndCollected, assertValidVersion } from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const namesOf = (items: readonly KubeObject[]) => items.map(({ metadata }) => metadata.name);

/** Without what the server changes with each write. */
function written<T extends KubeObject>(object: T): T {
  const { resourceVersion: _, managedFields: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const coreEvent = (namespace: string, name: string, labels = {}) => ({
  metadata: { namespace, name, labels },
  message: `This is ${name}`,
  reason: 'Test',
  type: 'Normal',
  count: 1,
  involvedObject: { namespace },
});

test('[sig-instrumentation] Events should manage the lifecycle of an event [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'event-test' };
  const labelSelector = 'testevent-constant=true';
  const created = await client.create(coreEvents, coreEvent(namespace, ref.name, { 'testevent-constant': 'true' }));
  assert.deepEqual(namesOf((await client.list(coreEvents, { labelSelector })).items), [ref.name]);
  const message = 'This is a test event - patched';
  await client.patch(coreEvents, ref, { type: 'strategic', body: { message } });
  const patched = await client.get(coreEvents, ref);
  assert.equal(patched.message, message);
  const series = { count: 100, lastObservedTime: '2017-09-19T13:49:16.000000Z' };
  const wanted = written({ ...patched, series });
  await client.update(coreEvents, wanted);
  const updated = await client.get(coreEvents, ref);
  assert.deepEqual(written(updated), wanted);
  assertNewer(updated, created);
  await assertDeleted(client, coreEvents, updated);
  assert.deepEqual((await client.list(coreEvents, { labelSelector })).items, []);
});

test('[sig-instrumentation] Events should delete a collection of events [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(coreEvents, coreEvent(namespace, 'bystander'));
  const names = ['test-event-1', 'test-event-2', 'test-event-3'];
  const created = await Promise.all(names.map((name) => client.create(coreEvents, coreEvent(namespace, name))));
  await assertUpdatedAndCollected(client, coreEvents, created);
});

const newEvent = (namespace: string, name: string, labels = {}): Event => ({
  metadata: { namespace, name, labels },
  regarding: { namespace },
  eventTime: '2017-09-19T13:49:16.000000Z',
  note: `This is ${name}`,
  action: 'Do',
  reason: 'Test',
  type: 'Normal',
  reportingController: 'test-controller',
  reportingInstance: 'test-node',
});

test('[sig-instrumentation] Events API should ensure that an event can be fetched, patched, deleted, and listed [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'event-test' };
  const labelSelector = 'testevent-constant=true';
  const created = await client.create(events, newEvent(namespace, ref.name, { 'testevent-constant': 'true' }));
  assertValidVersion(created);
  await client.create(events, { ...newEvent(namespace, 'other'), reportingController: 'other-controller' });
  for (const selection of [{ labelSelector }, { namespace, labelSelector }]) {
    assert.deepEqual(namesOf((await client.list(events, selection)).items), [ref.name]);
  }
  const bySource = await client.list(coreEvents, { namespace, fieldSelector: 'source=test-controller' });
  assert.deepEqual(namesOf(bySource.items), [ref.name]);
  const byController = await client.list(events, { namespace, fieldSelector: 'reportingController=test-controller' });
  assert.deepEqual(namesOf(byController.items), [ref.name]);

  const before = await client.get(events, ref);
  const series = { count: 2, lastObservedTime: '2017-09-19T13:49:11.000000Z' };
  await client.patch(events, ref, { type: 'strategic', body: { series } });
  const patched = await client.get(events, ref);
  assertNewer(patched, created);
  assert.deepEqual(written(patched), written({ ...before, series }));
  const wanted = written({ ...before, series: { count: 100, lastObservedTime: '2017-09-19T13:49:16.000000Z' } });
  await client.update(events, wanted);
  assert.deepEqual(written(await client.get(events, ref)), wanted);

  await assertDeleted(client, events, created);
  for (const selection of [{ labelSelector }, { namespace, labelSelector }]) {
    assert.deepEqual((await client.list(events, selection)).items, []);
  }
});

test('[sig-instrumentation] Events API should delete a collection of events [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(events, newEvent(namespace, 'bystander'));
  const names = ['test-event-1', 'test-event-2', 'test-event-3'];
  const created = await Promise.all(names.map((name) => client.create(events, newEvent(namespace, name))));
  await assertUpdatedAndCollected(client, events, created);
});

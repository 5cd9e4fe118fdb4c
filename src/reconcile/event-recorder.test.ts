import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Event, events } from '../api/gen/core-v1.ts';
import { forbidden } from '../apimachinery/status.ts';
import { ConnectionError } from '../client/connection-error.ts';
import { harness } from './harness.fixture.ts';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '7' },
};

async function written({ client }: ReturnType<typeof harness>): Promise<readonly Event[]> {
  return (await client.list(events)).items;
}

test('an event has the form that kubectl describe reads', async () => {
  const h = harness();
  h.context.eventRecorder('kubelet', 'node-1').record(pod, 'Normal', 'Pulled', 'Image is there', {
    fieldPath: 'spec.containers{web}',
  });
  await h.settle();
  const [event] = await written(h);
  assert.match(event?.metadata.name ?? '', /^web\.[0-9a-f]{16}$/);
  const {
    uid: _,
    creationTimestamp: __,
    generation: ___,
    resourceVersion: ____,
    name: _____,
    ...metadata
  } = event!.metadata;
  assert.deepEqual(
    { ...event, metadata },
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'shop' },
      involvedObject: {
        kind: 'Pod',
        namespace: 'shop',
        name: 'web',
        uid: 'u1',
        apiVersion: 'v1',
        resourceVersion: '7',
        fieldPath: 'spec.containers{web}',
      },
      reason: 'Pulled',
      message: 'Image is there',
      source: { component: 'kubelet', host: 'node-1' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
      type: 'Normal',
      reportingComponent: 'kubelet',
      reportingInstance: 'node-1',
    },
  );
});

test('the same event again raises the count of the first', async () => {
  const h = harness();
  const recorder = h.context.eventRecorder('test');
  recorder.record(pod, 'Warning', 'BackOff', 'again');
  await h.clock.advance(5000);
  recorder.record(pod, 'Warning', 'BackOff', 'again');
  recorder.record(pod, 'Warning', 'BackOff', 'something else');
  await h.settle();
  const all = await written(h);
  assert.equal(all.length, 2);
  const repeated = all.find(({ message }) => message === 'again');
  assert.equal(repeated?.count, 2);
  assert.equal(repeated?.firstTimestamp, '2026-01-01T00:00:00Z');
  assert.equal(repeated?.lastTimestamp, '2026-01-01T00:00:05Z');
});

test('a counted event that has expired in the server begins anew', async () => {
  const h = harness();
  const recorder = h.context.eventRecorder('test');
  recorder.record(pod, 'Normal', 'A', 'm');
  await h.settle();
  await h.client.deleteCollection(events);
  recorder.record(pod, 'Normal', 'A', 'm');
  await h.settle();
  const [event, ...rest] = await written(h);
  assert.equal(event?.count, 2);
  assert.equal(rest.length, 0);
});

test('ten similar messages become one combined event', async () => {
  const h = harness();
  const recorder = h.context.eventRecorder('test');
  for (let i = 1; i <= 15; i++) recorder.record(pod, 'Warning', 'Failed', `message ${i}`);
  await h.settle(50);
  const all = await written(h);
  const combined = all.filter(({ message }) => message?.startsWith('(combined from similar events): '));
  assert.equal(all.length - combined.length, 9);
  assert.equal(combined.length, 1);
  assert.equal(combined[0]?.count, 6);
  assert.equal(combined[0]?.message, '(combined from similar events): message 15');
});

test('an object may be written about 25 times, then once in five minutes', async () => {
  const h = harness();
  const recorder = h.context.eventRecorder('test');
  for (let i = 0; i < 40; i++) recorder.record(pod, 'Normal', `Reason${i}`, 'm');
  recorder.record({ ...pod, metadata: { ...pod.metadata, name: 'other' } }, 'Normal', 'Reason', 'm');
  await h.settle(200);
  assert.equal((await written(h)).length, 26);
  await h.clock.advance(300_000);
  recorder.record(pod, 'Normal', 'Later', 'm');
  recorder.record(pod, 'Normal', 'TooSoon', 'm');
  await h.settle();
  assert.equal((await written(h)).length, 27);
});

test('events about objects without a namespace lie in default', async () => {
  const h = harness();
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'n1' } };
  h.context.eventRecorder('test').record(node, 'Normal', 'Starting', 'm');
  await h.settle();
  assert.equal((await written(h))[0]?.metadata.namespace, 'default');
});

test('a lost connection is tried again, a refusal by the server is not', async () => {
  const h = harness();
  let failures = 0;
  const lost = new ConnectionError('gone', { code: 'ECONNRESET', neverSent: true });
  h.api.failWith(({ method }) => (method === 'POST' && failures++ < 3 ? lost : undefined));
  const recorder = h.context.eventRecorder('test');
  recorder.record(pod, 'Normal', 'A', 'm');
  await h.clock.advance(60_000);
  assert.equal(failures, 4);
  assert.equal((await written(h)).length, 1);
  let refusals = 0;
  h.api.failWith(({ method }) => (method === 'POST' && refusals++ < 9 ? forbidden(events, '', 'no') : undefined));
  recorder.record(pod, 'Normal', 'B', 'm');
  await h.clock.advance(60_000);
  assert.equal(refusals, 1);
  assert.equal(h.lines.filter(({ message }) => message === 'server rejected event, will not retry').length, 1);
});

test('a server that is away for long costs the event, not the memory', async () => {
  const h = harness();
  h.api.failWith(() => new ConnectionError('gone', { code: 'ECONNREFUSED', neverSent: true }));
  const recorder = h.context.eventRecorder('test');
  for (let i = 0; i < 1500; i++) {
    recorder.record({ ...pod, metadata: { ...pod.metadata, name: `web-${i}` } }, 'Normal', 'A', 'm');
  }
  const dropped = h.lines.filter(({ message }) => message === 'dropping event: too many are waiting').length;
  assert.ok(dropped >= 499 && dropped <= 500, `${dropped} dropped`);
  await h.clock.advance(130_000);
  assert.equal(h.lines.filter(({ message }) => message === 'dropping event after too many tries').length, 1);
  h.stop.abort();
  await h.settle();
});

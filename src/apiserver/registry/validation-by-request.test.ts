/** What is right depends on more than the object: on the labels of its namespace, the version its client speaks, and the server's gates. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { leases } from '../../api/gen/coordination-v1.ts';
import { events as coreEvents, namespaces } from '../../api/gen/core-v1.ts';
import { type Event, events } from '../../api/gen/events-v1.ts';
import { type ResourceClaim, resourceClaims, resourceClaimTemplates } from '../../api/gen/resource-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { StatusError } from '../../apimachinery/status.ts';
import { systemClock } from '../../base/clock.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import { type OpenServer, openServer, openServerWithDefault } from '../api-server.fixture.ts';
import type { ApiStore } from '../server.ts';

let opened: OpenServer;
before(async () => {
  opened = await openServerWithDefault();
  const labels = { 'resource.kubernetes.io/admin-access': 'true' };
  await opened.client.create(namespaces, { metadata: { name: 'trusted', labels }, spec: {} });
});
after(() => opened.close());

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => assert.fail('it was taken'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StatusError, String(error));
  assert.equal(error.code, 422);
  return error.message.replace(/^.* is invalid: /, '');
}

describe('access to devices that others use', () => {
  const claimSpec = (adminAccess: boolean) => ({
    devices: {
      requests: [
        { name: 'own', exactly: { deviceClassName: 'gpu.example' } },
        { name: 'all', exactly: { deviceClassName: 'gpu.example', adminAccess } },
      ],
    },
  });
  const claim = (namespace: string, name: string, adminAccess: boolean): ResourceClaim => ({
    metadata: { name, namespace },
    spec: claimSpec(adminAccess),
  });
  const granted = (of: ResourceClaim): ResourceClaim => ({
    ...of,
    status: {
      allocation: {
        devices: { results: [{ request: 'all', driver: 'd.example', pool: 'p', device: 'x', adminAccess: true }] },
      },
    },
  });
  const reason =
    'Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace';

  test('claims and templates may ask for it where the namespace has the label', async () => {
    await opened.client.create(resourceClaims, claim('trusted', 'asking', true));
    const metadata = { name: 'asking', namespace: 'trusted' };
    await opened.client.create(resourceClaimTemplates, { metadata, spec: { spec: claimSpec(true) } });
  });

  test('elsewhere they are refused, and what does not ask is taken', async () => {
    const message = `spec.devices.requests[1].adminAccess: ${reason}`;
    assert.equal(await refusal(opened.client.create(resourceClaims, claim('default', 'asking', true))), message);
    const metadata = { name: 'asking', namespace: 'default' };
    const template = { metadata, spec: { spec: claimSpec(true) } };
    assert.equal(await refusal(opened.client.create(resourceClaimTemplates, template)), message);
    await opened.client.create(resourceClaims, claim('default', 'modest', false));
  });

  test('whoever allocates cannot grant it elsewhere either', async () => {
    const modest = await opened.client.create(resourceClaims, claim('default', 'served', false));
    assert.equal(
      await refusal(opened.client.updateStatus(resourceClaims, granted(modest))),
      `status.allocation.devices.results[0].adminAccess: ${reason}`,
    );
    const asking = await opened.client.create(resourceClaims, claim('trusted', 'served', true));
    const served = await opened.client.updateStatus(resourceClaims, granted(asking));
    await opened.client.patch(
      namespaces,
      { name: 'trusted' },
      { type: 'merge', body: { metadata: { labels: { 'resource.kubernetes.io/admin-access': null } } } },
    );
    // What was granted stands.
    const status = { ...served.status, reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }] };
    await opened.client.updateStatus(resourceClaims, { ...served, status });
  });
});

describe('events', () => {
  const event = (name: string, more: Partial<Event> = {}): Event => ({
    metadata: { name, namespace: 'default' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/controller',
    reportingInstance: 'one',
    action: 'Look',
    reason: 'Seen',
    type: 'Normal',
    regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
    ...more,
  });
  const strict: readonly { what: string; more: Partial<Event>; errors: string }[] = [
    { what: 'an unknown type', more: { type: 'Odd' }, errors: 'type: Invalid value: "": has invalid value: Odd' },
    {
      what: 'what only older clients write',
      more: {
        deprecatedCount: 3,
        deprecatedSource: { component: 'c' },
        deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
        deprecatedLastTimestamp: '2026-01-01T00:00:00Z',
      },
      errors: `[${['firstTimestamp', 'lastTimestamp', 'count', 'source']
        .map((field) => `${field}: Invalid value: "": needs to be unset`)
        .join(', ')}]`,
    },
    {
      what: 'a series of one',
      more: { series: { count: 1, lastObservedTime: '2026-01-01T00:00:00.000000Z' } },
      errors: 'series.count: Invalid value: "": should be at least 2',
    },
    {
      what: 'no time',
      more: { eventTime: null as unknown as string },
      errors: 'eventTime: Required value',
    },
  ];
  for (const { what, more, errors } of strict) {
    test(`of events.k8s.io/v1 are refused with ${what}`, async () => {
      assert.equal(await refusal(opened.client.create(events, event('refused', more))), errors);
    });
  }

  test('a missing controller has the name of the field in the version of the client', async () => {
    assert.match(
      await refusal(opened.client.create(events, event('refused', { reportingController: '' }))),
      /^\[reportingController: Required value, /,
    );
    const { regarding, reportingController: _, ...rest } = event('refused');
    assert.match(
      await refusal(opened.client.create(coreEvents, { ...rest, involvedObject: regarding! })),
      /^\[reportingComponent: Required value, /,
    );
  });

  test('of events.k8s.io/v1 are counted up and labelled, and stay what they are otherwise; v1 changes them', async () => {
    const made = await opened.client.create(events, event('made'));
    const series = { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' };
    const counted = await opened.client.update(events, { ...made, series });
    assert.deepEqual(counted.series, series);
    const changed = { ...counted, reason: 'Lost', regarding: { kind: 'Pod', name: 'q', namespace: 'default' } };
    assert.equal(
      await refusal(opened.client.update(events, changed)),
      '[involvedObject: Invalid value: {"Kind":"Pod","Namespace":"default","Name":"q","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable, reason: Invalid value: "Lost": field is immutable]',
    );
    const older = await opened.client.get(coreEvents, { name: 'made', namespace: 'default' });
    assert.equal((await opened.client.update(coreEvents, { ...older, reason: 'Lost' })).reason, 'Lost');
  });

  test('of v1 may say what they like', async () => {
    const metadata = { name: 'old', namespace: 'default' };
    const involvedObject = { kind: 'Pod', name: 'p', namespace: 'default' };
    await opened.client.create(coreEvents, { metadata, involvedObject, type: 'Odd', count: 3 });
  });
});

describe('leases', () => {
  const lease = (name: string) => ({
    metadata: { name, namespace: 'default' },
    spec: { holderIdentity: 'h', strategy: 'OldestEmulationVersion', preferredHolder: 'p' },
  });
  const elect = { featureGates: { CoordinatedLeaderElection: true } };

  test('do not keep what only the coordinated election reads', async () => {
    const made = await opened.client.create(leases, lease('plain'));
    assert.deepEqual(made.spec, { holderIdentity: 'h' });
    const updated = await opened.client.update(leases, { ...made, spec: lease('plain').spec });
    assert.deepEqual(updated.spec, { holderIdentity: 'h' });
  });

  test('keep it while it is on, and what they have when it is off again', async () => {
    const store: ApiStore = { kind: 'objects', store: memoryStore<KubeObject>({ clock: systemClock }) };
    const electing = await openServerWithDefault({ store, resources: elect });
    const made = await electing.client.create(leases, lease('elected'));
    assert.deepEqual(made.spec, lease('elected').spec);
    await electing.close();
    const later = await openServer({ store });
    const spec = { ...made.spec, preferredHolder: 'q' };
    assert.deepEqual((await later.client.update(leases, { ...made, spec })).spec, spec);
    await later.close();
    await store.store.close();
  });
});

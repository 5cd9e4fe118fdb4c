/** What lies in etcd: upstream's keys, upstream's bytes, and what others wrote is served. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { builtinCodec } from '../../src/api/schema.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { openEnvelope } from '../../src/apimachinery/protobuf/envelope.ts';
import { systemClock } from '../../src/base/clock.ts';
import { bufferCodec } from '../../src/storage/codec.ts';
import { type EtcdStore, openEtcdStore } from '../../src/storage/etcd/index.ts';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { type OpenCluster, openCluster } from '../api/cluster.ts';
import { json, openWires, type Wire } from '../api/wire.ts';

describe('objects in etcd', needs('etcd'), () => {
  let etcd: Etcd;
  let raw: EtcdStore<Buffer>;
  let cluster: OpenCluster;
  let wire: Wire;
  before(async () => {
    etcd = await startEtcd();
    raw = await openEtcdStore({ endpoints: etcd.endpoints, codec: bufferCodec, clock: systemClock });
    cluster = await openCluster({ endpoints: etcd.endpoints });
    wire = openWires(cluster.admin)[0]!;
  });
  after(async () => {
    wire.close();
    await cluster.close();
    await raw.close();
    await etcd.stop();
  });

  const send = async (method: string, path: string, body?: object) => {
    const sent = body ? { headers: json, body: JSON.stringify(body) } : {};
    const answer = await wire.ask({ method, path, ...sent });
    return { status: answer.status, object: JSON.parse(answer.text) as KubeObject };
  };
  const kept = async (key: string) => Buffer.from((await raw.get(key))?.value ?? assert.fail(`nothing at ${key}`));

  const container = { name: 'c', image: 'busybox' };
  const created = [
    { path: '/api/v1/namespaces/default/pods', key: '/registry/pods/default/a', spec: { containers: [container] } },
    { path: '/api/v1/nodes', key: '/registry/minions/a' },
    {
      path: '/api/v1/namespaces/default/services',
      key: '/registry/services/specs/default/a',
      spec: { ports: [{ port: 1 }] },
    },
    { path: '/api/v1/namespaces/default/endpoints', key: '/registry/services/endpoints/default/a' },
    {
      path: '/api/v1/namespaces/default/events',
      key: '/registry/events/default/a',
      involvedObject: { namespace: 'default' },
    },
    {
      path: '/apis/apps/v1/namespaces/default/deployments',
      key: '/registry/deployments/default/a',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } },
      },
    },
    { path: '/apis/coordination.k8s.io/v1/namespaces/default/leases', key: '/registry/leases/default/a' },
    {
      path: '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
      key: '/registry/ingress/default/a',
      spec: { defaultBackend: { service: { name: 'a', port: { number: 1 } } } },
    },
    {
      path: '/api/v1/namespaces/default/replicationcontrollers',
      key: '/registry/controllers/default/a',
      spec: { selector: { a: 'b' }, template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } } },
    },
  ];
  for (const { path, key, ...fields } of created) {
    test(`${path} lies at ${key}, as protobuf`, async () => {
      const { status, object } = await send('POST', path, { metadata: { name: 'a' }, ...fields });
      assert.equal(status, 201, JSON.stringify(object));
      const { apiVersion, kind, message } = openEnvelope(await kept(key));
      assert.deepEqual([apiVersion, kind], [object.apiVersion, object.kind]);
      const type = builtinCodec().registry.typeOf(apiVersion, kind)!;
      const { metadata } = builtinCodec().decodeMessage(message, type.id) as unknown as KubeObject;
      assert.equal(metadata.uid, object.metadata.uid);
      assert.equal(metadata.resourceVersion, undefined);
    });
  }

  test('definitions and custom resources are JSON, at keys with their group', async () => {
    const names = { plural: 'boats', singular: 'boat', kind: 'Boat', listKind: 'BoatList' };
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: { crew: { type: 'integer' } } } },
      },
    };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    const definition = {
      metadata: { name: 'boats.example.com' },
      spec: { group: 'example.com', scope: 'Namespaced', names, versions },
    };
    assert.equal(
      (await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)).status,
      201,
    );
    const stored = await kept('/registry/apiextensions.k8s.io/customresourcedefinitions/boats.example.com');
    assert.match(stored.toString(), /^\{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io\/v1",/);
    const path = '/apis/example.com/v1/namespaces/default/boats';
    await untilServed(path);
    assert.equal(
      (
        await send('POST', path, {
          apiVersion: 'example.com/v1',
          kind: 'Boat',
          metadata: { name: 'a' },
          spec: { crew: 1 },
        })
      ).status,
      201,
    );
    const boat = JSON.parse((await kept('/registry/example.com/boats/default/a')).toString()) as { spec: object };
    assert.deepEqual(boat.spec, { crew: 1 });
  });

  async function untilServed(path: string): Promise<void> {
    while ((await wire.ask({ path })).status === 404) await new Promise<void>((resolve) => systemClock.soon(resolve));
  }

  test('nothing of ours lies outside the registry', async () => {
    const { entries } = await raw.range({ start: '\u0000', end: '\u{10ffff}' });
    assert.deepEqual(
      entries.map(({ key }) => key).filter((key) => !key.startsWith('/registry/')),
      [],
    );
  });

  test('what others wrote is served, whether JSON or protobuf, and whatever version they keep it in', async () => {
    const metadata = { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z', uid: 'u' };
    const configMap = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { ...metadata, name: 'json' },
      data: { a: '1' },
    };
    await raw.put('/registry/configmaps/default/json', Buffer.from(`${JSON.stringify(configMap)}\n`));
    const protobuf = builtinCodec().encodeProtobuf({ ...configMap, metadata: { ...metadata, name: 'pb' } } as object)!;
    await raw.put('/registry/configmaps/default/pb', protobuf);
    for (const name of ['json', 'pb']) {
      const { object } = await send('GET', `/api/v1/namespaces/default/configmaps/${name}`);
      assert.deepEqual((object as { data?: object }).data, { a: '1' });
    }
    const policy = {
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: 'old', uid: 'u' },
      spec: { reinvocationPolicy: 'Never' },
    };
    const beta = { ...policy, apiVersion: 'admissionregistration.k8s.io/v1beta1' };
    await raw.put('/registry/mutatingadmissionpolicies/old', builtinCodec().encodeProtobuf(beta)!);
    const { object } = await send('GET', '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/old');
    assert.equal(object.apiVersion, 'admissionregistration.k8s.io/v1');
  });

  test('a store that a real API server has filled is served as that server served it', async () => {
    const values = JSON.parse(await readFile(new URL('real-server-values.json', import.meta.url), 'utf8')) as Values;
    for (const [key, value] of Object.entries(values)) await raw.put(key, Buffer.from(value, 'base64'));
    const at = async (path: string) => (await send('GET', path)).object as KubeObject & { spec: Fields; data: object };
    const inDefault = (path: string) => at(path.replace('~', 'namespaces/default'));
    const deployment = await inDefault('/apis/apps/v1/~/deployments/d2');
    assert.deepEqual(deployment.spec.strategy, {
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' },
    });
    const scaler = await inDefault('/apis/autoscaling/v2/~/horizontalpodautoscalers/h2');
    assert.deepEqual(scaler.spec.metrics, [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
    ]);
    assert.deepEqual((await inDefault('/api/v1/~/secrets/s2')).data, { a: 'Yg==' });
    const definition = await at('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ships.example.com');
    assert.equal(definition.apiVersion, 'apiextensions.k8s.io/v1');
    const properties = { spec: { type: 'object', properties: { crew: { type: 'integer' } } } };
    assert.deepEqual(definition.spec.versions, [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties } },
        additionalPrinterColumns: [{ name: 'Crew', type: 'integer', jsonPath: '.spec.crew' }],
      },
    ]);
    await untilServed('/apis/example.com/v1/ships');
    assert.deepEqual((await inDefault('/apis/example.com/v1/~/ships/b')).spec, { crew: 3 });
  });
});

type Values = Readonly<Record<string, string>>;
type Fields = { readonly strategy?: object; readonly metrics?: object; readonly versions?: object };

/** Custom resources from their definition on, over HTTPS, by a store of objects and by one of bytes. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { namespaces } from '../../src/api/gen/core-v1.ts';
import { findCondition } from '../../src/apimachinery/conditions.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { startWebhookServer } from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createClient, createHttpTransport, StatusError } from '../../src/client/index.ts';
import { when } from '../conformance/cluster.ts';
import { anything, type CustomObject, define, type Schema, undefine } from '../conformance/definitions.ts';
import { clusterData, openCluster, type StoreName } from './cluster.ts';

type Gadget = CustomObject & { readonly spec?: Readonly<Record<string, unknown>> };

const sized: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { size: { type: 'integer', minimum: 1 }, colour: { type: 'string' }, replicas: { type: 'integer' } },
    },
    status: { type: 'object', properties: { ready: { type: 'boolean' }, replicas: { type: 'integer' } } },
  },
};

const withSubresources = {
  name: 'v1',
  schema: { openAPIV3Schema: sized },
  subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  additionalPrinterColumns: [
    { name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 },
    { name: 'Colour', type: 'string', jsonPath: '.spec.colour' },
  ],
};

async function refusal(call: Promise<unknown>): Promise<StatusError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: 'nothing was refused' });
}

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describe(`custom resources over ${storeName}`, async () => {
    const cluster = await openCluster({ storeName });
    const { url: server, ca, cert, key } = cluster.admin;
    const transport = createHttpTransport({ server, clock: systemClock, tls: { ca, cert, key } });
    const client = createClient(transport);
    after(async () => {
      await transport.close();
      await cluster.close();
    });

    it('keep status and spec apart and count generations', async () => {
      const defined = await define(client, { versions: [withSubresources] });
      const type = defined.type();
      const created = await client.create(type, {
        metadata: { name: 'a' },
        spec: { size: 1 },
        status: { ready: true },
      });
      assert.equal(created.status, undefined);
      assert.equal(created.metadata.generation, 1);
      const stated = await client.updateStatus(type, {
        ...created,
        metadata: { ...created.metadata, labels: { a: 'b' } },
        spec: { size: 7 },
        status: { ready: true },
      });
      assert.deepEqual([stated.spec, stated.status, stated.metadata.labels], [{ size: 1 }, { ready: true }, undefined]);
      assert.equal(stated.metadata.generation, 1);
      const updated = await client.update(type, { ...stated, spec: { size: 2 }, status: {} });
      assert.deepEqual([updated.metadata.generation, updated.status], [2, { ready: true }]);
      await undefine(client, defined);
    });

    it('scale where the definition says', async () => {
      const defined = await define(client, { versions: [withSubresources] });
      const { group, version, resource } = defined.type();
      const path = `/apis/${group}/${version}/${resource}/a/scale`;
      await client.create(defined.type(), { metadata: { name: 'a' }, spec: { size: 1 } });
      const unset = await refusal(client.raw({ method: 'GET', path }));
      assert.match(unset.message, /the spec replicas field ".spec.replicas" does not exist/);
      const body = { spec: { replicas: 4 } };
      await client.raw({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
      const scaled: Gadget = await client.get(defined.type(), { name: 'a' });
      assert.deepEqual([scaled.spec, scaled.metadata.generation], [{ size: 1, replicas: 4 }, 2]);
      await undefine(client, defined);
    });

    it('are refused with all errors, pruned, and warned of', async () => {
      const defined = await define(client, { schema: sized });
      const type = defined.type();
      const spec = { size: 0, colour: 5 };
      const { code, message } = await refusal(client.create(type, { metadata: { name: 'a' }, spec }));
      assert.equal(code, 422);
      assert.match(message, /spec\.colour: Invalid value: "integer"/);
      assert.match(message, /spec\.size: Invalid value: 0: spec\.size in body should be greater than or equal to 1/);
      const pruned: Gadget = await client.create(type, { metadata: { name: 'a' }, spec: { size: 1, weight: 3 } });
      assert.deepEqual(pruned.spec, { size: 1 });
      await undefine(client, defined);
    });

    it('have no protobuf and no strategic merge, but their metadata have', async () => {
      const defined = await define(client);
      const { group, resource } = defined.type();
      const path = `/apis/${group}/v1/${resource}`;
      const protobuf = 'application/vnd.kubernetes.protobuf';
      assert.equal((await refusal(client.raw({ method: 'GET', path, accept: protobuf }))).code, 406);
      const written = await refusal(client.raw({ method: 'POST', path, contentType: protobuf, body: {} }));
      assert.equal(written.code, 400);
      await client.create(defined.type(), { metadata: { name: 'a' } });
      const accept = `${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`;
      const metadata = (await client.raw({ method: 'GET', path: `${path}/a`, accept })) as Uint8Array;
      assert.match(Buffer.from(metadata).toString('latin1'), /^k8s\0.*PartialObjectMetadata/s);
      const patch = client.patch(defined.type(), { name: 'a' }, { type: 'strategic', body: {} });
      assert.equal((await refusal(patch)).code, 415);
      await undefine(client, defined);
    });

    it('are shown in the columns of their definition', async () => {
      const defined = await define(client, { versions: [withSubresources] });
      await client.create(defined.type(), { metadata: { name: 'a' }, spec: { size: 3, colour: 'red' } });
      const { group, resource } = defined.type();
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const table = (await client.raw({ method: 'GET', path: `/apis/${group}/v1/${resource}`, accept })) as {
        readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
        readonly rows: readonly { readonly cells: readonly unknown[] }[];
      };
      assert.deepEqual(
        table.columnDefinitions.map(({ name, priority }) => [name, priority]),
        [
          ['Name', 0],
          ['Size', 1],
          ['Colour', 0],
        ],
      );
      assert.deepEqual(table.rows[0]?.cells, ['a', 3, 'red']);
      await undefine(client, defined);
    });

    it('watches end when their version changes', async () => {
      const defined = await define(client, { schema: anything });
      const events = client.watch(defined.type(), { resourceVersion: defined.definition.metadata.resourceVersion });
      const ended = (async () => {
        for await (const _ of events);
      })();
      const body = {
        spec: { versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: sized } }] },
      };
      await client.patch(customResourceDefinitions, { name: defined.name }, { type: 'merge', body });
      await ended;
      await undefine(client, defined);
    });

    it('that finalizers hold keep their definition, which takes no new ones', async () => {
      const defined = await define(client);
      const type = defined.type();
      const ref = { name: defined.name };
      await client.create(type, { metadata: { name: 'held', finalizers: ['example.com/hold'] } });
      await client.delete(customResourceDefinitions, ref);
      await when(client, customResourceDefinitions, ref, (definition) => {
        const condition = findCondition(definition?.status?.conditions, 'Terminating');
        return condition?.reason === 'InstanceDeletionInProgress';
      });
      const { code, message } = await refusal(client.create(type, { metadata: { name: 'late' } }));
      assert.equal(code, 403);
      assert.match(message, /create not allowed while custom resource definition is terminating/);
      await client.patch(type, { name: 'held' }, { type: 'merge', body: { metadata: { finalizers: null } } });
      await when(client, customResourceDefinitions, ref, (definition) => definition === undefined);
      const again = await define(client, { group: type.group });
      assert.deepEqual((await client.list(again.type())).items, []);
      await undefine(client, again);
    });

    it('go with their namespace', async () => {
      const defined = await define(client, { namespaced: true });
      const made = await client.create(namespaces, { metadata: { generateName: 'doomed-' }, spec: {} });
      const namespace = made.metadata.name!;
      await client.create(defined.type(), { metadata: { namespace, name: 'a' } });
      await client.delete(namespaces, { name: namespace });
      await when(client, namespaces, { name: namespace }, (object) => object === undefined);
      assert.deepEqual((await client.list(defined.type())).items, []);
      await undefine(client, defined);
    });

    it('say why their webhook did not convert them', async () => {
      await using webhook = await startWebhookServer(({ apiVersion, kind, request }) => ({
        apiVersion,
        kind,
        response: {
          uid: request.uid,
          result: { status: 'Success' },
          convertedObjects: request.objects.map((object: KubeObject) => ({
            ...object,
            apiVersion: request.desiredAPIVersion,
            metadata: { ...object.metadata, name: 'another' },
          })),
        },
      }));
      const clientConfig = { url: webhook.url, caBundle: webhook.caBundle };
      const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      const defined = await define(client, { conversion, versions: [{ name: 'v1' }, { name: 'v2' }] });
      const { code, message } = await refusal(client.create(defined.type('v2'), { metadata: { name: 'a' } }));
      assert.equal(code, 500);
      const subject = `${defined.type().group}/v2, Kind=Gadget`;
      assert.equal(
        message,
        `conversion webhook for ${subject} returned invalid object: must have the same name: a != another`,
      );
      assert.deepEqual((await client.list(defined.type('v1'))).items, []);
      await undefine(client, defined);
    });
  });
}

it('custom resources are served before a server that starts again is ready', async () => {
  const data = clusterData();
  const first = await openCluster({ storeName: 'LMDB', data });
  const defined = await define(first.controlPlane.admin, { schema: sized });
  await first.controlPlane.admin.create(defined.type(), { metadata: { name: 'a' }, spec: { size: 1 } });
  await first.close();
  const second = await openCluster({ storeName: 'LMDB', data });
  const found: Gadget = await second.controlPlane.admin.get(defined.type(), { name: 'a' });
  assert.deepEqual(found.spec, { size: 1 });
  await second.close();
  data.remove();
});

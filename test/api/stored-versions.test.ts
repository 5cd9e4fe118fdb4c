/**
 * In which version and form objects lie in the store: an update that changes nothing writes anew what an older definition, or another
 * release, has written, so that a version can be given up when every object was touched once.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type CustomResourceDefinition, customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { type ConfigMap, configMaps } from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { isInvalid } from '../../src/apimachinery/status.ts';
import { startWebhookServer } from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import type { Client } from '../../src/client/index.ts';
import { anything, type Defined, define } from '../conformance/definitions.ts';
import { clusterData, type OpenCluster, openCluster, type StoreName } from './cluster.ts';

async function keptAt({ store }: OpenCluster, key: string): Promise<KubeObject> {
  const entry = await (store.kind === 'objects' ? store.store.get(key) : store.store.get(key));
  const value: unknown = entry?.value;
  return value instanceof Uint8Array ? JSON.parse(Buffer.from(value).toString()) : (value as KubeObject);
}

/** Makes the version the one that is stored, and waits until it is served so. */
async function storeIn(client: Client, { name }: Defined, version: string): Promise<void> {
  const definition = await client.get(customResourceDefinitions, { name });
  const versions = definition.spec.versions.map((one) => ({ ...one, storage: one.name === version }));
  await client.update(customResourceDefinitions, { ...definition, spec: { ...definition.spec, versions } });
}

const both = [{ name: 'v1' }, { name: 'v2' }];

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describe(`the storage version over ${storeName}`, async () => {
    const cluster = await openCluster({ storeName });
    const client = cluster.controlPlane.admin;
    after(() => cluster.close());

    /** An object that was written in v1 of a definition that now stores v2. */
    async function outdated(conversion?: CustomResourceDefinition['spec']['conversion']) {
      const defined = await define(client, { versions: both, schema: anything, conversion });
      await client.create(defined.type('v1'), { metadata: { name: 'a' }, spec: { size: 1 } });
      await storeIn(client, defined, 'v2');
      const key = `/registry/${defined.type().group}/gadgets/a`;
      assert.equal((await keptAt(cluster, key)).apiVersion, `${defined.type().group}/v1`);
      return { defined, group: defined.type().group, key };
    }

    for (const through of ['v1', 'v2']) {
      it(`is taken on by an update through ${through} that changes nothing`, async () => {
        const { defined, group, key } = await outdated();
        const found = await client.get(defined.type(through), { name: 'a' });
        const touched = await client.update(defined.type(through), found);
        assert.equal((await keptAt(cluster, key)).apiVersion, `${group}/v2`);
        assert.notEqual(touched.metadata.resourceVersion, found.metadata.resourceVersion);
        assert.equal(touched.metadata.generation, 1);
        const again = await client.update(defined.type(through), touched);
        assert.equal(again.metadata.resourceVersion, touched.metadata.resourceVersion);
      });
    }

    it('is taken on where a webhook converts', async () => {
      await using webhook = await startWebhookServer(({ apiVersion, kind, request }) => ({
        apiVersion,
        kind,
        response: {
          uid: request.uid,
          result: { status: 'Success' },
          convertedObjects: request.objects.map((object: KubeObject) => ({
            ...object,
            apiVersion: request.desiredAPIVersion,
          })),
        },
      }));
      const clientConfig = { url: webhook.url, caBundle: webhook.caBundle };
      const review = { clientConfig, conversionReviewVersions: ['v1'] };
      const { defined, group, key } = await outdated({ strategy: 'Webhook', webhook: review });
      const found = await client.get(defined.type('v2'), { name: 'a' });
      const touched = await client.update(defined.type('v2'), found);
      assert.equal((await keptAt(cluster, key)).apiVersion, `${group}/v2`);
      const again = await client.update(defined.type('v2'), touched);
      assert.equal(again.metadata.resourceVersion, touched.metadata.resourceVersion);
    });

    it('that was used keeps its version in the definition until somebody says that nothing is left', async () => {
      const { defined } = await outdated();
      const { name } = defined;
      const current = () => client.get(customResourceDefinitions, { name });
      assert.deepEqual((await current()).status?.storedVersions, ['v1', 'v2']);
      const withoutV1 = async () => {
        const definition = await current();
        const versions = definition.spec.versions.filter((version) => version.name !== 'v1');
        return client.update(customResourceDefinitions, { ...definition, spec: { ...definition.spec, versions } });
      };
      await assert.rejects(withoutV1(), (error: Error) => {
        assert.ok(isInvalid(error));
        assert.match(
          error.message,
          /status\.storedVersions\[0\]: Invalid value: "v1": missing from spec\.versions; v1 was/,
        );
        return true;
      });
      await client.update(defined.type('v2'), await client.get(defined.type('v2'), { name: 'a' }));
      const definition = await current();
      await client.updateStatus(customResourceDefinitions, {
        ...definition,
        status: { ...definition.status, storedVersions: ['v2'] },
      });
      assert.deepEqual((await withoutV1()).status?.storedVersions, ['v2']);
      const kept = await client.get(defined.type('v2'), { name: 'a' });
      assert.deepEqual(kept.spec, { size: 1 });
    });
  });
}

it('what another release wrote is written anew by an update that changes nothing, once', async () => {
  const data = clusterData();
  const key = '/registry/configmaps/default/a';
  const at = { namespace: 'default', name: 'a' };
  const first = await openCluster({ storeName: 'LMDB', data });
  await first.controlPlane.admin.create(configMaps, { metadata: at, data: { colour: 'blue' } });
  const { kind, apiVersion, metadata, ...rest } = (await keptAt(first, key)) as ConfigMap;
  assert.ok(first.store.kind === 'bytes');
  await first.store.store.put(key, Buffer.from(JSON.stringify({ ...rest, metadata, apiVersion, kind, later: 1 })));
  await first.store.store.put('/coracle/encoding', Buffer.from('of another release'));
  await first.close();
  const second = await openCluster({ storeName: 'LMDB', data });
  const client = second.controlPlane.admin;
  const found = await client.get(configMaps, at);
  const touched = await client.update(configMaps, found);
  assert.notEqual(touched.metadata.resourceVersion, found.metadata.resourceVersion);
  assert.deepEqual(Object.keys(await keptAt(second, key)), ['kind', 'apiVersion', 'metadata', 'data']);
  const again = await client.update(configMaps, touched);
  assert.equal(again.metadata.resourceVersion, touched.metadata.resourceVersion);
  await second.close();
  data.remove();
});

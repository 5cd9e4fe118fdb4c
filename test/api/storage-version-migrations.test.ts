/** An order to write all objects of a resource anew, carried out by a whole control plane that has the feature on. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { type StorageVersionMigration, storageVersionMigrations } from '../../src/api/gen/storagemigration-v1beta1.ts';
import { isConditionTrue } from '../../src/apimachinery/conditions.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { Client } from '../../src/client/index.ts';
import { when } from '../conformance/cluster.ts';
import { anything, define } from '../conformance/definitions.ts';
import { type OpenCluster, openCluster } from './cluster.ts';

describe('a storage version migration', () => {
  const featureGates = { StorageVersionMigrator: true };
  let cluster: OpenCluster;
  let client: Client;
  before(async () => {
    const apiServer = { featureGates, runtimeConfig: { 'storagemigration.k8s.io/v1beta1': true } };
    cluster = await openCluster({ apiServer, controllerManager: { featureGates } });
    client = cluster.controlPlane.admin;
  });
  after(() => cluster?.close());

  const order = (name: string, group: string, resource: string) =>
    client.create(storageVersionMigrations, { metadata: { name }, spec: { resource: { group, resource } } });
  const ended = async (name: string) => {
    const migration = await when(client, storageVersionMigrations, { name }, (found) => {
      const conditions = found?.status?.conditions;
      const over = isConditionTrue(conditions, 'Succeeded') || isConditionTrue(conditions, 'Failed');
      return over && !isConditionTrue(conditions, 'Running');
    });
    assert.ok(migration);
    return migration;
  };
  const told = ({ status }: StorageVersionMigration) =>
    Object.fromEntries(
      (status?.conditions ?? []).map((condition) => [
        condition.type,
        `${condition.status} ${condition.message}`.trim(),
      ]),
    );
  const kept = async (key: string) => {
    const { store } = cluster;
    const entry = await (store.kind === 'objects' ? store.store.get(key) : store.store.get(key));
    const value: unknown = entry?.value;
    return value instanceof Uint8Array ? JSON.parse(Buffer.from(value).toString()) : (value as KubeObject);
  };

  it('writes every object in the version that is stored now, and forgets the others', async () => {
    const defined = await define(client, { versions: [{ name: 'v1' }, { name: 'v2' }], schema: anything });
    const { group } = defined.type();
    for (const name of ['a', 'b']) await client.create(defined.type('v1'), { metadata: { name } });
    const definition = await client.get(customResourceDefinitions, { name: defined.name });
    const versions = definition.spec.versions.map((one) => ({ ...one, storage: one.name === 'v2' }));
    await client.update(customResourceDefinitions, { ...definition, spec: { ...definition.spec, versions } });
    assert.equal((await kept(`/registry/${group}/gadgets/a`)).apiVersion, `${group}/v1`);
    await order('gadgets', group, 'gadgets');
    const migration = await ended('gadgets');
    assert.deepEqual(told(migration), { Running: 'False Migration completed', Succeeded: 'True' });
    assert.match(migration.status?.resourceVersion ?? '', /^[1-9]\d*$/);
    for (const name of ['a', 'b']) {
      assert.equal((await kept(`/registry/${group}/gadgets/${name}`)).apiVersion, `${group}/v2`);
    }
    const after = await client.get(customResourceDefinitions, { name: defined.name });
    assert.deepEqual(after.status?.storedVersions, ['v2']);
    const migrating = after.status?.conditions?.find(({ type }) => type === 'StorageMigrating');
    assert.deepEqual(
      [migrating?.status, migrating?.message],
      ['False', 'The migration has succeeded and the stored versions have been updated'],
    );
  });

  it('is carried out for built-in kinds, one order after the other', async () => {
    await Promise.all([order('first', '', 'configmaps'), order('second', '', 'configmaps')]);
    for (const name of ['first', 'second']) assert.equal(told(await ended(name)).Succeeded, 'True');
  });

  it('fails for what cannot be written', async () => {
    await order('reviews', 'authorization.k8s.io', 'subjectaccessreviews');
    assert.deepEqual(told(await ended('reviews')), {
      Running: 'False Migration completed',
      Failed:
        'True resource "authorization.k8s.io/v1, Resource=subjectaccessreviews" does not support discovery operations: [update patch list]',
    });
  });
});

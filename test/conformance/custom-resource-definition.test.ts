/** CustomResourceDefinitions and what is defined by them: made, listed, watched, defaulted, discovered, validated. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { StatusError } from '../../src/client/index.ts';
import { follow, startCluster, when, whenAll } from './cluster.ts';
import { type CustomObject, define, type Schema, undefine } from './definitions.ts';
import { assertValidVersion } from './operations.ts';

const { client } = await startCluster({ scheduler: false });

test('[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition creating/deleting custom resource definition objects works [Conformance]', async () => {
  await undefine(client, await define(client));
});

test('[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition listing custom resource definition objects works [Conformance]', async () => {
  const labels = { 'e2e-list-test-uuid': 'a' };
  const labelSelector = 'e2e-list-test-uuid=a';
  const made = await Promise.all(Array.from({ length: 10 }, () => define(client, { labels })));
  const other = await define(client);
  const { items } = await client.list(customResourceDefinitions, { labelSelector });
  const specs = new Map(made.map(({ name, definition }) => [name, definition.spec]));
  assert.equal(items.length, made.length);
  for (const { metadata, spec } of items) assert.deepEqual(spec, specs.get(metadata.name!));
  await client.deleteCollection(customResourceDefinitions, { labelSelector });
  await whenAll(client, customResourceDefinitions, { labelSelector }, (left) => left.length === 0);
  assert.ok(await client.get(customResourceDefinitions, { name: other.name }));
  await undefine(client, other);
});

test('[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition getting/updating/patching custom resource definition status sub-resource works [Conformance]', async () => {
  const defined = await define(client);
  const ref = { name: defined.name };
  const read = await client.get(customResourceDefinitions, ref, { subresource: 'status' });
  assert.deepEqual(read.spec, defined.definition.spec);
  const conditions = [...(read.status?.conditions ?? []), { type: '', status: '', message: 'updated' }];
  const updated = await client.updateStatus(customResourceDefinitions, {
    ...read,
    status: { ...read.status, conditions },
  });
  assert.ok(updated.status?.conditions?.some(({ message }) => message === 'updated'));
  const body = [{ op: 'add', path: '/status/conditions', value: [{ message: 'patched' }] }];
  const patched = await client.patch(customResourceDefinitions, ref, { type: 'json', body }, { subresource: 'status' });
  assert.ok(patched.status?.conditions?.some(({ message }) => message === 'patched'));
  await undefine(client, defined);
});

test('[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] should include custom resource definition resources in discovery documents [Conformance]', async () => {
  const read = async (path: string) => (await client.raw({ method: 'GET', path })) as Record<string, never>;
  const groupVersion = 'apiextensions.k8s.io/v1';
  const groups: readonly { name: string; versions: readonly { groupVersion: string }[] }[] = (await read('/apis'))
    .groups!;
  const group = groups.find(({ name }) => name === 'apiextensions.k8s.io');
  assert.ok(group?.versions.some((version) => version.groupVersion === groupVersion));
  const { name, versions } = (await read('/apis/apiextensions.k8s.io')) as unknown as (typeof groups)[0];
  assert.equal(name, 'apiextensions.k8s.io');
  assert.ok(versions.some((version) => version.groupVersion === groupVersion));
  const list = (await read(`/apis/${groupVersion}`)) as unknown as {
    groupVersion: string;
    resources: { name: string }[];
  };
  assert.equal(list.groupVersion, groupVersion);
  assert.ok(list.resources.some((resource) => resource.name === 'customresourcedefinitions'));
});

test('[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] custom resource defaulting for requests and from storage works [Conformance]', async () => {
  const schema: Schema = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } };
  const defined = await define(client, { schema });
  const type = defined.type();
  const defaultsOf = async (name: string, body: readonly object[]) => {
    await client.patch(customResourceDefinitions, { name: defined.name }, { type: 'json', body });
    return (right: (object: CustomObject) => boolean) =>
      when(client, type, { name }, (object) => object !== undefined && right(object));
  };
  assertValidVersion(await client.create(type, { metadata: { name: 'cr-1' } }));
  const at = '/spec/versions/0/schema/openAPIV3Schema/properties';
  const read = await defaultsOf('cr-1', [{ op: 'add', path: `${at}/a/default`, value: 'A' }]);
  await read((object) => object.a === 'A');
  const second = await client.create(type, { metadata: { name: 'cr-2' } });
  assert.equal(second.a, 'A');
  const reread = await defaultsOf('cr-2', [
    { op: 'remove', path: `${at}/a/default` },
    { op: 'add', path: `${at}/b/default`, value: 'B' },
  ]);
  const both = await reread((object) => object.b === 'B');
  assert.equal(both?.a, 'A');
  await undefine(client, defined);
});

test('[sig-api-machinery] CustomResourceDefinition Watch [Privileged:ClusterAdmin] CustomResourceDefinition Watch watch on custom resource definition objects [Conformance]', async () => {
  const defined = await define(client);
  const type = defined.type();
  const names = ['name1', 'name2'];
  for (const name of names) {
    using mine = await follow(client, type, { fieldSelector: `metadata.name=${name}` });
    using all = await follow(client, type, { fieldSelector: `metadata.name!=${name}` });
    await client.create(type, { metadata: { name } });
    await client.patch(type, { name }, { type: 'merge', body: { dummy: 'test' } });
    await client.delete(type, { name });
    const marker = await client.create(type, { metadata: { name: `${name}-end` } });
    const told = [await mine.next(), await mine.next(), await mine.next()];
    assert.deepEqual(
      told.map((event) => event.type),
      ['ADDED', 'MODIFIED', 'DELETED'],
    );
    const first = await all.next();
    assert.equal(first.object.metadata.uid, marker.metadata.uid);
  }
  await undefine(client, defined);
});

const aggregated = 'application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList';

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly { readonly resource: string }[];
    }[];
  }[];
}

async function isDiscovered(defined: Awaited<ReturnType<typeof define>>): Promise<boolean> {
  const { items } = (await client.raw({ method: 'GET', path: '/apis', accept: aggregated })) as Discovery;
  const { group, version, resource } = defined.type();
  const found = items.find(({ metadata }) => metadata.name === group)?.versions.find((v) => v.version === version);
  return found?.resources?.some((known) => known.resource === resource) ?? false;
}

test('[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery request for CRDs [Conformance]', async () => {
  const defined = await define(client, { namespaced: true });
  assert.ok(await isDiscovered(defined));
  await undefine(client, defined);
  assert.ok(!(await isDiscovered(defined)));
});

test('[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface for CRDs [Conformance]', async () => {
  const defined = await define(client, { namespaced: true });
  const path = `/apis/${defined.type().group}/v1`;
  const { resources } = (await client.raw({ method: 'GET', path })) as {
    readonly resources: readonly { name: string }[];
  };
  assert.deepEqual(
    resources.map(({ name }) => name),
    ['gadgets'],
  );
  assert.ok(await isDiscovered(defined));
  await undefine(client, defined);
});

const cron: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        foo: { type: 'string' },
        cronSpec: { type: 'string', pattern: '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$' },
        ports: {
          type: 'array',
          'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
          'x-kubernetes-list-type': 'map',
          items: {
            type: 'object',
            required: ['containerPort', 'protocol'],
            properties: {
              containerPort: { format: 'int32', type: 'integer' },
              hostIP: { type: 'string' },
              hostPort: { format: 'int32', type: 'integer' },
              name: { type: 'string' },
              protocol: { type: 'string' },
            },
          },
        },
      },
    },
  },
} as unknown as Schema;
const cronSpec = { cronSpec: '* * * * */5', ports: [{ name: 'x', containerPort: 80, protocol: 'TCP' }] };

function applyStrictly(defined: Awaited<ReturnType<typeof define>>, fields: object): Promise<unknown> {
  const { group, version, resource, kind } = defined.type();
  return client.raw({
    method: 'PATCH',
    path: `/apis/${group}/${version}/${resource}/mytest`,
    query: new Map([
      ['fieldManager', 'field_validation_mgr'],
      ['fieldValidation', 'Strict'],
    ]),
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: `${group}/${version}`, kind, metadata: { name: 'mytest' }, ...fields },
  });
}

test('[sig-api-machinery] FieldValidation should create/apply a CR with unknown fields for CRD with no validation schema [Conformance]', async () => {
  const defined = await define(client);
  await applyStrictly(defined, { spec: { unknown: 'uk1', ...cronSpec } });
  await undefine(client, defined);
});

test('[sig-api-machinery] FieldValidation should create/apply a valid CR for CRD with validation schema [Conformance]', async () => {
  const defined = await define(client, { schema: cron });
  await applyStrictly(defined, { spec: { foo: 'foo1', ...cronSpec } });
  await undefine(client, defined);
});

test('[sig-api-machinery] FieldValidation should create/apply an invalid CR with extra properties for CRD with validation schema [Conformance]', async () => {
  const defined = await define(client, { schema: cron });
  await assert.rejects(
    applyStrictly(defined, { unknownField: 'unknown', spec: { foo: 'foo1', ...cronSpec } }),
    (error: unknown) =>
      error instanceof StatusError && error.message.includes('.unknownField: field not declared in schema'),
  );
  await undefine(client, defined);
});

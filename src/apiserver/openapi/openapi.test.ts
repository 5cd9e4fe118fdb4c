import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { builtinResources } from '../../api/schema.ts';
import { OpenApi } from './openapi.ts';
import type { DocumentedResource } from './operations.ts';

const widgets: DocumentedResource = {
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
  singular: 'widget',
  namespaced: true,
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [{ name: 'status', kind: 'Widget', verbs: ['get', 'patch', 'update'] }],
  schema: {
    type: 'object',
    description: 'A widget.',
    properties: {
      spec: {
        type: 'object',
        properties: { size: { type: 'integer', default: 1 }, level: { nullable: true, type: 'string' } },
      },
    },
  },
};
const builtin = builtinResources().filter((row) => row.enabledByDefault && row.gate === undefined);
const openApi = new OpenApi({ resources: [...builtin, widgets], version: 'v1.36.2' });

interface Json {
  readonly [key: string]: Json;
}

function read(document: { readonly body: Buffer } | undefined): Json {
  assert.ok(document);
  return JSON.parse(document.body.toString());
}

/** Every value under a key named `$ref`. */
function refs(value: unknown, found: Set<string> = new Set()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, entry] of Object.entries(value)) {
    if (key === '$ref' && typeof entry === 'string') found.add(entry);
    else refs(entry, found);
  }
  return found;
}

/** Follows `#/a/b` in a document; names hold no slashes. */
function resolve(document: Json, ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce<Json | undefined>((value, key) => value?.[key], document);
}

describe('a picture after another', () => {
  it('keeps the documents of what has stayed the same, and makes the others anew', () => {
    const before = new OpenApi({ resources: [...builtin, widgets], version: 'v1.36.2' });
    before.v3Index();
    const schema = { ...widgets.schema, description: 'A better widget.' };
    const after = new OpenApi({
      resources: [...builtin, { ...widgets, schema }],
      version: 'v1.36.2',
      previous: before,
    });
    assert.equal(after.v3('api/v1'), before.v3('api/v1'));
    assert.equal(after.v3('apis/apps'), before.v3('apis/apps'));
    assert.notEqual(after.v3('apis/example.com/v1')?.etag, before.v3('apis/example.com/v1')?.etag);
    const fresh = new OpenApi({ resources: [...builtin, { ...widgets, schema }], version: 'v1.36.2' });
    assert.equal(after.v3Index().etag, fresh.v3Index().etag);
    const without = new OpenApi({ resources: builtin, version: 'v1.36.2', previous: after });
    assert.equal(without.v3('apis/example.com/v1'), undefined);
  });
});

describe('OpenAPI version 3', () => {
  const core = read(openApi.v3('api/v1'));
  const apps = read(openApi.v3('apis/apps/v1'));

  it('has an index of its documents by the hash of their content', () => {
    const { paths } = read(openApi.document('/openapi/v3', 'application/json'));
    const names = Object.keys(paths!);
    for (const name of ['api/v1', 'apis/apps/v1', 'apis/apps', 'apis/example.com/v1', 'version'])
      assert.ok(names.includes(name), name);
    for (const [name, { serverRelativeURL }] of Object.entries(paths!)) {
      const { etag } = openApi.document(`/openapi/v3/${name}`, undefined)!;
      assert.equal(serverRelativeURL, `/openapi/v3/${name}?hash=${etag.slice(1, -1)}`);
    }
    assert.equal(openApi.document('/openapi/v3/apis/nothing/v1', undefined), undefined);
  });

  it('defines whatever it refers to, in every document', () => {
    for (const name of openApi.v3Names()) {
      const document = read(openApi.v3(name));
      for (const ref of refs(document)) assert.notEqual(resolve(document, ref), undefined, `${name}: ${ref}`);
    }
  });

  it('gives every operation an id of its own', () => {
    const ids = openApi
      .v3Names()
      .flatMap((name) =>
        Object.values(read(openApi.v3(name)).paths!).flatMap((item) =>
          Object.values(item).flatMap((operation) =>
            operation.operationId === undefined ? [] : [String(operation.operationId)],
          ),
        ),
      );
    assert.equal(new Set(ids).size, ids.length);
    for (const id of [
      'listCoreV1NamespacedPod',
      'connectCoreV1GetNamespacedPodExec',
      'readAppsV1NamespacedDeploymentScale',
    ]) {
      assert.ok(ids.includes(id), id);
    }
  });

  it('tells which kind an operation is about and which parameters it takes', () => {
    const patch = apps.paths!['/apis/apps/v1/namespaces/{namespace}/deployments/{name}']!.patch!;
    assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group: 'apps', version: 'v1', kind: 'Deployment' });
    assert.equal(patch['x-kubernetes-action'], 'patch');
    const names = (patch.parameters as unknown as { name: string }[]).map((parameter) => parameter.name);
    assert.deepEqual(names, ['dryRun', 'fieldManager', 'fieldValidation', 'force']);
  });

  it('shows how lists merge, what is required and what the default is', () => {
    const { properties, required } = core.components!.schemas!['io.k8s.api.core.v1.PodSpec']!;
    const { description: _, ...containers } = properties!.containers!;
    assert.deepEqual(containers, {
      type: 'array',
      items: { $ref: '#/components/schemas/io.k8s.api.core.v1.Container' },
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
    });
    assert.deepEqual(required, ['containers']);
    const port = core.components!.schemas!['io.k8s.api.core.v1.ContainerPort']!.properties!;
    assert.equal(port.protocol!.default, 'TCP');
    assert.deepEqual(port.protocol!.enum, ['SCTP', 'TCP', 'UDP']);
  });

  it('knows the kinds of types', () => {
    const schemas = apps.components!.schemas!;
    const kinds = (name: string) => schemas[name]!['x-kubernetes-group-version-kind'];
    assert.deepEqual(kinds('io.k8s.api.apps.v1.DeploymentList'), [
      { group: 'apps', kind: 'DeploymentList', version: 'v1' },
    ]);
    assert.deepEqual(kinds('io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'), [
      { group: '', kind: 'DeleteOptions', version: 'v1' },
      { group: 'apps', kind: 'DeleteOptions', version: 'v1' },
    ]);
  });

  it('publishes the schema of a custom resource with the fields all objects have', () => {
    const { schemas } = read(openApi.v3('apis/example.com/v1')).components!;
    const widget = schemas!['com.example.v1.Widget']!;
    assert.equal(widget.description, 'A widget.');
    assert.deepEqual(Object.keys(widget.properties!), ['spec', 'apiVersion', 'kind', 'metadata']);
    assert.equal(widget.properties!.spec!.properties!.size!.default, 1);
    assert.deepEqual(schemas!['com.example.v1.WidgetList']!['x-kubernetes-group-version-kind'], [
      { group: 'example.com', kind: 'WidgetList', version: 'v1' },
    ]);
  });
});

describe('OpenAPI version 2', () => {
  const document = read(openApi.v2());

  it('defines whatever it refers to', () => {
    for (const ref of refs(document)) assert.notEqual(resolve(document, ref), undefined, ref);
  });

  it('has the paths of all version 3 documents', () => {
    const paths = openApi.v3Names().flatMap((name) => Object.keys(read(openApi.v3(name)).paths!));
    assert.deepEqual(Object.keys(document.paths!), [...paths].sort());
  });

  it('leaves out what it cannot say of a custom resource', () => {
    const { spec } = document.definitions!['com.example.v1.Widget']!.properties!;
    assert.deepEqual(spec, { type: 'object', properties: { size: { type: 'integer', default: 1 }, level: {} } });
  });

  it('is protobuf for those who ask, JSON for all others', () => {
    const type = (accept: string | undefined) => openApi.document('/openapi/v2', accept)?.contentType;
    const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
    assert.equal(type(protobuf), protobuf);
    assert.equal(type('application/com.github.proto-openapi.spec.v2@v1.0+protobuf'), protobuf);
    assert.equal(type('application/json'), 'application/json');
    assert.equal(type(`application/json, ${protobuf}`), 'application/json');
    assert.equal(type(undefined), 'application/json');
  });
});

describe('OpenAPI version 2 in protobuf', () => {
  const message = fieldsOf(openApi.v2Protobuf().body);
  const document = read(openApi.v2());

  it('has every path, definition and parameter', () => {
    const names = (field: number, inner: number) =>
      fieldsOf(message.get(field)![0]!)
        .get(inner)!
        .map((entry) => text(entry, 1));
    assert.deepEqual(names(8, 2), Object.keys(document.paths!));
    assert.deepEqual(names(9, 1), Object.keys(document.definitions!));
    assert.deepEqual(names(10, 1), Object.keys(document.parameters!));
  });

  it('has a schema with its type, properties, required fields and extensions', () => {
    const definitions = fieldsOf(message.get(9)![0]!).get(1)!;
    const named = definitions.find((entry) => text(entry, 1) === 'io.k8s.api.core.v1.PodSpec')!;
    const schema = fieldsOf(fieldsOf(named).get(2)![0]!);
    const expected = document.definitions!['io.k8s.api.core.v1.PodSpec']!;
    assert.equal(text(schema.get(22)![0]!, 1), 'object');
    assert.deepEqual(
      schema.get(19)!.map((value) => value.toString()),
      ['containers'],
    );
    const properties = fieldsOf(schema.get(25)![0]!).get(1)!;
    assert.deepEqual(
      properties.map((entry) => text(entry, 1)),
      Object.keys(expected.properties!),
    );
    const containers = fieldsOf(fieldsOf(properties.find((entry) => text(entry, 1) === 'containers')!).get(2)![0]!);
    const extensions = containers.get(31)!.map((entry) => [text(entry, 1), text(fieldsOf(entry).get(2)![0]!, 2)]);
    assert.deepEqual(extensions, [
      ['x-kubernetes-list-map-keys', '["name"]\n'],
      ['x-kubernetes-list-type', '"map"\n'],
      ['x-kubernetes-patch-merge-key', '"name"\n'],
      ['x-kubernetes-patch-strategy', '"merge"\n'],
    ]);
  });
});

/** The length-delimited fields of a protobuf message, by number; others are skipped. */
function fieldsOf(bytes: Buffer): Map<number, Buffer[]> {
  const fields = new Map<number, Buffer[]>();
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const wireType = key & 7;
    if (wireType === 0) varint();
    else if (wireType === 1) at += 8;
    else {
      assert.equal(wireType, 2);
      const length = varint();
      const number = key >> 3;
      fields.set(number, [...(fields.get(number) ?? []), bytes.subarray(at, at + length)]);
      at += length;
    }
  }
  return fields;
}

function text(message: Buffer, field: number): string {
  return fieldsOf(message).get(field)![0]!.toString();
}

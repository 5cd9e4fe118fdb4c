/** Strict validation of fields of custom resources whose definitions keep what they do not know. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isNotFound } from '../../src/client/index.ts';
import { openHttp1, statusOf } from '../api/wire.ts';
import { startCluster } from './cluster.ts';
import { type Defined, define, type Schema } from './definitions.ts';

const { client, connection } = await startCluster({ scheduler: false });
const { ca, cert, key } = connection.tls as { readonly ca: string; readonly cert: string; readonly key: string };
const wire = openHttp1({ url: connection.server, ca, cert, key });
after(() => wire.close());

const ports = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
  items: {
    type: 'object',
    required: ['containerPort', 'protocol'],
    properties: {
      containerPort: { type: 'integer', format: 'int32' },
      name: { type: 'string' },
      protocol: { type: 'string' },
    },
  },
};

/** What is not declared in the spec is kept. */
function preserving(more: object = {}): Schema {
  const cronSpec = { type: 'string', pattern: '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$' };
  const properties = { ...more, foo: { type: 'string' }, cronSpec, ports };
  const spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties };
  return { type: 'object', properties: { spec } } as unknown as Schema;
}

const rest = `
  cronSpec: "* * * * */5"
  ports:
  - name: x
    containerPort: 80
    protocol: TCP`;

/** Server-side apply of bytes, for no YAML of ours has a key twice; they must be refused, and nothing be made. */
async function assertRefused(defined: Defined, body: (apiVersion: string, kind: string) => string): Promise<string> {
  const type = defined.type();
  const refused = await wire.ask({
    method: 'PATCH',
    path: `/apis/${type.group}/${type.version}/${type.resource}/mytest?fieldManager=field_validation_mgr&fieldValidation=Strict`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: body(`${type.group}/${type.version}`, type.kind),
  });
  assert.ok(refused.status >= 400, refused.text);
  await assert.rejects(client.get(type, { name: 'mytest' }), isNotFound);
  return statusOf(refused).message ?? '';
}

test('[sig-api-machinery] FieldValidation should detect duplicates in a CR when preserving unknown fields [Conformance]', async () => {
  const defined = await define(client, { schema: preserving() });
  const message = await assertRefused(
    defined,
    (apiVersion, kind) => `
apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: mytest
spec:
  unknown: uk1
  foo: foo1
  foo: foo2${rest}`,
  );
  assert.match(message, /line 9: key "foo" already set in map/);
});

test('[sig-api-machinery] FieldValidation should detect unknown metadata fields in both the root and embedded object of a CR [Conformance]', async () => {
  const metadata = { type: 'object', properties: { name: { type: 'string' } } };
  const template = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    properties: { metadata, spec: { type: 'object' } },
  };
  const defined = await define(client, { schema: preserving({ template }) });
  const body = (inRoot: string, inTemplate: string) => (apiVersion: string, kind: string) =>
    `
apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: mytest${inRoot}
spec:
  template:
    apiVersion: foo/v1
    kind: Sub
    metadata:
      name: subobject${inTemplate}
  foo: foo1${rest}`;
  const root = await assertRefused(defined, body('\n  unknownMeta: unknown', ''));
  assert.match(root, /\.metadata\.unknownMeta: field not declared in schema/);
  const embedded = await assertRefused(defined, body('', '\n      unknownSubMeta: unknown'));
  assert.match(embedded, /\.spec\.template\.metadata\.unknownSubMeta: field not declared in schema/);
});

/** What OpenAPI documents say of custom resources, and what kubectl makes of it: explain, validation. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { startCluster } from './cluster.ts';
import { anything, type Defined, define, type Schema, undefine } from './definitions.ts';
import { assertNewer, assertValidVersion } from './operations.ts';

const kubectl = kubectlReleases().at(-1)?.path;
const options = needs('kubectl');

const { client, kubeconfig, namespace: makeNamespace } = await startCluster({ scheduler: false });

interface Outcome {
  readonly code: number;
  readonly output: string;
}

function run(words: readonly string[], input = ''): Promise<Outcome> {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', KUBECONFIG: kubeconfig };
  return new Promise((resolve) => {
    const child = execFile(kubectl!, words, { env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
    );
    child.stdin?.end(input);
  });
}

async function succeeds(words: readonly string[], input?: string): Promise<string> {
  const { code, output } = await run(words, input);
  assert.equal(code, 0, `kubectl ${words.join(' ')}\n${output}`);
  return output;
}

async function fails(words: readonly string[], input: string, message: RegExp): Promise<void> {
  const { code, output } = await run(words, input);
  assert.notEqual(code, 0, output);
  assert.match(output, message);
}

const definitionName = (defined: Defined, version: string) => {
  const { group, kind } = defined.type();
  return `${group.split('.').reverse().join('.')}.${version}.${kind}`;
};

type Published = { readonly properties?: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>;

/** What version 2 of OpenAPI says of it now; undefined when it says nothing. */
async function published(defined: Defined, version: string): Promise<Published | undefined> {
  const document = (await client.raw({ method: 'GET', path: '/openapi/v2' })) as {
    readonly definitions: Readonly<Record<string, Published>>;
  };
  return document.definitions[definitionName(defined, version)];
}

/** The published schema is that of the definition, with what all objects have. */
async function assertPublished(defined: Defined, version: string, schema: Schema): Promise<void> {
  const found = await published(defined, version);
  assert.ok(found, `${definitionName(defined, version)} is not published`);
  const { properties = {}, 'x-kubernetes-group-version-kind': gvks, ...rest } = found;
  const { apiVersion, kind, metadata, ...own } = properties;
  assert.ok(apiVersion && kind && metadata);
  assert.equal((gvks as readonly { readonly version: string }[])[0]?.version, version);
  assert.deepEqual({ ...rest, properties: own }, schema);
}

const foo: Schema = {
  description: 'Foo CRD for Testing',
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      description: 'Specification of Foo',
      properties: {
        bars: {
          description: 'List of Bars and their specs.',
          type: 'array',
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { description: 'Name of Bar.', type: 'string' },
              age: { description: 'Age of Bar.', type: 'string' },
              feeling: { description: 'Whether Bar is feeling great.', type: 'string', enum: ['Great', 'Down'] },
              bazs: { description: 'List of Bazs.', type: 'array', items: { type: 'string' } },
            },
          },
        },
      },
    },
  },
};

const waldo: Schema = {
  description: 'Waldo CRD for Testing',
  type: 'object',
  properties: { spec: { type: 'object', properties: { dummy: { description: 'Dummy property.', type: 'string' } } } },
};

const object = (defined: Defined, name: string, fields: object) => {
  const { group, version, kind } = defined.type();
  return JSON.stringify({ kind, apiVersion: `${group}/${version}`, metadata: { name }, ...fields });
};

/** Made by create and by apply alike. */
async function accepts(defined: Defined, namespace: string, fields: object): Promise<void> {
  for (const verb of ['create', 'apply']) {
    await succeeds(['-n', namespace, verb, '-f', '-'], object(defined, 'test-cr', fields));
    await succeeds(['-n', namespace, 'delete', defined.type().resource, 'test-cr']);
  }
}

async function refuses(defined: Defined, namespace: string, fields: object, message: RegExp): Promise<void> {
  for (const verb of ['create', 'apply']) {
    await fails(['-n', namespace, verb, '-f', '-'], object(defined, 'test-cr', fields), message);
  }
}

test(
  '[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD with validation schema [Conformance]',
  options,
  async () => {
    const namespace = await makeNamespace();
    const defined = await define(client, { kind: 'Foo', namespaced: true, schema: foo });
    await assertPublished(defined, 'v1', foo);
    await accepts(defined, namespace, { spec: { bars: [{ name: 'test-bar' }] } });
    const feeling = { bars: [{ name: 'test-bar', feeling: 'NonExistentValue' }] };
    await refuses(defined, namespace, { spec: feeling }, /Unsupported value: "NonExistentValue"/);
    await refuses(defined, namespace, { spec: { foo: true } }, /unknown field "(spec\.)?foo"/);
    await refuses(defined, namespace, { spec: { bars: [{ age: '10' }] } }, /spec\.bars\[0\]\.name: Required value/);
    const { resource } = defined.type();
    const explained = [
      [
        resource,
        /DESCRIPTION:.*Foo CRD for Testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*spec.*<Object>.*Specification of Foo/s,
      ],
      [
        `${resource}.metadata`,
        /DESCRIPTION:.*Standard object's metadata.*FIELDS:.*creationTimestamp.*<string>.*CreationTimestamp is a timestamp/s,
      ],
      [
        `${resource}.spec`,
        /DESCRIPTION:.*Specification of Foo.*FIELDS:.*bars.*<\[\]Object>.*List of Bars and their specs/s,
      ],
      [
        `${resource}.spec.bars`,
        /(FIELD|RESOURCE):.*bars.*<\[\]Object>.*DESCRIPTION:.*List of Bars and their specs.*FIELDS:.*bazs.*<\[\]string>.*List of Bazs.*name.*<string>.*Name of Bar/s,
      ],
    ] as const;
    for (const [what, text] of explained) assert.match(await succeeds(['explain', what]), text);
    await fails(['explain', `${resource}.spec.bars2`], '', /field "bars2" does not exist/);
    await undefine(client, defined);
    assert.equal(await published(defined, 'v1'), undefined);
  },
);

test(
  '[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD without validation schema [Conformance]',
  options,
  async () => {
    const namespace = await makeNamespace();
    const defined = await define(client, { kind: 'Empty', namespaced: true, schema: anything });
    const { 'x-kubernetes-group-version-kind': _, ...said } = (await published(defined, 'v1'))!;
    assert.deepEqual(said, { type: 'object' });
    await accepts(defined, namespace, { a: { b: [{ c: 'd' }] } });
    assert.match(await succeeds(['explain', defined.type().resource]), /DESCRIPTION:.*<empty>/s);
    await undefine(client, defined);
  },
);

test(
  '[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD preserving unknown fields at the schema root [Conformance]',
  options,
  async () => {
    const namespace = await makeNamespace();
    const schema = {
      description: 'preserve-unknown-properties at root for Testing',
      'x-kubernetes-preserve-unknown-fields': true,
      type: 'object',
      properties: { spec: { description: 'Specification of Waldo', type: 'object' } },
    } as unknown as Schema;
    const defined = await define(client, { kind: 'Root', namespaced: true, schema });
    await accepts(defined, namespace, { a: { b: [{ c: 'd' }] } });
    assert.match(await succeeds(['explain', defined.type().resource]), /KIND:.*Root/s);
    await undefine(client, defined);
  },
);

test(
  '[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD preserving unknown fields in an embedded object [Conformance]',
  options,
  async () => {
    const namespace = await makeNamespace();
    const schema = {
      description: 'preserve-unknown-properties in nested field for Testing',
      type: 'object',
      properties: {
        spec: {
          description: 'Specification of Waldo',
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { dummy: { description: 'Dummy property.', type: 'object' } },
        },
      },
    } as unknown as Schema;
    const defined = await define(client, { kind: 'Nested', namespaced: true, schema });
    await accepts(defined, namespace, { spec: { a: null, b: [{ c: 'd' }] } });
    const text = await succeeds(['explain', defined.type().resource]);
    assert.match(text, /DESCRIPTION:.*preserve-unknown-properties in nested field for Testing/s);
    await undefine(client, defined);
  },
);

test('[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of different groups [Conformance]', async () => {
  const first = await define(client, { kind: 'Foo', schema: foo });
  const second = await define(client, { kind: 'Waldo', schema: waldo, versions: [{ name: 'v1beta1' }] });
  await assertPublished(second, 'v1beta1', waldo);
  await assertPublished(first, 'v1', foo);
  for (const defined of [first, second]) await undefine(client, defined);
});

test('[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of same group but different versions [Conformance]', async () => {
  const several = await define(client, { kind: 'Foo', schema: foo, versions: [{ name: 'v2' }, { name: 'v3' }] });
  await assertPublished(several, 'v3', foo);
  await assertPublished(several, 'v2', foo);
  await undefine(client, several);
  const { group } = several.type();
  const first = await define(client, { kind: 'Foo', group, schema: foo, versions: [{ name: 'v4' }] });
  const second = await define(client, { kind: 'Waldo', group, schema: waldo, versions: [{ name: 'v5' }] });
  await assertPublished(second, 'v5', waldo);
  await assertPublished(first, 'v4', foo);
  for (const defined of [first, second]) await undefine(client, defined);
});

test('[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of same group and version but different kinds [Conformance]', async () => {
  const versions = [{ name: 'v6' }];
  const first = await define(client, { kind: 'Foo', schema: foo, versions });
  const second = await define(client, { kind: 'Waldo', group: first.type().group, schema: waldo, versions });
  await assertPublished(second, 'v6', waldo);
  await assertPublished(first, 'v6', foo);
  for (const defined of [first, second]) await undefine(client, defined);
});

test('[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] updates the published spec when one version gets renamed [Conformance]', async () => {
  const defined = await define(client, { kind: 'Foo', schema: foo, versions: [{ name: 'v2' }, { name: 'v3' }] });
  for (const version of ['v2', 'v3']) await assertPublished(defined, version, foo);
  const body = [
    { op: 'test', path: '/spec/versions/1/name', value: 'v3' },
    { op: 'replace', path: '/spec/versions/1/name', value: 'v4' },
  ];
  await client.patch(customResourceDefinitions, { name: defined.name }, { type: 'json', body });
  for (const version of ['v4', 'v2']) await assertPublished(defined, version, foo);
  assert.equal(await published(defined, 'v3'), undefined);
  await undefine(client, defined);
});

test('[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] removes definition from spec when one version gets changed to not be served [Conformance]', async () => {
  const defined = await define(client, { kind: 'Foo', schema: foo, versions: [{ name: 'v5' }, { name: 'v6alpha1' }] });
  assertValidVersion(defined.definition);
  for (const version of ['v6alpha1', 'v5']) await assertPublished(defined, version, foo);
  const current = await client.get(customResourceDefinitions, { name: defined.name });
  const versions = current.spec.versions.map((version) => ({ ...version, served: version.name === 'v5' }));
  const updated = await client.update(customResourceDefinitions, { ...current, spec: { ...current.spec, versions } });
  assertNewer(updated, current);
  assert.equal(await published(defined, 'v6alpha1'), undefined);
  await assertPublished(defined, 'v5', foo);
  await undefine(client, defined);
});

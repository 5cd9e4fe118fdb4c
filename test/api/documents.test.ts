/** Discovery and OpenAPI as generators of clients read them from a whole server, a custom resource included. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type OpenCluster, openCluster } from './cluster.ts';
import { type Answer, json, openHttp2, type Wire } from './wire.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const boats = {
  metadata: { name: 'boats.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'boats', singular: 'boat', kind: 'Boat', listKind: 'BoatList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { oars: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
};

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly 'x-kubernetes-group-version-kind'?: GroupVersionKind;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly $ref?: string;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly parameters?: Readonly<Record<string, Parameter>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
  readonly components?: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Resources {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly group?: string;
    readonly version?: string;
  }[];
}

const verbs: ReadonlySet<string> = new Set(['get', 'put', 'post', 'patch', 'delete', 'head', 'options']);

let cluster: OpenCluster;
let wire: Wire;
before(async () => {
  cluster = await openCluster();
  wire = openHttp2(cluster.admin);
  const made = await wire.ask({ method: 'POST', path: crds, headers: json, body: JSON.stringify(boats) });
  assert.equal(made.status, 201, made.text);
  const established = await wire.ask({
    path: `${crds}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dboats.example.com`,
  });
  assert.match(established.text, /"type":"Established"/);
});
after(async () => {
  wire.close();
  await cluster.close();
});

async function read<T>(path: string, accept = 'application/json'): Promise<T> {
  const answer = await wire.ask({ path, headers: { accept } });
  assert.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 500)}`);
  return JSON.parse(answer.text) as T;
}

/** What a generator of clients stumbles over, in either version of OpenAPI. */
function offences(document: Document): string[] {
  const found: string[] = [];
  const ids = new Map<string, string>();
  for (const [, target] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const at = target!
      .split('/')
      .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document);
    if (at === undefined) found.push(`${target} leads nowhere`);
  }
  const resolved = (parameter: Parameter) =>
    parameter.$ref === undefined ? parameter : document.parameters![parameter.$ref.split('/').at(-1)!]!;
  for (const [path, item] of Object.entries(document.paths)) {
    const common = (item.parameters ?? []) as readonly Parameter[];
    for (const [verb, value] of Object.entries(item)) {
      if (!verbs.has(verb)) continue;
      const { operationId, parameters = [] } = value as Operation;
      const where = `${verb} ${path}`;
      if (!operationId) found.push(`${where} has no id`);
      if (ids.has(operationId)) found.push(`${operationId} is ${where} and ${ids.get(operationId)}`);
      ids.set(operationId, where);
      const all = [...common, ...parameters].map(resolved);
      const declared = new Set(all.filter((one) => one.in === 'path').map(({ name }) => name));
      const wanted = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!));
      if (declared.symmetricDifference(wanted).size > 0) found.push(`${where} declares ${[...declared]}`);
      if (new Set(all.map((one) => `${one.in} ${one.name}`)).size < all.length) found.push(`${where} has one twice`);
    }
  }
  return found;
}

/** Every kind that discovery tells of, as `group/version/kind`; options of connections are no bodies, and so have no definition. */
async function discoveredKinds(): Promise<Set<string>> {
  const { groups } = await read<{
    readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
  }>('/apis');
  const versions = groups.flatMap(({ versions: all }) => all.map(({ groupVersion }) => `/apis/${groupVersion}`));
  const kinds = new Set<string>();
  for (const path of ['/api/v1', ...versions]) {
    const { groupVersion, resources } = await read<Resources>(path);
    const [version = '', group = ''] = groupVersion.split('/').reverse();
    for (const one of resources.filter(({ kind }) => !/(Proxy|Attach|Exec|PortForward)Options$/.test(kind)))
      kinds.add(`${one.group ?? group}/${one.version ?? version}/${one.kind}`);
  }
  return kinds;
}

const definedKinds = (schemas: Readonly<Record<string, Schema>>) =>
  new Set(
    Object.values(schemas)
      .flatMap((schema) => schema['x-kubernetes-group-version-kind'] ?? [])
      .map(({ group, version, kind }) => `${group}/${version}/${kind}`),
  );

describe('OpenAPI', () => {
  test('version 2 is sound, and defines every kind that discovery tells of', async () => {
    const document = await read<Document>('/openapi/v2');
    assert.deepEqual(offences(document), []);
    const defined = definedKinds(document.definitions!);
    assert.deepEqual(
      [...(await discoveredKinds())].filter((kind) => !defined.has(kind)),
      [],
    );
    assert.ok(defined.has('example.com/v1/Boat') && defined.has('example.com/v1/BoatList'));
  });

  test('every document of version 3 is sound, may be kept for good, and together they define every kind', async () => {
    const { paths } = await read<{ readonly paths: Record<string, { readonly serverRelativeURL: string }> }>(
      '/openapi/v3',
    );
    assert.ok(paths['apis/example.com/v1']);
    const defined = new Set<string>();
    for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
      const answer = await wire.ask({ path: serverRelativeURL, headers: { accept: 'application/json' } });
      assert.equal(answer.status, 200, serverRelativeURL);
      assert.equal(answer.headers['cache-control'], 'public, immutable', path);
      assert.ok(Date.parse(answer.headers.expires!) > Date.parse(answer.headers.date!), path);
      const document = JSON.parse(answer.text) as Document;
      assert.deepEqual(offences(document), [], path);
      for (const kind of definedKinds(document.components?.schemas ?? {})) defined.add(kind);
    }
    assert.deepEqual(
      [...(await discoveredKinds())].filter((kind) => !defined.has(kind)),
      [],
    );
  });

  test('a hash of another time leads to that of now', async () => {
    const answer = await wire.ask({ path: '/openapi/v3/apis/apps/v1?hash=0BAD' });
    assert.equal(answer.status, 301);
    assert.match(String(answer.headers.location), /^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/);
  });
});

describe('the index', () => {
  test('lists paths, each of which is served', async () => {
    const { status, headers, text } = await wire.ask({ path: '/' });
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'application/json');
    const { paths } = JSON.parse(text) as { readonly paths: readonly string[] };
    assert.deepEqual([...paths].sort(), paths);
    for (const path of [
      '/api/v1',
      '/apis/apps',
      '/apis/example.com/v1',
      '/livez/ping',
      '/metrics',
      '/openapi/v2',
      '/version',
    ])
      assert.ok(paths.includes(path), path);
    for (const path of paths.filter((path) => !path.startsWith('/debug/')))
      assert.equal((await wire.ask({ path })).status, 200, path);
  });
});

describe('documents', () => {
  const aggregated = (version: string) =>
    `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const documents = [
    { path: '/openapi/v2', accept: 'application/json' },
    { path: '/openapi/v3', accept: 'application/json' },
    { path: '/openapi/v3/apis/apps/v1', accept: 'application/json' },
    { path: '/apis', accept: aggregated('v2') },
    { path: '/api', accept: aggregated('v2') },
    { path: '/apis', accept: aggregated('v2beta1') },
  ];
  for (const { path, accept } of documents) {
    test(`${path} as ${accept} is not sent twice to who has it`, async () => {
      const ask = (headers: Record<string, string>): Promise<Answer> =>
        wire.ask({ path, headers: { accept, ...headers } });
      const first = await ask({});
      assert.equal(first.status, 200);
      const { etag } = first.headers;
      assert.match(etag!, /^"[0-9A-F]{128}"$/);
      const second = await ask({ 'if-none-match': etag! });
      assert.deepEqual([second.status, second.text, second.headers.etag], [304, '', etag]);
      assert.equal((await ask({ 'if-none-match': '"another"' })).status, 200);
    });
  }

  test('both versions of aggregated discovery tell the same of the same resources', async () => {
    const [v2, v2beta1] = await Promise.all(
      ['v2', 'v2beta1'].map((version) =>
        read<{ readonly apiVersion: string; readonly items: unknown }>('/apis', aggregated(version)),
      ),
    );
    assert.deepEqual(v2!.items, v2beta1!.items);
    assert.deepEqual([v2!.apiVersion, v2beta1!.apiVersion], ['apidiscovery.k8s.io/v2', 'apidiscovery.k8s.io/v2beta1']);
    assert.match(JSON.stringify(v2!.items), /"resource":"boats"/);
  });
});

/** In which form the server answers, as clients ask for it: raw requests over both versions of HTTP. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { builtinCodec } from '../../src/api/schema.ts';
import { type OpenCluster, openCluster } from './cluster.ts';
import { type Answer, type Asked, json, openWires, statusOf, type Wire } from './wire.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const collection = '/api/v1/namespaces/default/configmaps';
const one = `${collection}/one`;
const as = (kind: string, { media = 'application/json', version = 'v1' } = {}) =>
  `${media};as=${kind};v=${version};g=meta.k8s.io`;

let cluster: OpenCluster;
let wires: readonly Wire[];
before(async () => {
  cluster = await openCluster();
  wires = openWires(cluster.admin);
  const body = JSON.stringify({ metadata: { name: 'one' }, data: { a: '1' } });
  assert.equal((await wires[0]!.ask({ method: 'POST', path: collection, headers: json, body })).status, 201);
});
after(async () => {
  for (const wire of wires) wire.close();
  await cluster.close();
});

/** The same over HTTP/1.1 and HTTP/2, which must agree. */
async function ask(asked: Asked): Promise<Answer> {
  const answers = await Promise.all(wires.map((wire) => wire.ask(asked)));
  const [first, second] = answers as [Answer, Answer];
  assert.equal(second.status, first.status);
  assert.equal(second.headers['content-type'], first.headers['content-type']);
  return first;
}

const get = (path: string, accept: string, headers: Record<string, string> = {}) =>
  ask({ path, headers: { accept, ...headers } });

describe('what a client accepts', () => {
  const every = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
  const refusals = [
    { accept: 'application/cbor', told: every },
    { accept: 'application/json;as=Table;v=v2;g=meta.k8s.io', told: every },
    { accept: as('Table', { media: protobuf }), told: every },
    { accept: as('Status'), told: every },
    { accept: 'application/cbor-seq', path: `${collection}?watch=1`, told: every },
    { accept: as('Table'), path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', told: every },
  ];
  for (const { accept, path = one, told } of refusals) {
    test(`${accept} at ${path} is refused with what there is`, async () => {
      const posts = path.endsWith('reviews');
      const body = posts ? { body: '{"spec":{"nonResourceAttributes":{}}}', method: 'POST' } : {};
      const answer = await ask({ path, headers: { accept, ...(posts ? json : {}) }, ...body });
      assert.equal(answer.headers['content-type'], 'application/json');
      assert.deepEqual(statusOf(answer), {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `only the following media types are accepted: ${told}`,
        reason: 'NotAcceptable',
        code: 406,
      });
    });
  }

  test('no watch is YAML, and the refusal is', async () => {
    const answer = await get(`${collection}?watch=1`, 'application/yaml, application/json');
    assert.deepEqual([answer.status, answer.headers['content-type']], [406, 'application/yaml']);
    const told = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';
    assert.ok(answer.text.includes(`message: "only the following media types are accepted: ${told}"`), answer.text);
  });

  const transformed = [
    { accept: as('Table'), path: collection, kind: 'Table', apiVersion: 'meta.k8s.io/v1' },
    { accept: as('Table', { version: 'v1beta1' }), path: one, kind: 'Table', apiVersion: 'meta.k8s.io/v1beta1' },
    { accept: as('PartialObjectMetadata'), path: one, kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' },
    {
      accept: as('PartialObjectMetadataList', { version: 'v1beta1' }),
      path: collection,
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1beta1',
    },
    { accept: 'application/json', path: collection, kind: 'ConfigMapList', apiVersion: 'v1' },
  ];
  for (const { accept, path, kind, apiVersion } of transformed) {
    test(`${accept} at ${path} gets a ${kind}`, async () => {
      const answer = await get(path, accept);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['content-type'], 'application/json');
      const body = JSON.parse(answer.text) as { kind: string; apiVersion: string };
      assert.deepEqual({ kind: body.kind, apiVersion: body.apiVersion }, { kind, apiVersion });
    });
  }

  test('metadata of one where there are many, and of many where there is one, is refused', async () => {
    const many = statusOf(await get(collection, as('PartialObjectMetadata')));
    assert.equal(
      many.message,
      'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
    );
    const single = statusOf(await get(one, as('PartialObjectMetadataList')));
    assert.equal(
      single.message,
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
    );
    assert.deepEqual([many.code, single.code], [406, 406]);
  });

  test('YAML says what JSON says', async () => {
    const answer = await get(one, 'application/yaml');
    assert.equal(answer.headers['content-type'], 'application/yaml');
    assert.deepEqual(parse(answer.text), JSON.parse((await get(one, 'application/json')).text));
  });

  test('pretty is JSON for people, by parameter, media type or browser', async () => {
    for (const [path, headers] of [
      [`${one}?pretty=1`, { accept: 'application/json' }],
      [one, { accept: 'application/json;pretty=1' }],
      [one, { accept: '*/*', 'user-agent': 'curl/8.5.0' }],
    ] as const) {
      assert.match((await ask({ path, headers })).text, /^\{\n {2}"kind": "ConfigMap",\n/);
    }
    assert.doesNotMatch((await get(`${one}?pretty=false`, '*/*', { 'user-agent': 'curl/8' })).text, /\n /);
  });
});

describe('what a client sends', () => {
  const types = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
  const refusals = [
    { method: 'POST', path: collection, type: 'application/cbor', told: types },
    { method: 'PUT', path: one, type: 'text/plain', told: types },
  ];
  for (const { method, path, type, told } of refusals) {
    test(`${type} is refused by ${method} with what it takes`, async () => {
      const answer = await ask({ method, path, headers: { 'content-type': type }, body: '{}' });
      const { code, reason, message } = statusOf(answer);
      assert.deepEqual([answer.status, code, reason], [415, 415, 'UnsupportedMediaType']);
      const [head, list] = message!.split(': ');
      assert.equal(head, 'the body of the request was in an unknown format - accepted media types include');
      assert.deepEqual(list!.split(', ').sort(), told.split(', ').sort());
    });
  }

  test('YAML and protobuf are read as JSON is', async () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'sent' }, data: { a: 'b' } };
    const yaml = 'metadata: {name: sent}\ndata: {a: b}\n';
    for (const [type, body] of [
      ['application/yaml', yaml],
      [protobuf, builtinCodec().encodeProtobuf(object)!],
      ['application/json; charset=utf-8', JSON.stringify(object)],
    ] as const) {
      const headers = { 'content-type': type };
      const answer = await ask({ method: 'POST', path: `${collection}?dryRun=All`, headers, body });
      assert.equal(answer.status, 201, answer.text);
      assert.deepEqual((JSON.parse(answer.text) as typeof object).data, { a: 'b' });
    }
  });
});

describe('compression', () => {
  const long = 'x'.repeat(130 * 1024);
  before(async () => {
    const body = JSON.stringify({ metadata: { name: 'long' }, data: { long } });
    assert.equal((await wires[0]!.ask({ method: 'POST', path: collection, headers: json, body })).status, 201);
  });

  test('is not for the same machine', async () => {
    const answer = await get(`${collection}/long`, 'application/json', { 'accept-encoding': 'gzip' });
    assert.equal(answer.headers['content-encoding'], undefined);
    assert.ok(answer.text.includes(long));
  });
});

describe('watches as Tables', () => {
  test('tell their columns once', async () => {
    const path = `${collection}?watch=1&timeoutSeconds=1&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan`;
    const events = (await get(path, as('Table'))).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TableEvent);
    const told = events.map(({ type, object }) => [type, object.kind, object.columnDefinitions?.length ?? 0]);
    assert.deepEqual(told[0], ['ADDED', 'Table', 3]);
    assert.deepEqual(told[1], ['ADDED', 'Table', 0]);
    assert.deepEqual(told.at(-1), ['BOOKMARK', 'Table', 0]);
    const { metadata, rows } = events.at(-1)!.object;
    assert.equal(rows[0]!.object.metadata.annotations['k8s.io/initial-events-end'], 'true');
    assert.equal(rows[0]!.object.metadata.resourceVersion, metadata.resourceVersion);
  });
});

interface TableEvent {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly columnDefinitions: readonly unknown[] | null;
    readonly metadata: { readonly resourceVersion: string };
    readonly rows: readonly {
      readonly object: {
        readonly metadata: { readonly resourceVersion: string; readonly annotations: Record<string, string> };
      };
    }[];
  };
}

/**
 * Patches as clients send them: directives of strategic merge, strictness by every verb and encoding, and laws of ownership over
 * whole histories.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ManagedFieldsEntry } from '../../src/apimachinery/gen/meta-v1.ts';
import { type FieldSet, pathsOf } from '../../src/apimachinery/managed-fields/field-set.ts';
import fc from '../../src/testing/properties.fixture.ts';
import { type OpenCluster, openCluster } from './cluster.ts';
import {
  type Answer,
  json,
  jsonPatch,
  mergePatch,
  openHttp2,
  statusOf,
  strategicPatch,
  type Wire,
  yaml,
} from './wire.ts';

const applyPatch = { 'content-type': 'application/apply-patch+yaml' };
const configMaps = '/api/v1/namespaces/default/configmaps';
const deployments = '/apis/apps/v1/namespaces/default/deployments';

interface Read {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly finalizers?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFieldsEntry[];
  };
  readonly data?: Readonly<Record<string, string>>;
}

let cluster: OpenCluster;
let wire: Wire;
before(async () => {
  cluster = await openCluster();
  wire = openHttp2(cluster.admin);
});
after(async () => {
  wire.close();
  await cluster.close();
});

const send = (method: string, path: string, headers: Record<string, string>, body: object | string): Promise<Answer> =>
  wire.ask({ method, path, headers, body: typeof body === 'string' ? body : JSON.stringify(body) });

async function sent<T = Read>(...asked: Parameters<typeof send>): Promise<T> {
  const answer = await send(...asked);
  assert.ok(answer.status < 300, answer.text);
  return JSON.parse(answer.text) as T;
}

describe('field validation', () => {
  const unknown = (text: string) => text.replace('"data"', '"colour":"red","data"');
  const repeated = (text: string) => text.replace('"data"', '"data":{"a":"0"},"data"');
  const writes = [
    { verb: 'POST', path: () => configMaps, headers: json, named: false },
    { verb: 'POST', path: () => configMaps, headers: yaml, named: false },
    { verb: 'PUT', path: (name: string) => `${configMaps}/${name}`, headers: json, named: true },
    { verb: 'PUT', path: (name: string) => `${configMaps}/${name}`, headers: yaml, named: true },
    { verb: 'PATCH', path: (name: string) => `${configMaps}/${name}`, headers: mergePatch, named: true },
    { verb: 'PATCH', path: (name: string) => `${configMaps}/${name}`, headers: strategicPatch, named: true },
  ];
  let names = 0;
  for (const { verb, path, headers, named } of writes) {
    for (const [what, spoil, problem] of [
      ['what is unknown', unknown, 'unknown field "colour"'],
      ['what is said twice', repeated, /duplicate field "data"|key "data" already set in map/],
    ] as const) {
      test(`${verb} of ${headers['content-type']} refuses, warns of or passes over ${what}`, async () => {
        const name = `validated-${++names}`;
        if (named) await sent('POST', configMaps, json, { metadata: { name }, data: { a: '0' } });
        const text = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: '1' } });
        const ask = (validation: string) =>
          send(verb, `${path(name)}?dryRun=All&fieldValidation=${validation}`, headers, spoil(text));
        const says = (told: string) =>
          assert.ok(typeof problem === 'string' ? told.includes(problem) : problem.test(told), told);

        const strict = await ask('Strict');
        assert.equal(strict.status, verb === 'PATCH' ? 422 : 400, strict.text);
        says(statusOf(strict).message!);
        const warned = await ask('Warn');
        assert.ok(warned.status < 300, warned.text);
        says(String(warned.headers.warning).replaceAll('\\"', '"'));
        const silent = await ask('Ignore');
        assert.ok(silent.status < 300, silent.text);
        assert.equal(silent.headers.warning, undefined);
        assert.deepEqual((JSON.parse(silent.text) as Read).data, { a: '1' });
      });
    }
  }

  test('a JSON patch may not hold what no operation has', async () => {
    await sent('POST', configMaps, json, { metadata: { name: 'operations' }, data: { a: '0' } });
    const patch = [{ op: 'replace', path: '/data/a', value: '1', colour: 'red' }];
    const ask = (validation: string) =>
      send('PATCH', `${configMaps}/operations?dryRun=All&fieldValidation=${validation}`, jsonPatch, patch);
    const strict = await ask('Strict');
    assert.equal(strict.status, 422);
    assert.match(statusOf(strict).message!, /strict decoding error: json patch unknown field "\[0\]\.colour"/);
    assert.match(String((await ask('Warn')).headers.warning), /json patch unknown field/);
    assert.equal((await ask('Ignore')).headers.warning, undefined);
  });
});

interface Deployment {
  readonly spec: {
    readonly strategy: object;
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly name: string;
          readonly image: string;
          readonly env?: readonly object[];
        }[];
      };
    };
  };
}

describe('directives of strategic merge', () => {
  const path = `${deployments}/directed`;
  const patched = (spec: object) => sent<Deployment>('PATCH', path, strategicPatch, { spec });
  const inTemplate = (spec: object) => patched({ template: { spec } });
  const container = (name: string, more: object = {}) => ({ name, image: `${name}:1`, ...more });
  const namesOf = ({ spec }: Deployment) => spec.template.spec.containers.map(({ name }) => name);

  before(async () => {
    const env = [
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
    ];
    await sent('POST', deployments, json, {
      metadata: { name: 'directed', finalizers: ['example.com/a', 'example.com/b'] },
      spec: {
        replicas: 0,
        selector: { matchLabels: { a: 'b' } },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: { containers: [container('one', { env }), container('two')] },
        },
      },
    });
  });

  test('an element is merged by its key, and its list ordered as $setElementOrder says', async () => {
    const made = await inTemplate({
      containers: [container('three'), { name: 'one', image: 'one:2' }],
      '$setElementOrder/containers': [{ name: 'three' }, { name: 'two' }, { name: 'one' }],
    });
    assert.deepEqual(namesOf(made), ['three', 'two', 'one']);
    assert.equal(made.spec.template.spec.containers[2]!.image, 'one:2');
    assert.equal(made.spec.template.spec.containers[2]!.env!.length, 2);
  });

  test('$patch: delete takes an element, $patch: replace the rest of a list or a struct', async () => {
    assert.deepEqual(namesOf(await inTemplate({ containers: [{ name: 'three', $patch: 'delete' }] })), ['two', 'one']);
    const replaced = await inTemplate({
      containers: [{ name: 'one', env: [{ name: 'C', value: '3' }, { $patch: 'replace' }] }],
    });
    const one = replaced.spec.template.spec.containers.find(({ name }) => name === 'one')!;
    assert.deepEqual(one.env, [{ name: 'C', value: '3' }]);
    assert.deepEqual(namesOf(await inTemplate({ containers: [container('one'), { $patch: 'replace' }] })), ['one']);
  });

  test('$retainKeys drops what it does not name', async () => {
    const { spec } = await patched({ strategy: { $retainKeys: ['type'], type: 'Recreate' } });
    assert.deepEqual(spec.strategy, { type: 'Recreate' });
  });

  test('$deleteFromPrimitiveList takes values from a set', async () => {
    const metadata = { '$deleteFromPrimitiveList/finalizers': ['example.com/a'], finalizers: ['example.com/c'] };
    const made = await sent('PATCH', path, strategicPatch, { metadata });
    assert.deepEqual(new Set(made.metadata.finalizers), new Set(['example.com/b', 'example.com/c']));
    await sent('PATCH', path, mergePatch, { metadata: { finalizers: null } });
  });

  test('a directive that nobody knows is refused', async () => {
    const answer = await send('PATCH', path, strategicPatch, { spec: { $patch: 'explode' } });
    assert.equal(answer.status, 500);
    assert.equal(statusOf(answer).message, 'unknown patch type: explode in map: map[$patch:explode]');
  });
});

describe('keys that every object of JavaScript has', () => {
  const path = `${configMaps}/odd-keys`;
  const odd = ['__proto__', 'constructor', 'toString'];
  const patch = (...operations: object[]) => send('PATCH', path, jsonPatch, operations);

  test('JSON patches add, test, move and remove them', async () => {
    await sent('POST', configMaps, json, { metadata: { name: 'odd-keys' }, data: { a: '0' } });
    const added = await patch(...odd.map((key) => ({ op: 'add', path: `/data/${key}`, value: 'x' })));
    assert.deepEqual(Object.keys(JSON.parse(added.text).data).sort(), ['__proto__', 'a', 'constructor', 'toString']);
    const moved = await patch(
      { op: 'test', path: '/data/__proto__', value: 'x' },
      { op: 'replace', path: '/data/__proto__', value: 'y' },
      { op: 'move', from: '/data/__proto__', path: '/data/b' },
      { op: 'remove', path: '/data/constructor' },
    );
    assert.deepEqual(JSON.parse(moved.text).data, { a: '0', b: 'y', toString: 'x' });
    const { data } = JSON.parse((await wire.ask({ method: 'GET', path })).text);
    assert.deepEqual(data, { a: '0', b: 'y', toString: 'x' });
  });

  test('what only their prototype has is not there', async () => {
    for (const key of ['__proto__', 'constructor', 'hasOwnProperty']) {
      assert.equal((await patch({ op: 'remove', path: `/data/${key}` })).status, 422, key);
      assert.equal((await patch({ op: 'add', path: `/data/${key}/polluted`, value: 'x' })).status, 422, key);
    }
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  test('as annotations they are judged by what names may look like', async () => {
    const annotate = async (key: string) => {
      const operations = [
        { op: 'add', path: '/metadata/annotations', value: {} },
        { op: 'add', path: `/metadata/annotations/${key}`, value: 'x' },
      ];
      return await patch(...operations);
    };
    const refused = statusOf(await annotate('__proto__'));
    assert.equal(refused.reason, 'Invalid');
    assert.match(refused.message!, /metadata\.annotations: Invalid value: "__proto__": name part must consist of/);
    assert.deepEqual(JSON.parse((await annotate('constructor')).text).metadata.annotations, { constructor: 'x' });
  });
});

describe('laws of ownership over any history', () => {
  const managers = ['one', 'two', 'three'] as const;
  const data = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('x', 'y'), { maxKeys: 3 });
  const step = fc.record({
    manager: fc.constantFrom(...managers),
    verb: fc.constantFrom('apply', 'put', 'merge', 'strategic', 'json'),
    data,
  });
  const histories = fc.array(step, { minLength: 1, maxLength: 6 });
  let count = 0;

  const apply = (name: string, manager: string, values: object) =>
    sent('PATCH', `${configMaps}/${name}?fieldManager=${manager}&force=true`, applyPatch, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: values,
    });

  async function take(name: string, { manager, verb, data: values }: { manager: string; verb: string; data: object }) {
    const path = `${configMaps}/${name}?fieldManager=${manager}`;
    if (verb === 'apply') await apply(name, manager, values);
    else if (verb === 'put') await sent('PUT', path, json, { metadata: { name }, data: values });
    else if (verb === 'json') await sent('PATCH', path, jsonPatch, [{ op: 'add', path: '/data', value: values }]);
    else await sent('PATCH', path, verb === 'merge' ? mergePatch : strategicPatch, { data: values });
  }

  const owned = ({ metadata }: Read, but?: string): Set<string> =>
    new Set(
      (metadata.managedFields ?? [])
        .filter(({ manager }) => manager !== but)
        .flatMap(({ fieldsV1 }) => pathsOf(fieldsV1 as FieldSet))
        .filter((path) => path.startsWith('.data.')),
    );

  test('applying twice is applying once, nothing is owned that is not there, nobody removes what another owns', async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.constantFrom(...managers), data, async (history, last, values) => {
        const name = `history-${++count}`;
        await sent('POST', `${configMaps}?fieldManager=zero`, json, { metadata: { name }, data: { z: '0' } });
        for (const one of history) await take(name, one);
        const before = await sent('PATCH', `${configMaps}/${name}`, mergePatch, {});
        const once = await apply(name, last, values);
        const twice = await apply(name, last, values);
        assert.deepEqual(twice, once);
        const there = new Set(Object.keys(once.data ?? {}).map((key) => `.data.${key}`));
        for (const path of owned(once)) assert.ok(there.has(path), `${path} is owned and not there`);
        for (const path of owned(before, last)) assert.ok(there.has(path), `${path} was another's, and is gone`);
        for (const [key, value] of Object.entries(values)) assert.equal(once.data![key], value);
        for (const [key, value] of Object.entries(once.data ?? {})) {
          assert.equal(value, (values as Record<string, string>)[key] ?? before.data![key], 'invented');
        }
      }),
      { numRuns: 40 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { builtinSchema } from '../../api/schema.ts';
import fc from '../../testing/properties.fixture.ts';
import { applyMergePatch, jsonEqual } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

type Json = Readonly<Record<string, unknown>>;
const podType = builtinSchema().type('core/v1.Pod');
const serviceType = builtinSchema().type('core/v1.Service');
const deploymentType = builtinSchema().type('apps/v1.Deployment');

const onPodSpec = (original: Json, patch: Json) =>
  applyStrategicMergePatch({ spec: original }, { spec: patch }, podType).spec as Json;

const containers = (...names: string[]) => names.map((name) => ({ name, image: `${name}:1` }));
const namesOf = (list: unknown) => (list as readonly { readonly name: string }[]).map(({ name }) => name);

const cases: readonly { name: string; original: Json; patch: Json; result: Json }[] = [
  {
    name: 'objects are merged and null removes',
    original: { nodeName: 'n', nodeSelector: { a: '1', b: '2' } },
    patch: { nodeName: null, nodeSelector: { a: null, c: '3' } },
    result: { nodeSelector: { b: '2', c: '3' } },
  },
  {
    name: 'elements of a list are merged by key, new ones go before those the original alone has',
    original: { containers: containers('a', 'b') },
    patch: { containers: [{ name: 'b', image: 'b:2' }, { name: 'c' }] },
    result: { containers: [{ name: 'a', image: 'a:1' }, { name: 'b', image: 'b:2' }, { name: 'c' }] },
  },
  {
    name: 'an element is deleted by its key',
    original: { containers: containers('a', 'b') },
    patch: { containers: [{ name: 'a', $patch: 'delete' }] },
    result: { containers: containers('b') },
  },
  {
    name: 'a list is replaced',
    original: { containers: containers('a', 'b') },
    patch: { containers: [{ $patch: 'replace' }, { name: 'c' }] },
    result: { containers: [{ name: 'c' }] },
  },
  {
    name: 'an object is replaced, or emptied',
    original: { nodeSelector: { a: '1' }, securityContext: { runAsUser: 1 } },
    patch: { nodeSelector: { $patch: 'replace', b: '2' }, securityContext: { $patch: 'delete' } },
    result: { nodeSelector: { b: '2' }, securityContext: {} },
  },
  {
    name: 'a list without a merge strategy is replaced',
    original: { tolerations: [{ key: 'a' }], containers: [{ name: 'a', command: ['x', 'y'] }] },
    patch: { tolerations: [{ key: 'b' }], containers: [{ name: 'a', command: ['z'] }] },
    result: { tolerations: [{ key: 'b' }], containers: [{ name: 'a', command: ['z'] }] },
  },
  {
    name: 'lists within elements of lists are merged too',
    original: { containers: [{ name: 'a', env: [{ name: 'X', value: '1' }] }] },
    patch: { containers: [{ name: 'a', env: [{ name: 'Y', value: '2' }] }] },
    result: {
      containers: [
        {
          name: 'a',
          env: [
            { name: 'Y', value: '2' },
            { name: 'X', value: '1' },
          ],
        },
      ],
    },
  },
  {
    name: 'retainKeys drops the other keys',
    original: { volumes: [{ name: 'v', emptyDir: {}, x: 1 }] },
    patch: { volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] },
    result: { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
  },
  {
    name: 'what is new is freed of nulls and directives',
    original: {},
    patch: {
      nodeSelector: { a: null, b: '1' },
      containers: [
        { name: 'a', image: null },
        { name: 'b', $patch: 'delete' },
      ],
      '$setElementOrder/containers': [{ name: 'a' }],
    },
    result: { nodeSelector: { b: '1' }, containers: [{ name: 'a' }] },
  },
  {
    name: 'the order asked for is made, elements of the original alone keeping their place',
    original: { containers: containers('a', 'b', 'c', 'd') },
    patch: { '$setElementOrder/containers': [{ name: 'd' }, { name: 'b' }] },
    result: { containers: containers('a', 'c', 'd', 'b') },
  },
];

describe('strategic merge patch', () => {
  for (const { name, original, patch, result } of cases) {
    test(name, () => {
      const before = JSON.stringify([original, patch]);
      assert.deepEqual(onPodSpec(original, patch), result);
      assert.equal(JSON.stringify([original, patch]), before);
    });
  }

  test('scalars are merged into a list, and deleted from it', () => {
    const original = { metadata: { finalizers: ['a', 'b', 'c'] } };
    const merged = applyStrategicMergePatch(original, { metadata: { finalizers: ['d', 'b'] } }, podType);
    assert.deepEqual(merged, { metadata: { finalizers: ['d', 'a', 'b', 'c'] } });
    const patch = {
      metadata: {
        '$deleteFromPrimitiveList/finalizers': ['a'],
        '$setElementOrder/finalizers': ['c', 'b'],
      },
    };
    assert.deepEqual(applyStrategicMergePatch(original, patch, podType), { metadata: { finalizers: ['c', 'b'] } });
  });

  test('ports of a Service merge by number', () => {
    const original = { spec: { ports: [{ port: 80, name: 'http' }, { port: 443 }] } };
    const patch = { spec: { ports: [{ port: 80, targetPort: 8080 }] } };
    assert.deepEqual(applyStrategicMergePatch(original, patch, serviceType), {
      spec: { ports: [{ port: 80, name: 'http', targetPort: 8080 }, { port: 443 }] },
    });
  });

  test('what kubectl sends to change an image', () => {
    const original = { spec: { template: { spec: { containers: containers('a', 'b') } } } };
    const patch = {
      spec: {
        template: {
          spec: {
            '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }],
            containers: [{ name: 'b', image: 'b:2' }],
          },
        },
      },
    };
    assert.deepEqual(applyStrategicMergePatch(original, patch, deploymentType), {
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'a', image: 'a:1' },
              { name: 'b', image: 'b:2' },
            ],
          },
        },
      },
    });
  });

  const refused: readonly { name: string; original: Json; patch: Json; code: number; message: string }[] = [
    {
      name: 'an unknown directive',
      original: {},
      patch: { $patch: 'frob' },
      code: 500,
      message: 'unknown patch type: frob in map: map[$patch:frob]',
    },
    {
      name: 'an element without its key',
      original: { containers: containers('a') },
      patch: { containers: [{ image: 'x' }] },
      code: 500,
      message: 'map: map[image:x] does not contain declared merge key: name',
    },
    {
      name: 'a key that is not retained',
      original: {},
      patch: { $retainKeys: ['nodeName'], hostname: 'x' },
      code: 400,
      message: 'invalid patch format of retainKeys',
    },
    {
      name: 'an order that is no list',
      original: {},
      patch: { '$setElementOrder/containers': 'a' },
      code: 400,
      message: 'invalid patch format of setElementOrder list',
    },
    {
      name: 'an order the patch itself does not keep',
      original: { containers: containers('a', 'b') },
      patch: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }], containers: containers('a', 'b') },
      code: 500,
      message:
        "The order in patch list:\n[map[image:a:1 name:a] map[image:b:1 name:b]]\n doesn't match $setElementOrder list:\n[map[name:b] map[name:a]]\n",
    },
    {
      name: 'deletions that are no list',
      original: { containers: containers('a') },
      patch: { '$deleteFromPrimitiveList/containers': 'a' },
      code: 400,
      message: 'invalid patch format of primitive list',
    },
    {
      name: 'a list of lists',
      original: { containers: containers('a') },
      patch: { containers: [['a']] },
      code: 422,
      message: 'the server rejected our request due to an error in our request',
    },
  ];
  for (const { name, original, patch, code, message } of refused) {
    test(`refused: ${name}`, () => {
      assert.throws(() => onPodSpec(original, patch), { code, message });
    });
  }

  const spec = fc.record(
    {
      nodeName: fc.constantFrom('x', 'y'),
      nodeSelector: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2')),
      containers: fc.uniqueArray(
        fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), image: fc.constantFrom('i', 'j') }),
        { selector: ({ name }) => name, maxLength: 4 },
      ),
      tolerations: fc.array(fc.record({ key: fc.constantFrom('p', 'q') }), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  );

  test('applying a patch twice is applying it once', () => {
    fc.assert(
      fc.property(spec, spec, (original, patch) => {
        const once = onPodSpec(original, patch);
        assert.ok(jsonEqual(onPodSpec(once, patch), once));
      }),
      { numRuns: 500 },
    );
  });

  test('an object patched with itself is itself', () => {
    fc.assert(fc.property(spec, (original) => assert.ok(jsonEqual(onPodSpec(original, original), original))));
  });

  test('no element is lost or doubled, and those of the patch stand in its order', () => {
    fc.assert(
      fc.property(spec, spec, (original, patch) => {
        const [before, asked] = [namesOf(original.containers ?? []), namesOf(patch.containers ?? [])];
        const after = namesOf(onPodSpec(original, patch).containers ?? []);
        assert.deepEqual(after.toSorted(), [...new Set([...before, ...asked])].sort());
        assert.deepEqual(
          after.filter((name) => asked.includes(name)),
          asked,
        );
      }),
    );
  });

  test('without lists it is a merge patch', () => {
    const maps = fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), fc.option(fc.constantFrom('1', '2')));
    fc.assert(
      fc.property(maps, maps, (original, patch) => {
        const [from, by] = [{ nodeSelector: withoutNulls(original) }, { nodeSelector: { ...patch } }];
        assert.ok(jsonEqual(onPodSpec(from, by), applyMergePatch(from, by)));
      }),
    );
  });
});

function withoutNulls(map: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter((entry): entry is [string, string] => entry[1] !== null));
}

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { jsonEqual } from '../patch/merge-patch.ts';
import { compareObjects, type JsonObject } from './comparison.ts';
import { configurationProblem, fieldsOf } from './configuration.ts';
import { conflictError } from './conflict.ts';
import { difference, type FieldSet, intersection, parseFieldSet, pathsOf, union, without } from './field-set.ts';
import {
  capManagers,
  identityOf,
  isReset,
  type Manager,
  type Managers,
  managerEntries,
  readManagers,
} from './managers.ts';
import { mergeConfiguration } from './merge.ts';
import { applyOwnership, type OwnedKind, updateOwnership } from './ownership.ts';
import { thingShape } from './shape.fixture.ts';
import { deducedShape } from './shape.ts';

const kind: OwnedKind = {
  apiVersion: 'v1',
  shape: thingShape,
  reset: undefined,
  inVersion: (object, version) => (version === 'v1' ? { object, shape: thingShape } : undefined),
  shapeIn: (version) => (version === 'v1' ? thingShape : undefined),
  fromVersion: (object) => object,
};
const noOne: Managers = new Map();

interface State {
  readonly object: JsonObject;
  readonly managers: Managers;
}

function applied(state: State, manager: string, config: JsonObject, force = true): State {
  const writer = { manager, operation: 'Apply', apiVersion: 'v1', subresource: '' } as const;
  const outcome = applyOwnership({
    kind,
    live: state.object,
    config,
    managers: state.managers,
    writer,
    now: 'now',
    force,
  });
  if ('conflicts' in outcome) throw conflictError(outcome.conflicts);
  return { object: outcome.object ?? state.object, managers: outcome.managers };
}

function updated(state: State, manager: string, next: JsonObject): State {
  const writer = { manager, operation: 'Update', apiVersion: 'v1', subresource: '' } as const;
  return {
    object: next,
    managers: updateOwnership({ kind, live: state.object, next, managers: state.managers, writer, now: 'now' }),
  };
}

/** What each manager has, as paths. */
function owners({ managers }: State): Record<string, string[]> {
  return Object.fromEntries([...managers.values()].map(({ manager, fields }) => [manager, pathsOf(fields)]));
}

const nothing: State = { object: {}, managers: noOne };

describe('field sets', () => {
  const a = { 'f:spec': { 'f:a': {}, 'f:b': { '.': {}, 'f:c': {} } } };
  const cases: { name: string; result: FieldSet | undefined; expected: unknown }[] = [
    {
      name: 'union of a node and what is below it',
      result: union({ 'f:x': {} }, { 'f:x': { 'f:y': {} } }),
      expected: { 'f:x': { '.': {}, 'f:y': {} } },
    },
    {
      name: 'difference takes no more than it names',
      result: difference(a, { 'f:spec': { 'f:b': {} } }),
      expected: { 'f:spec': { 'f:a': {}, 'f:b': { 'f:c': {} } } },
    },
    {
      name: 'without takes what is below too',
      result: without(a, { 'f:spec': { 'f:b': {} } }),
      expected: { 'f:spec': { 'f:a': {} } },
    },
    { name: 'difference with itself is nothing', result: difference(a, a), expected: undefined },
    {
      name: 'intersection',
      result: intersection(a, { 'f:spec': { 'f:b': { 'f:c': {} }, 'f:z': {} } }),
      expected: { 'f:spec': { 'f:b': { 'f:c': {} } } },
    },
    {
      name: 'one spelling for keys',
      result: parseFieldSet({ 'k:{"b": 1, "a":"x"}': {}, 'x:unknown': {} }),
      expected: { 'k:{"a":"x","b":1}': {} },
    },
    { name: 'the empty set', result: parseFieldSet({}), expected: undefined },
  ];
  for (const { name, result, expected } of cases) test(name, () => assert.deepEqual(result, expected));

  test('a step without its kind is refused', () => {
    assert.throws(() => parseFieldSet({ spec: {} }), /missing colon: spec/);
    assert.throws(() => parseFieldSet({ a: {} }), /key must be 2 characters long/);
    assert.throws(() => parseFieldSet({ 'k:[': {} }));
  });

  test('elements stand by the size of their numbers, fields by their names', () => {
    const set = union({ 'k:{"port":443}': {}, 'f:b': {} }, { 'k:{"port":80}': {}, 'f:a': {} });
    assert.deepEqual(Object.keys(set!), ['f:a', 'f:b', 'k:{"port":80}', 'k:{"port":443}']);
  });

  const steps = fc.constantFrom('f:a', 'f:b', 'k:{"n":1}', 'v:"x"');
  const { node } = fc.letrec<{ node: FieldSet }>((tie) => ({
    node: fc.oneof({ maxDepth: 3 }, fc.constant({}), fc.dictionary(steps, tie('node'), { maxKeys: 3 })),
  }));
  const sets = node.map((value) => parseFieldSet(value));
  test('the laws of sets hold', () => {
    fc.assert(
      fc.property(sets, sets, sets, (a, b, c) => {
        assert.deepEqual(union(a, b), union(b, a));
        assert.deepEqual(union(union(a, b), c), union(a, union(b, c)));
        assert.deepEqual(union(difference(a, b), intersection(a, b)), a);
        assert.equal(intersection(difference(a, b), b), undefined);
        assert.deepEqual(new Set(pathsOf(union(a, b))), new Set([...pathsOf(a), ...pathsOf(b)]));
        assert.deepEqual(
          pathsOf(difference(a, b)),
          pathsOf(a).filter((path) => !pathsOf(b).includes(path)),
        );
      }),
      { numRuns: 500 },
    );
  });
});

describe('a comparison', () => {
  const both = (before: JsonObject, after: JsonObject) => {
    const { set, removed } = compareObjects(thingShape, before, after);
    return { set: pathsOf(set), removed: pathsOf(removed) };
  };
  const cases: { name: string; before: JsonObject; after: JsonObject; set?: string[]; removed?: string[] }[] = [
    { name: 'nothing differs', before: { spec: { replicas: 1 } }, after: { spec: { replicas: 1 } } },
    { name: 'a scalar', before: { spec: { replicas: 1 } }, after: { spec: { replicas: 2 } }, set: ['.spec.replicas'] },
    {
      name: 'a struct that is always there is not itself new',
      before: {},
      after: { spec: { strategy: { type: 'x' } } },
      set: ['.spec.strategy.type'],
    },
    {
      name: 'an element by its keys, one of them by default',
      before: { spec: { ports: [{ port: 80 }] } },
      after: { spec: { ports: [{ port: 80, protocol: 'TCP', target: 'a' }] } },
      set: ['.spec.ports[port=80,protocol="TCP"].protocol', '.spec.ports[port=80,protocol="TCP"].target'],
    },
    {
      name: 'an element that goes',
      before: { spec: { ports: [{ port: 80 }, { port: 81 }] } },
      after: { spec: { ports: [{ port: 81 }] } },
      removed: ['.spec.ports[port=80,protocol="TCP"]', '.spec.ports[port=80,protocol="TCP"].port'],
    },
    {
      name: 'order of elements does not count',
      before: { spec: { ports: [{ port: 80 }, { port: 81 }] } },
      after: { spec: { ports: [{ port: 81 }, { port: 80 }] } },
    },
    {
      name: 'a set',
      before: { metadata: { finalizers: ['a', 'b'] } },
      after: { metadata: { finalizers: ['b', 'c'] } },
      set: ['.metadata.finalizers[="c"]'],
      removed: ['.metadata.finalizers[="a"]'],
    },
    {
      name: 'an atomic list is one field',
      before: { spec: { args: ['a'] } },
      after: { spec: { args: ['a', 'b'] } },
      set: ['.spec.args'],
    },
    {
      name: 'an atomic map is one field',
      before: { spec: { selector: { a: 'b' } } },
      after: { spec: { selector: { a: 'c' } } },
      set: ['.spec.selector'],
    },
    {
      name: 'a map is many',
      before: { metadata: { labels: { a: '1', b: '2' } } },
      after: { metadata: { labels: { a: '3', c: '4' } } },
      set: ['.metadata.labels.a', '.metadata.labels.c'],
      removed: ['.metadata.labels.b'],
    },
    {
      name: 'elements given twice are the same only together',
      before: { spec: { ports: [{ port: 1 }, { port: 1 }] } },
      after: { spec: { ports: [{ port: 1 }] } },
      set: ['.spec.ports[port=1,protocol="TCP"]'],
    },
  ];
  for (const { name, before, after, set = [], removed = [] } of cases) {
    test(name, () => assert.deepEqual(both(before, after), { set, removed }));
  }

  test('a struct may hold more than it declares, which is as without a table', () => {
    const before = { open: { count: 1, ports: [{ port: 1 }], more: { a: 1, l: [1] } } };
    const after = {
      open: { ports: [{ port: 1, target: 'x' }, { port: 2 }], more: { a: 2, l: [2] }, other: { b: {} } },
    };
    assert.deepEqual(both(before, after), {
      set: [
        '.open.other',
        '.open.more.a',
        '.open.more.l',
        '.open.other.b',
        '.open.ports[port=2,protocol="TCP"]',
        '.open.ports[port=1,protocol="TCP"].target',
        '.open.ports[port=2,protocol="TCP"].port',
      ],
      removed: ['.open.count'],
    });
    assert.equal(configurationProblem(thingShape, { open: { any: 1, count: 1 } }), undefined);
    assert.match(
      configurationProblem(thingShape, { open: { any: 1, count: 'x' } })!,
      /^\.open\.count: expected numeric/,
    );
  });

  test('without a table maps are granular and lists are not', () => {
    const { set } = compareObjects(deducedShape, { a: { b: 1 }, l: [1] }, { a: { b: 2, c: {} }, l: [2] });
    assert.deepEqual(pathsOf(set), ['.l', '.a.b', '.a.c']);
  });
});

describe('a configuration', () => {
  const cases: { name: string; config: unknown; problem: string }[] = [
    { name: 'unknown field', config: { spec: { foo: 1 } }, problem: '.spec.foo: field not declared in schema' },
    {
      name: 'wrong scalar',
      config: { spec: { replicas: 'x' } },
      problem: '.spec.replicas: expected numeric (int or float), got string',
    },
    {
      name: 'number for text',
      config: { spec: { image: 1 } },
      problem: '.spec.image: expected string, got &value.valueUnstructured{Value:1}',
    },
    {
      name: 'map for list',
      config: { spec: { ports: { a: 1 } } },
      problem: '.spec.ports: expected list, got &{map[a:1]}',
    },
    { name: 'list for map', config: { spec: ['a'] }, problem: '.spec: expected map, got &{[a]}' },
    {
      name: 'an element twice',
      config: { spec: { ports: [{ port: 1 }, { port: 1, protocol: 'TCP' }] } },
      problem: '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
    },
    {
      name: 'several',
      config: { a: 1, b: 2 },
      problem: 'errors:\n  .a: field not declared in schema\n  .b: field not declared in schema',
    },
  ];
  for (const { name, config, problem } of cases) {
    test(`${name} is refused`, () => assert.equal(configurationProblem(thingShape, config), problem));
  }

  test('speaks of leaves, elements and keys, not of structs and lists', () => {
    const config = {
      metadata: { labels: { a: 'b' }, finalizers: [] },
      spec: { replicas: null, ports: [{ port: 1 }], strategy: {} },
    };
    assert.deepEqual(fieldsOf(thingShape, config), {
      'f:metadata': { 'f:labels': { 'f:a': {} } },
      'f:spec': {
        'f:ports': { 'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
        'f:replicas': {},
        'f:strategy': {},
      },
    });
  });

  const orders: { name: string; live: string[]; config: string[]; merged: string[] }[] = [
    {
      name: 'new elements come where the configuration has them',
      live: ['a', 'b'],
      config: ['x', 'a', 'y'],
      merged: ['b', 'x', 'a', 'y'],
    },
    { name: 'shared ones take its order', live: ['a', 'b', 'c'], config: ['c', 'a'], merged: ['b', 'c', 'a'] },
    { name: 'what it does not speak of stays', live: ['a', 'b'], config: [], merged: ['a', 'b'] },
    { name: 'an equal list is the same', live: ['a', 'b'], config: ['a', 'b'], merged: ['a', 'b'] },
  ];
  for (const { name, live, config, merged } of orders) {
    test(name, () => {
      const object = mergeConfiguration(
        thingShape,
        { metadata: { finalizers: live } },
        { metadata: { finalizers: config } },
      );
      assert.deepEqual(new Set((object as typeof thing).metadata.finalizers), new Set(merged));
      const shared = (object as typeof thing).metadata.finalizers.filter((item) => config.includes(item));
      assert.deepEqual(shared, config);
    });
  }
  const thing = { metadata: { finalizers: [''] } };
});

describe('ownership', () => {
  test('a creation owns what it says, not the name or what the server fills in', () => {
    const state = updated(nothing, 'me', {
      metadata: { name: 'x', labels: { a: 'b' }, resourceVersion: '1' },
      spec: { replicas: 1 },
    });
    assert.deepEqual(owners(state), { me: ['.metadata.labels', '.metadata.labels.a', '.spec.replicas'] });
  });

  test('an update takes what it changes, and nobody has what it removes', () => {
    const first = updated(nothing, 'one', { spec: { replicas: 1, image: 'a', paused: true } });
    const second = updated(first, 'two', { spec: { replicas: 2, image: 'a' } });
    assert.deepEqual(owners(second), { one: ['.spec.image'], two: ['.spec.replicas'] });
  });

  test('an update of nothing gives nobody anything', () => {
    const first = updated(nothing, 'one', { spec: { replicas: 1 } });
    assert.deepEqual(owners(updated(first, 'two', { spec: { replicas: 1 } })), { one: ['.spec.replicas'] });
  });

  test('an apply shares fields of the same value and conflicts over others', () => {
    const first = applied(nothing, 'one', { spec: { replicas: 1, image: 'a' } });
    const shared = applied(first, 'two', { spec: { replicas: 1 } }, false);
    assert.deepEqual(owners(shared), { one: ['.spec.image', '.spec.replicas'], two: ['.spec.replicas'] });
    assert.throws(() => applied(shared, 'two', { spec: { replicas: 2 } }, false), {
      message: 'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
    });
    const byUpdate = updated(nothing, 'edit', { spec: { replicas: 1 } });
    assert.throws(() => applied(byUpdate, 'two', { spec: { replicas: 2, image: 'x' } }, false), {
      message: 'Apply failed with 1 conflict: conflict with "edit" using v1: .spec.replicas',
    });
    const forced = applied(shared, 'two', { spec: { replicas: 2 } });
    assert.deepEqual(owners(forced), { one: ['.spec.image'], two: ['.spec.replicas'] });
  });

  test('what is left out goes, unless another has it', () => {
    const first = applied(nothing, 'one', {
      spec: { replicas: 1, image: 'a', ports: [{ port: 1 }, { port: 2 }] },
      metadata: { labels: { a: 'b' } },
    });
    const shared = applied(first, 'two', { spec: { image: 'a', ports: [{ port: 2 }] } });
    const less = applied(shared, 'one', { spec: { ports: [] } });
    assert.deepEqual(less.object, { spec: { image: 'a', ports: [{ port: 2 }] } });
    assert.deepEqual(Object.keys(owners(less)), ['two']);
  });

  test('an element goes with its owner, but stays when another has it too', () => {
    const first = applied(nothing, 'one', { spec: { image: 'a', ports: [{ port: 1, target: 'a' }] } });
    const alone = applied(first, 'one', { spec: { image: 'a' } });
    assert.deepEqual(alone.object, { spec: { image: 'a' } });
    const shared = applied(applied(first, 'two', { spec: { ports: [{ port: 1 }] } }), 'one', { spec: { image: 'a' } });
    assert.deepEqual(shared.object, { spec: { image: 'a', ports: [{ port: 1 }] } });
  });

  test('a manager of a version that is no more is forgotten', () => {
    const old: Manager = {
      manager: 'old',
      operation: 'Update',
      apiVersion: 'v0',
      subresource: '',
      time: undefined,
      fields: { 'f:spec': {} },
    };
    const state = updated({ object: {}, managers: new Map([[identityOf(old), old]]) }, 'me', { spec: { replicas: 1 } });
    assert.deepEqual(Object.keys(owners(state)), ['me']);
  });

  const small = fc.constantFrom(1, 2);
  const records = fc.record(
    {
      metadata: fc.record({
        labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y'), { minKeys: 1 }),
      }),
      spec: fc.record(
        {
          replicas: small,
          image: fc.constantFrom('i', 'j'),
          args: fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 2 }),
          ports: fc.uniqueArray(
            fc.record({ port: small, target: fc.constantFrom('t', 'u') }, { requiredKeys: ['port'] }),
            { selector: ({ port }) => port, minLength: 1 },
          ),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<JsonObject>;
  // An empty spec is as none: the struct is always there.
  const configs = records.filter(({ spec }) => spec === undefined || Object.keys(spec ?? {}).length > 0);
  const steps = fc.array(fc.tuple(fc.constantFrom('one', 'two', 'three'), configs), { minLength: 1, maxLength: 6 });
  const run = (list: readonly (readonly [string, JsonObject])[]) =>
    list.reduce((state, [manager, config]) => applied(state, manager, config), nothing);

  test('apply twice is apply once', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const once = run(list);
        const [manager, config] = list.at(-1)!;
        const twice = applied(once, manager, config, false);
        assert.ok(jsonEqual(twice.object, once.object));
        assert.deepEqual(owners(twice), owners(once));
      }),
      { numRuns: 500 },
    );
  });

  test('an update gives its manager what it set and takes from all what it set or removed, whoever had it', () => {
    const writes = fc.array(fc.tuple(fc.constantFrom('one', 'two', 'three'), configs), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(writes, (list) => {
        const before = list.slice(0, -1).reduce((state, [name, object]) => updated(state, name, object), nothing);
        const [writer, next] = list.at(-1)!;
        const after = updated(before, writer, next);
        const { set, removed } = compareObjects(thingShape, before.object, next);
        const names = new Set([...before.managers.values()].map(({ manager }) => manager).concat(writer));
        for (const name of names) {
          const had = [...before.managers.values()].find(({ manager }) => manager === name)?.fields;
          const left = difference(difference(had, set), removed);
          const has = [...after.managers.values()].find(({ manager }) => manager === name)?.fields;
          assert.deepEqual(pathsOf(has), pathsOf(name === writer ? union(left, set) : left));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('whoever writes the same fields again keeps the very same set', () => {
    const labels = (value: string) => ({ metadata: { labels: { a: value, b: 'x' } }, spec: { replicas: 1 } });
    const first = updated(nothing, 'one', labels('x'));
    const second = updated(first, 'one', labels('y'));
    const fieldsOfOne = ({ managers }: State) => [...managers.values()][0]!.fields;
    assert.equal(fieldsOfOne(second), fieldsOfOne(first));
  });

  test('merging never invents: every field of the object was applied by somebody, with that value', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const { object } = run(list);
        for (const path of pathsOf(fieldsOf(thingShape, object))) {
          assert.ok(
            list.some(([, config]) => pathsOf(fieldsOf(thingShape, config)).includes(path)),
            path,
          );
        }
      }),
      { numRuns: 500 },
    );
  });

  test('what one manager owns no other removes', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom('one', 'two', 'three'), (list, leaver) => {
        const before = run(list);
        const after = applied(before, leaver, {});
        const there = new Set(pathsOf(fieldsOf(thingShape, after.object)));
        for (const { manager, fields } of after.managers.values()) {
          assert.notEqual(manager, leaver);
          for (const path of pathsOf(fields)) assert.ok(there.has(path), `${path} of ${manager}`);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('after any writes the owned fields are in the object', () => {
    const writes = fc.array(fc.tuple(fc.boolean(), fc.constantFrom('one', 'two', 'three'), configs), { maxLength: 6 });
    fc.assert(
      fc.property(writes, (list) => {
        const end = list.reduce(
          (state, [applies, manager, config]) =>
            applies ? applied(state, manager, config) : updated(state, manager, config),
          nothing,
        );
        const whole = compareObjects(thingShape, {}, end.object).set;
        for (const { fields } of end.managers.values()) assert.equal(difference(fields, whole), undefined);
      }),
      { numRuns: 500 },
    );
  });
});

describe('managers', () => {
  const entry = (manager: string, more: object = {}) => ({
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:a': {} },
    ...more,
  });

  test('beyond ten the oldest updates become one', () => {
    const entries = Array.from({ length: 12 }, (_, i) =>
      entry(`m${i}`, { time: `2026-01-01T00:00:${String(i).padStart(2, '0')}Z`, fieldsV1: { [`f:${i}`]: {} } }),
    );
    const capped = managerEntries(capManagers(readManagers([...entries, entry('applier', { operation: 'Apply' })])))!;
    assert.equal(capped.length, 11);
    assert.deepEqual(capped.slice(0, 2), [
      entry('applier', { operation: 'Apply' }),
      entry('ancient-changes', { time: '2026-01-01T00:00:02Z', fieldsV1: { 'f:0': {}, 'f:1': {}, 'f:2': {} } }),
    ]);
  });

  test('a reset is an empty list or one empty entry', () => {
    assert.deepEqual([undefined, [], [{}], [entry('x')]].map(isReset), [false, true, true, false]);
  });

  const refused = [
    { more: { operation: 'Edit' }, error: /operation must be `Apply` or `Update`/ },
    { more: { apiVersion: '' }, error: /apiVersion must not be empty/ },
    { more: { fieldsType: '' }, error: /missing fieldsType in managed fields entry 0/ },
    { more: { fieldsType: 'V2' }, error: /invalid fieldsType "V2" in managed fields entry 0/ },
    { more: { fieldsV1: { a: {} } }, error: /key must be 2 characters long/ },
  ];
  for (const { more, error } of refused) {
    test(`an entry with ${JSON.stringify(more)} is refused`, () =>
      assert.throws(() => readManagers([entry('m', more)]), error));
  }
});

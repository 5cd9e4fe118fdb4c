/** Parts that stand as they stood: nobody changes them, and nobody can tell them from copies. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anyObject } from '../../api/any-object.fixture.ts';
import { knownBehaviours } from '../../api/behaviours.ts';
import type { KindBehaviour, StrategyContext } from '../../api/kind.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import { copyStandingParts, fillDefaults, inPlace } from './standing-parts.ts';

const withSpec = () => {
  const spec = deepFreeze({ replicas: 1, list: [1] });
  return { spec, object: { metadata: { name: 'a' }, spec } as unknown as Draft<KubeObject> & { spec: typeof spec } };
};

test('a step that changes nothing of a standing part leaves it standing', () => {
  const { spec, object } = withSpec();
  inPlace(object, () => {
    object.metadata.name = 'b';
  });
  assert.equal(object.spec, spec);
  assert.equal(object.metadata.name, 'b');
});

test('a step that changes a standing part changes a copy of it', () => {
  const { spec, object } = withSpec();
  inPlace(object, () => (object.spec.list as number[]).push(2));
  assert.deepEqual(object.spec, { replicas: 1, list: [1, 2] });
  assert.deepEqual(spec.list, [1]);
});

test('a mistake of the step itself is not taken for a change of a standing part', () => {
  const { object } = withSpec();
  let runs = 0;
  const broken = () => {
    runs++;
    (object as unknown as { readonly absent: { call(): void } }).absent.call();
  };
  assert.throws(() => inPlace(object, broken), TypeError);
  copyStandingParts(object);
  runs = 0;
  assert.throws(() => inPlace(object, broken), TypeError);
  assert.equal(runs, 1);
});

/** Standing: the new object's own parts, frozen. */
function standing(object: Draft<KubeObject>): Draft<KubeObject> {
  const { kind, apiVersion, metadata, ...parts } = draft(object);
  return { kind, apiVersion, metadata, ...deepFreeze(parts) } as Draft<KubeObject>;
}

function assertSame(behaviour: KindBehaviour, seed: number, steps: Iterable<(object: Draft<KubeObject>) => void>) {
  const whole = anyObject(behaviour.resource, seed);
  behaviour.defaults?.(whole);
  for (const step of steps) {
    const [own, shared] = [draft(whole) as Draft<KubeObject>, standing(whole)];
    let refused: unknown;
    try {
      step(own);
    } catch (error) {
      refused = error;
    }
    if (refused) assert.throws(() => inPlace(shared, () => step(shared)));
    else {
      inPlace(shared, () => step(shared));
      assert.deepEqual(shared, own, `${behaviour.resource.resource}, seed ${seed}`);
    }
  }
}

test('defaults and strategies of every kind make the same of standing parts as of parts of their own', () => {
  const warnings = new Set<string>();
  const context: StrategyContext = {
    now: '2026-01-01T00:00:00Z',
    user: { name: 'a', groups: [] },
    warn: (message) => void warnings.add(message),
  };
  for (const behaviour of knownBehaviours()) {
    for (let seed = 1; seed <= 12; seed++) {
      const previous = anyObject(behaviour.resource, seed + 100);
      behaviour.defaults?.(previous);
      const before = deepFreeze(previous) as KubeObject;
      const strategies = [behaviour, ...Object.values(behaviour.subresources ?? {})];
      assertSame(behaviour, seed, [
        (object) => behaviour.defaults?.(object),
        ...strategies.map(
          (strategy) => (object: Draft<KubeObject>) => strategy.prepareForUpdate?.(object, before, context),
        ),
      ]);
    }
  }
});

describe('defaults of standing parts', () => {
  const complete = new WeakSet<object>();
  let runs = 0;
  const behaviour = {
    defaultsByMember: true,
    defaults(object: { spec: { replicas?: number } }) {
      runs++;
      if (object.spec.replicas === undefined) object.spec.replicas = 1;
    },
  } as unknown as KindBehaviour;
  const filled = (parts: object) => {
    const object = { metadata: { name: 'a' }, ...parts } as unknown as Draft<KubeObject> & { spec: object };
    runs = 0;
    fillDefaults(object, { behaviour, complete });
    return { object, runs };
  };

  test('are looked for once in a part in which none is missing', () => {
    const spec = deepFreeze({ replicas: 3 });
    assert.equal(filled({ spec }).runs, 1);
    assert.equal(filled({ spec }).object.spec, spec);
    assert.equal(filled({ spec }).runs, 0);
    assert.equal(filled({ spec, status: { a: 1 } }).runs, 1, 'beside another part that is not known');
  });

  test('are filled into a copy of a part in which some are missing, each time', () => {
    const spec = deepFreeze({ paused: true });
    for (let turn = 0; turn < 2; turn++) assert.deepEqual(filled({ spec }).object.spec, { paused: true, replicas: 1 });
  });

  test('are looked for in what somebody may still change', () => {
    const spec = { replicas: 3 };
    for (let turn = 0; turn < 2; turn++) assert.equal(filled({ spec }).runs, 1);
  });
});

const byMember = knownBehaviours().filter(({ defaultsByMember }) => defaultsByMember);

for (const { resource, defaults } of byMember) {
  test(`defaults of ${resource.resource} take each member by itself`, () => {
    for (let seed = 1; seed <= 40; seed++) {
      const members = (object: object) => object as Readonly<Record<string, unknown>>;
      const [one, other] = [anyObject(resource, seed), anyObject(resource, seed + 1000)];
      const mixed = draft({ ...other, spec: members(one).spec }) as Draft<KubeObject>;
      for (const object of [one, other, mixed]) defaults!(object);
      const untouched = anyObject(resource, seed + 1000);
      assert.deepEqual(mixed, { ...other, metadata: untouched.metadata, spec: members(one).spec });
      const names = Object.keys(mixed).filter((name) => name !== 'spec');
      assert.deepEqual(
        names,
        Object.keys(untouched).filter((name) => name !== 'spec'),
      );
    }
  });
}

test('there are kinds whose defaults take each member by itself', () => assert.ok(byMember.length >= 5));

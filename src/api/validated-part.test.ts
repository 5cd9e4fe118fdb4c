/** Kinds that say what their rules look at (`validates`): nothing else of an object can make it wrong, or right. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText } from '../apimachinery/field-error.ts';
import { type Draft, draft, type KubeObject } from '../apimachinery/meta.ts';
import { anyObject } from './any-object.fixture.ts';
import { knownBehaviours } from './behaviours.ts';
import type { KindBehaviour } from './kind.ts';
import { warningsAbout } from './warnings.ts';

const seeds = 60;

/** Another object with the same spec, and the same annotations where the rules look at them. */
function otherwise({ resource, validates }: KindBehaviour, object: KubeObject, seed: number): KubeObject {
  const { spec, metadata } = object as KubeObject & { readonly spec?: unknown };
  const other = anyObject(resource, seed + seeds) as Draft<KubeObject> & { spec?: unknown };
  other.spec = draft(spec);
  other.metadata = { ...other.metadata, name: metadata.name, labels: { turn: String(seed) }, finalizers: ['a/b'] };
  other.metadata.annotations = validates === 'spec' ? { turn: String(seed) } : draft(metadata.annotations);
  return other as KubeObject;
}

const saying = knownBehaviours().filter(({ validates }) => validates !== undefined);

test('there are such kinds', () => assert.ok(saying.length >= 5));

/** Under another name, which is a label as most names are. */
function renamed(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, name: 'another-name' } };
}

for (const behaviour of saying) {
  const { group, resource } = behaviour.resource;
  const kind = group === '' ? resource : `${resource}.${group}`;

  test(`what ${resource} are warned of is in ${behaviour.validates}, or their name is no label`, () => {
    let silent = 0;
    for (let seed = 1; seed <= 2 * seeds; seed++) {
      const object = renamed(anyObject(behaviour.resource, seed, 0.2)) as Draft<KubeObject>;
      behaviour.defaults?.(object);
      const other = renamed(otherwise(behaviour, object, seed));
      assert.deepEqual(warningsAbout(kind, other), warningsAbout(kind, object));
      if (warningsAbout(kind, object).length === 0) silent++;
    }
    assert.ok(silent > 0);
  });

  test(`the rules of new ${resource} look at the name of those alone of which that is said`, () => {
    const texts = (object: KubeObject) => behaviour.validate!(object).map(errorText);
    let named = 0;
    for (let seed = 1; seed <= 4 * seeds; seed++) {
      const object = anyObject(behaviour.resource, seed);
      behaviour.defaults?.(object);
      if (behaviour.validatesName?.(object)) named++;
      else assert.deepEqual(texts(renamed(otherwise(behaviour, object, seed))), texts(object));
    }
    assert.equal(named > 0, behaviour.validatesName !== undefined);
  });

  test(`the rules of ${behaviour.resource.resource} look at ${behaviour.validates} alone`, () => {
    const texts = (object: KubeObject, previous?: KubeObject) =>
      (previous ? behaviour.validateUpdate!(object, previous) : behaviour.validate!(object)).map(errorText);
    for (let seed = 1; seed <= seeds; seed++) {
      const object = anyObject(behaviour.resource, seed);
      behaviour.defaults?.(object);
      object.metadata.annotations = { a: 'b' };
      const other = otherwise(behaviour, object, seed);
      assert.deepEqual(texts(other), texts(object));
      assert.deepEqual(texts(other, object), texts(object, object));
      // What creation or an update finds good stays good for as long as it stays.
      if (texts(object).length === 0) assert.deepEqual(texts(other, object), []);
      const changed = texts(object, other);
      if (changed.length === 0) assert.deepEqual(texts(other, object), []);
    }
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import type { StoredKind } from '../served-resource.ts';
import { FieldSetPool, SpecPool } from './makings.ts';

type Specified = KubeObject & { spec: Readonly<Record<string, unknown>> };

const kind = {
  name: 'pods',
  behaviour: { validates: 'spec', validatesName: ({ spec }: Specified) => spec.named === true },
} as unknown as StoredKind;
const silentKind = { name: 'others', behaviour: {} } as unknown as StoredKind;
const found = { beside: undefined, warned: false, standing: undefined };

function made(spec: Record<string, unknown>, uid = 'owner'): Specified {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Owner', name: 'o', uid, controller: true }];
  return { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a', ownerReferences }, spec };
}

function kept(pool: SpecPool, object: Specified, of = kind): Specified {
  deepFreeze(object.spec);
  pool.keep(of, object, found);
  return object;
}

test('an equal spec becomes the one that is known', () => {
  const pool = new SpecPool();
  const first = kept(pool, made({ list: [{ a: 1 }] }));
  const second = made({ list: [{ a: 1 }] });
  assert.equal(pool.share(kind, second)?.spec, first.spec);
  assert.equal(second.spec, first.spec);
});

test('another spec stays what it says, and nothing is known of it', () => {
  const pool = new SpecPool();
  const first = kept(pool, made({ list: [{ a: 1 }], other: { b: 1 } }));
  const second = made({ list: [{ a: 1 }], other: { b: 2 } });
  assert.equal(pool.share(kind, second), undefined);
  assert.deepEqual(second.spec, { list: [{ a: 1 }], other: { b: 2 } });
  assert.equal(second.spec.list, first.spec.list);
});

test('nothing is known of the objects of another owner or kind, of those that are judged by their names, and of kinds of which others say nothing', () => {
  const pool = new SpecPool();
  kept(pool, made({ a: 1 }));
  assert.equal(pool.share(kind, made({ a: 1 }, 'another')), undefined);
  assert.equal(pool.share({ ...kind, name: 'others' }, made({ a: 1 })), undefined);
  kept(pool, made({ named: true }, 'n'));
  assert.equal(pool.share(kind, made({ named: true }, 'n')), undefined);
  kept(pool, made({ a: 1 }), silentKind);
  assert.equal(pool.share(silentKind, made({ a: 1 })), undefined);
});

test('what somebody may still change, and what weighs too much, is not kept', () => {
  const pool = new SpecPool();
  pool.keep(kind, made({ a: 1 }), found);
  assert.equal(pool.share(kind, made({ a: 1 })), undefined);
  for (const [uid, heavy] of Object.entries({
    texts: { text: 'x'.repeat(200_000) },
    items: { items: Array.from({ length: 5000 }, (_, i) => i) },
    fields: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`f${i}`, {}])),
  })) {
    kept(pool, made(heavy, uid));
    assert.equal(pool.share(kind, made(structuredClone(heavy), uid)), undefined);
  }
});

test('of a large object with a small spec nothing but the spec is kept', () => {
  const pool = new SpecPool();
  const first = made({ a: 1 });
  deepFreeze(first.spec);
  const standing = (size: number) => ({ object: first, encoded: { bytes: Buffer.alloc(size), members: [] } });
  for (const [size, isKept] of [
    [1000, true],
    [1_000_000, false],
  ] as const) {
    pool.keep(kind, first, { ...found, standing: standing(size) });
    assert.equal(pool.share(kind, made({ a: 1 }))?.standing !== undefined, isKept);
  }
  pool.keep(kind, first, { ...found, beside: { note: 'x'.repeat(200_000) } });
  assert.equal(pool.share(kind, made({ a: 1 }))?.beside, undefined);
});

test('specs of many makings are forgotten', () => {
  const pool = new SpecPool();
  for (let i = 0; i < 1000; i++) kept(pool, made({ a: 1 }, String(i)));
  const known = Array.from({ length: 1000 }, (_, i) => pool.share(kind, made({ a: 1 }, String(i)))).filter(Boolean);
  assert.ok(known.length > 0 && known.length <= 250);
});

test('nothing is known of the objects of another namespace, and of those of an owner whose uid no server gave', () => {
  const pool = new SpecPool();
  kept(pool, made({ a: 1 }));
  const elsewhere = made({ a: 1 });
  assert.equal(pool.share(kind, { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'b' } }), undefined);
  const uid = 'x'.repeat(100_000);
  kept(pool, made({ a: 1 }, uid));
  assert.equal(pool.share(kind, made({ a: 1 }, uid)), undefined);
});

test('equal field sets become one, and those that are too large, or too many together, are not kept', () => {
  const pool = new FieldSetPool();
  const fieldsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f:${i}`, {}]));
  const first = pool.share('a', fieldsOf(10));
  assert.equal(pool.share('a', fieldsOf(10)), first);
  assert.equal(pool.share('a', fieldsOf(11)) === first, false);

  for (const large of [() => fieldsOf(20_000), () => ({ [`f:${'x'.repeat(200_000)}`]: {} })]) {
    const one = pool.share('large', large());
    assert.notEqual(pool.share('large', large()), one);
  }
  const oldest = pool.share('b', fieldsOf(5));
  for (let i = 0; i < 60; i++) pool.share(`of ${i}`, fieldsOf(3900));
  assert.notEqual(pool.share('b', fieldsOf(5)), oldest);
});

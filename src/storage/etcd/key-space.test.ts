import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeySpace, registryRoot } from './key-space.ts';

const text = ({ key, rangeEnd }: { key: Buffer; rangeEnd: Buffer }) => [key.toString(), rangeEnd.toString()];

test('without a root, keys are the same on both sides', () => {
  const keys = new KeySpace(undefined);
  assert.equal(keys.toEtcd('/a/ä').toString(), '/a/ä');
  assert.equal(keys.fromEtcd(Buffer.from('compact_rev_key')), 'compact_rev_key');
  assert.deepEqual(text(keys.bounds('/a', '/b')), ['/a', '/b']);
});

test('with a root, keys lie below it, and what lies elsewhere is nobody’s', () => {
  const keys = new KeySpace(registryRoot('/one/kubernetes.io'));
  assert.equal(keys.toEtcd('/registry/pods/a/b').toString(), '/one/kubernetes.io/pods/a/b');
  assert.equal(keys.fromEtcd(Buffer.from('/one/kubernetes.io/pods/a/b')), '/registry/pods/a/b');
  assert.equal(keys.fromEtcd(Buffer.from('/registry/pods/a/b')), undefined);
  assert.equal(keys.fromEtcd(Buffer.from('/one/kubernetes.iot')), undefined);
  assert.throws(() => keys.toEtcd('/other'), /does not lie below \/registry\//);
});

test('a range never leaves the root', () => {
  const keys = new KeySpace(registryRoot('one'));
  assert.deepEqual(text(keys.bounds('/registry/pods/', '/registry/pods0')), ['/one/pods/', '/one/pods0']);
  assert.deepEqual(text(keys.bounds('/', '0')), ['/one/', '/one0']);
  assert.deepEqual(text(keys.bounds('/registry/z', '/s')), ['/one/z', '/one0']);
  assert.deepEqual(text(keys.bounds('/a', '/b')), ['/one/', '/one/']);
  assert.deepEqual(text(keys.bounds('/x', '/y')), ['/one0', '/one0']);
});

test('a prefix is written with or without slashes around it', () => {
  for (const prefix of ['registry', '/registry', '/registry/'])
    assert.deepEqual(registryRoot(prefix), { from: '/registry/', to: '/registry/' });
  assert.equal(registryRoot('').to, '/');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  envelopeOf,
  isCanonical,
  joinToStay,
  replaceEnvelope,
  replaceRevision,
  spliceRevision,
  toStay,
} from './encoded-object.ts';

const v1 = envelopeOf('resource.k8s.io/v1', 'DeviceClass');
const beta = envelopeOf('resource.k8s.io/v1beta2', 'DeviceClass');
const stored = Buffer.from(
  '{"kind":"DeviceClass","apiVersion":"resource.k8s.io/v1","metadata":{"name":"a"},"spec":{}}',
);

test('a revision is put in, replaced, and the version changed, by joining bytes', () => {
  assert.ok(isCanonical(v1, stored));
  const served = spliceRevision(v1, stored, 7);
  assert.deepEqual(JSON.parse(served.toString()).metadata, { resourceVersion: '7', name: 'a' });
  const later = replaceRevision(v1, served, { from: 7, to: 123 });
  assert.deepEqual(JSON.parse(later.toString()).metadata, { resourceVersion: '123', name: 'a' });
  const other = replaceEnvelope(v1, beta, later);
  assert.equal(JSON.parse(other.toString()).apiVersion, 'resource.k8s.io/v1beta2');
  assert.ok(isCanonical(beta, other));
});

test('bytes of another beginning are not taken for canonical', () => {
  assert.ok(!isCanonical(beta, stored));
  assert.ok(!isCanonical(v1, Buffer.from('{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{}}')));
  assert.ok(!isCanonical(v1, Buffer.from('{}')));
});

test('what is to stay holds no memory but its own', () => {
  const pooled = Buffer.from('a short one');
  assert.ok(pooled.buffer.byteLength > pooled.length);
  for (const bytes of [spliceRevision(v1, stored, 7), replaceEnvelope(v1, beta, stored), toStay(pooled)])
    assert.equal(bytes.buffer.byteLength, bytes.length);
  assert.deepEqual(toStay(pooled), pooled);
  const own = toStay(pooled);
  assert.equal(toStay(own).buffer, own.buffer);
  assert.equal(joinToStay(own, own).toString(), 'a short onea short one');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compactVerify } from 'jose';
import fc from '../testing/properties.fixture.ts';
import { detachedSignature, isSignedWith } from './detached-signature.ts';

const token = { id: 'abcdef', secret: '0123456789abcdef' };

test('what is signed is believed with the same secret alone', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (content, other) => {
      const signature = detachedSignature(content, token);
      assert.ok(isSignedWith(content, { signature, secret: token }));
      assert.equal(isSignedWith(other, { signature, secret: token }), other === content);
      assert.ok(!isSignedWith(content, { signature, secret: { ...token, secret: '0123456789abcdeg' } }));
      assert.ok(!isSignedWith(content, { signature, secret: { ...token, id: 'abcdeg' } }));
    }),
  );
});

test('others read it as a JSON Web Signature', async () => {
  const [header, , signature] = detachedSignature('content', token).split('.');
  const whole = `${header}.${Buffer.from('content').toString('base64url')}.${signature}`;
  const { payload, protectedHeader } = await compactVerify(whole, Buffer.from(token.secret));
  assert.equal(Buffer.from(payload).toString(), 'content');
  assert.deepEqual(protectedHeader, { alg: 'HS256', kid: 'abcdef' });
});

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { createLocalJWKSet, importPKCS8, jwtVerify, SignJWT } from 'jose';
import { seededRandom } from '../base/random.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { discoveryDocument } from './discovery.ts';
import { encodePrivateKey, encodePublicKey, keyId, keysFrom, systemKeys } from './keys.ts';
import { boundTokenClaims, legacyTokenClaims, readIdentity } from './service-account-token.ts';
import { createTokenSigner, legacyIssuer, sharedSecretSigner, TokenError, unverifiedClaims } from './token-signer.ts';

const issuer = 'https://kubernetes.default.svc.cluster.local';
const serviceAccount = { name: 'default', uid: 'account-uid' };

function setUp() {
  const clock = new FakeClock(Date.UTC(2026, 4, 1));
  const random = seededRandom(1);
  const key = systemKeys.generate();
  const signer = createTokenSigner({ clock, issuers: [issuer, legacyIssuer], signingKeyPem: encodePrivateKey(key) });
  return { clock, random, key, signer };
}

const bound = {
  namespace: 'shop',
  serviceAccount,
  audiences: [issuer, 'vault'],
  expirationSeconds: 3600,
  pod: { name: 'web', uid: 'pod-uid' },
  node: { name: 'node-a', uid: 'node-uid' },
};

test('a bound token carries the claims of upstream and reads back as its identity', async () => {
  const { clock, random, key, signer } = setUp();
  const token = await signer.sign(boundTokenClaims({ ...bound, warnAfterSeconds: 607 }, { clock, random }));
  const claims = await signer.verify(token);
  const now = clock.now() / 1000;
  assert.match(claims.jti!, /^[0-9a-f-]{36}$/);
  assert.deepEqual(claims, {
    aud: [issuer, 'vault'],
    exp: now + 3600,
    iat: now,
    iss: issuer,
    jti: claims.jti,
    'kubernetes.io': {
      namespace: 'shop',
      node: { name: 'node-a', uid: 'node-uid' },
      pod: { name: 'web', uid: 'pod-uid' },
      serviceaccount: serviceAccount,
      warnafter: now + 607,
    },
    nbf: now,
    sub: 'system:serviceaccount:shop:default',
  });
  const header = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
  assert.deepEqual(header, { alg: 'ES256', kid: keyId(key) });
  assert.deepEqual(readIdentity(claims), {
    namespace: 'shop',
    serviceAccount,
    pod: bound.pod,
    node: bound.node,
    secret: undefined,
    warnAfter: now + 607,
    tokenId: claims.jti,
    isLegacy: false,
  });
});

test('a token expires at its second, and is not valid before its time', async () => {
  const { clock, random, signer } = setUp();
  const token = await signer.sign(boundTokenClaims({ ...bound, expirationSeconds: 600 }, { clock, random }));
  await clock.advance(599_000);
  await signer.verify(token);
  await clock.advance(1_000);
  await assert.rejects(signer.verify(token), { reason: 'expired', message: 'service account token has expired' });
  const early = await signer.sign({ sub: 'x', nbf: clock.now() / 1000 + 60 });
  await assert.rejects(signer.verify(early), {
    reason: 'notYetValid',
    message: 'service account token is not valid yet',
  });
});

test('a legacy token never expires and names its Secret', async () => {
  const { clock, key, signer } = setUp();
  const legacy = createTokenSigner({ clock, issuers: [legacyIssuer], signingKeyPem: encodePrivateKey(key) });
  const token = await legacy.sign(
    legacyTokenClaims({ namespace: 'shop', serviceAccount, secretName: 'default-token' }),
  );
  await clock.advance(10 * 365 * 86_400_000);
  const claims = await signer.verify(token);
  assert.equal(claims['kubernetes.io/serviceaccount/secret.name'], 'default-token');
  const identity = readIdentity(claims);
  assert.deepEqual(
    [identity?.namespace, identity?.serviceAccount, identity?.secret],
    ['shop', serviceAccount, { name: 'default-token' }],
  );
  assert.equal(identity?.isLegacy, true);
});

test('claims that contradict their subject are no identity', () => {
  const claims = {
    iss: issuer,
    sub: 'system:serviceaccount:shop:admin',
    'kubernetes.io': { namespace: 'shop', serviceaccount: serviceAccount },
  };
  assert.equal(readIdentity(claims), undefined);
  assert.equal(readIdentity({ iss: issuer, sub: 'somebody' }), undefined);
  assert.equal(readIdentity({ ...claims, 'kubernetes.io': {} as never }), undefined);
});

test('every change of a token is noticed', async () => {
  const { clock, random, signer } = setUp();
  const token = await signer.sign(boundTokenClaims(bound, { clock, random }));
  for (let i = 0; i < token.length; i++) {
    const other = token[i] === 'A' ? 'B' : 'A';
    const changed = token.slice(0, i) + other + token.slice(i + 1);
    // The last letter of a part has bits that no byte uses.
    const same = changed
      .split('.')
      .every((part, n) => Buffer.from(part, 'base64url').equals(Buffer.from(token.split('.')[n]!, 'base64url')));
    if (same && i > token.lastIndexOf('.')) continue;
    await assert.rejects(signer.verify(changed), TokenError, `letter ${i}`);
  }
});

test('what is no token, or is signed otherwise, is refused', async () => {
  const { signer, clock, random, key } = setUp();
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = part({ iss: issuer, sub: 'x' });
  const stranger = createTokenSigner({
    clock,
    issuers: [issuer],
    signingKeyPem: encodePrivateKey(systemKeys.generate()),
  });
  const genuine = await signer.sign(boundTokenClaims(bound, { clock, random }));
  const withHeader = (header: object) => {
    const input = `${part(header)}.${claims}`;
    return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  };
  assert.equal((await signer.verify(withHeader({ alg: 'ES256' }))).sub, 'x');
  for (const { token, reason } of [
    { token: withHeader({ alg: 'RS256' }), reason: 'signature' },
    { token: withHeader({ alg: 'none' }), reason: 'signature' },
    { token: withHeader({}), reason: 'signature' },
    { token: '', reason: 'malformed' },
    { token: 'abcdef.0123456789abcdef', reason: 'malformed' },
    { token: 'a.b.c', reason: 'malformed' },
    { token: `${genuine}.more`, reason: 'malformed' },
    { token: `${part([])}.${claims}.AA`, reason: 'malformed' },
    { token: `${part({ alg: 'ES256' })}.${part({ iss: issuer, aud: [1] })}.AA`, reason: 'malformed' },
    { token: `${part({ alg: 'none' })}.${claims}.AA`, reason: 'signature' },
    { token: `${part({ alg: 'ES256' })}.${claims}.AA`, reason: 'signature' },
    { token: `${part({ alg: 'HS256' })}.${claims}.AA`, reason: 'signature' },
    { token: `${part({ alg: 'ES256', kid: 'unknown' })}.${claims}.AA`, reason: 'signature' },
    { token: `${part({ alg: 'ES256' })}.${part({ iss: 'https://other' })}.AA`, reason: 'issuer' },
    { token: await stranger.sign({ sub: 'x' }), reason: 'signature' },
    { token: await signer.sign({ sub: 'x', exp: 'never' as never }), reason: 'malformed' },
  ]) {
    await assert.rejects(signer.verify(token), { name: 'TokenError', reason }, token);
  }
  assert.equal(unverifiedClaims(genuine)?.sub, 'system:serviceaccount:shop:default');
  assert.equal(unverifiedClaims('a.b.c'), undefined);
});

test('after a change of keys tokens of the old one are still accepted, and both are published', async () => {
  const { clock, random, key, signer } = setUp();
  const old = await signer.sign(boundTokenClaims(bound, { clock, random }));
  const next = systemKeys.generate();
  const both = createTokenSigner({
    clock,
    issuers: ['https://new', issuer],
    signingKeyPem: encodePrivateKey(next),
    verificationKeyPems: [encodePublicKey(key) + encodePrivateKey(next)],
  });
  assert.equal((await both.verify(old)).iss, issuer);
  assert.equal((await both.verify(await both.sign({ sub: 'x' }))).iss, 'https://new');
  assert.deepEqual(
    both.jwks().keys.map(({ kid }) => kid),
    [keyId(next), keyId(key)],
  );
});

for (const { alg, pem } of [
  { alg: 'ES256', pem: () => encodePrivateKey(systemKeys.generate()) },
  { alg: 'ES384', pem: () => encodePrivateKey(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey) },
  { alg: 'ES512', pem: () => encodePrivateKey(generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey) },
  { alg: 'RS256', pem: () => encodePrivateKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey) },
]) {
  test(`with ${alg}, jose verifies our tokens by our published keys, and we verify jose's`, async () => {
    const clock = new FakeClock(Date.UTC(2026, 4, 1));
    const signingKeyPem = pem();
    const signer = createTokenSigner({ clock, issuers: [issuer], signingKeyPem });
    const token = await signer.sign(boundTokenClaims(bound, { clock, random: seededRandom(1) }));
    const keySet = createLocalJWKSet({ keys: signer.jwks().keys.map((key) => ({ ...key })) });
    const options = { issuer, audience: 'vault', currentDate: new Date(clock.now()) };
    const { payload, protectedHeader } = await jwtVerify(token, keySet, options);
    assert.equal(protectedHeader.alg, alg);
    assert.equal(payload.sub, 'system:serviceaccount:shop:default');
    const theirs = await new SignJWT({ sub: 'x', aud: 'one' })
      .setProtectedHeader({ alg })
      .setIssuer(issuer)
      .sign(await importPKCS8(signingKeyPem, alg));
    assert.deepEqual((await signer.verify(theirs)).aud, ['one']);
    const document = discoveryDocument(signer, { externalAddress: '10.0.0.1:6443' });
    assert.deepEqual(document, {
      issuer,
      jwks_uri: 'https://10.0.0.1:6443/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [alg],
    });
  });
}

test('no discovery document is served for an issuer that is not an https URL', () => {
  const { clock, key } = setUp();
  const withIssuer = (name: string) =>
    createTokenSigner({ clock, issuers: [name], signingKeyPem: encodePrivateKey(key) });
  for (const { name, message } of [
    { name: 'http://a', message: 'issuer URL must use https scheme, got: http://a' },
    { name: 'kubernetes/serviceaccount', message: 'issuer URL must use https scheme, got: kubernetes/serviceaccount' },
    { name: 'https://a?b', message: 'issuer URL may not include a query, got: https://a?b' },
    { name: 'https://a#b', message: 'issuer URL may not include a fragment, got: https://a#b' },
  ]) {
    assert.throws(() => discoveryDocument(withIssuer(name), { uri: 'https://x' }), { message });
  }
});

test('a shared-secret signer gives the same token for the same claims, and accepts no other', async () => {
  const clock = new FakeClock(Date.UTC(2026, 4, 1));
  const make = (secret: string) => sharedSecretSigner({ clock, issuers: [issuer], secret: Buffer.from(secret) });
  const claims = boundTokenClaims(bound, { clock, random: seededRandom(5) });
  const token = await make('a').sign(claims);
  assert.equal(token, await make('a').sign(claims));
  assert.equal((await make('a').verify(token)).sub, claims.sub);
  await assert.rejects(make('b').verify(token), { reason: 'signature' });
  await clock.advance(3_600_000);
  await assert.rejects(make('a').verify(token), { reason: 'expired' });
});

test('a signer refuses a key that tokens cannot be signed with', () => {
  const { clock } = setUp();
  const signingKeyPem = encodePrivateKey(generateKeyPairSync('ed25519').privateKey);
  assert.throws(() => createTokenSigner({ clock, issuers: [issuer], signingKeyPem }), /RSA keys or EC keys/);
  assert.equal(
    encodePrivateKey(keysFrom(seededRandom(9)).generate()),
    encodePrivateKey(keysFrom(seededRandom(9)).generate()),
  );
});

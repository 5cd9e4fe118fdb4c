/** Tokens signed by another process, over a real socket to a signer that does as it is told. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { TokenError } from '../../pki/token-signer.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ExternalTokenSigner } from './external-token-signer.ts';
import { ScriptedSigner, scriptedKey } from './scripted-signer.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-signer-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const issuer = 'https://issuer.example.com';
const claims = { sub: 'system:serviceaccount:a:b', aud: ['api'], exp: 4_000_000_000 };
let sockets = 0;

async function connected(prepare: (script: ScriptedSigner) => void = () => {}) {
  const endpoint = join(folder, `${++sockets}.sock`);
  const script = await ScriptedSigner.listen(endpoint);
  prepare(script);
  const clock = new FakeClock();
  const ends = () => script.close();
  const signer = await ExternalTokenSigner.connect({
    endpoint,
    issuers: [issuer, 'kubernetes/serviceaccount'],
    clock,
    log: silentLog,
  }).catch((error) => {
    ends();
    throw error;
  });
  return {
    script,
    clock,
    signer,
    [Symbol.dispose]() {
      signer.close();
      ends();
    },
  };
}

const untilIt = async (holds: () => boolean) => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

test('signs with the claims of the server, and verifies what it signed', async () => {
  using opened = await connected();
  const { signer, script } = opened;
  const token = await signer.sign(claims);
  assert.deepEqual(await signer.verify(token), { ...claims, iss: issuer });
  const [header, payload] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  assert.deepEqual(JSON.parse(header!), { alg: 'ES256', kid: script.keys[0]!.id, typ: 'JWT' });
  assert.deepEqual(JSON.parse(payload!), { ...claims, iss: issuer });
  const forged = `${token.split('.').slice(0, 2).join('.')}.${Buffer.alloc(64).toString('base64url')}`;
  await assert.rejects(signer.verify(forged), TokenError);
});

test('a socket without a file', async () => {
  const endpoint = `@coracle-${process.pid}.signer`;
  const script = await ScriptedSigner.listen(endpoint);
  const signer = await ExternalTokenSigner.connect({
    endpoint,
    issuers: [issuer],
    clock: new FakeClock(),
    log: silentLog,
  });
  assert.equal(await signer.maxExpirationSeconds(), 86_400);
  signer.close();
  script.close();
});

test('a key that is not known is asked for at once, by many at a time once, and one that does not exist is none', async () => {
  using opened = await connected();
  const { signer, script } = opened;
  script.keys = [scriptedKey(), ...script.keys];
  const tokens = await Promise.all([signer.sign(claims), signer.sign(claims)]);
  assert.equal(script.fetches, 2);
  for (const token of tokens) assert.equal((await signer.verify(token)).sub, claims.sub);
  assert.equal(script.fetches, 2);
  const stranger = tokens[0]!.replace(
    /^[^.]+/,
    Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'nobody' })).toString('base64url'),
  );
  await assert.rejects(signer.verify(stranger), { message: 'invalid signature, no keys found' });
  assert.equal(script.fetches, 3);
});

test('keys are fetched as often as the signer asks, ten seconds after a failure, and those known go on meanwhile', async () => {
  using opened = await connected();
  const { signer, script, clock } = opened;
  const token = await signer.sign(claims);
  assert.equal(signer.keySetMaxAgeSeconds(), 300);
  await clock.advance(100_000);
  assert.equal(signer.keySetMaxAgeSeconds(), 200);
  script.failure = 'vault sealed';
  await clock.advance(200_000);
  await untilIt(() =>
    signer.metrics().includes('apiserver_externaljwt_fetch_keys_request_total{code="Unavailable"} 1'),
  );
  assert.equal((await signer.verify(token)).sub, claims.sub);
  assert.equal(signer.keySetMaxAgeSeconds(), 0);
  script.failure = undefined;
  script.keys = [...script.keys, scriptedKey()];
  await untilIt(() => clock.pending > 0);
  await clock.advance(10_000);
  await untilIt(() => signer.jwks().keys.length === 2);
  assert.equal(signer.keySetMaxAgeSeconds(), 300);
});

test('keys for old tokens verify, are not shown, and sign nothing', async () => {
  using opened = await connected();
  const { signer, script } = opened;
  const [current] = script.keys;
  const legacy = scriptedKey({ hidden: true });
  script.keys = [legacy, current!];
  await assert.rejects(signer.sign(claims), {
    message: `while validating header: key used for signing JWT (kid: ${legacy.id}) is excluded from OIDC discovery docs`,
  });
  assert.deepEqual(
    signer.jwks().keys.map(({ kid }) => kid),
    [current!.id],
  );
  assert.match(signer.metrics(), /apiserver_externaljwt_sign_request_total\{code="unknown-non-grpc"\} 1/);
});

const headers: readonly (readonly [what: string, header: object, message: string])[] = [
  ['another type', { typ: 'JWS' }, 'bad type'],
  ['no type', {}, 'bad type'],
  ['no key', { typ: 'JWT', kid: '' }, 'key id missing'],
  ['a long key', { typ: 'JWT', kid: 'k'.repeat(1025) }, 'key id longer than 1 kb'],
  ['an algorithm that is none of ours', { typ: 'JWT', alg: 'HS256' }, 'bad signing algorithm "HS256"'],
  ['more than there may be', { typ: 'JWT', crit: 'x' }, 'while parsing header JSON: json: unknown field "crit"'],
];
for (const [what, header, message] of headers) {
  test(`a token whose header has ${what} is not taken`, async () => {
    using opened = await connected();
    opened.script.header = header;
    await assert.rejects(opened.signer.sign(claims), { message: `while validating header: ${message}` });
  });
}

const key = {
  keyId: 'k',
  key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' }),
};
const good = { keys: [key], dataTimestamp: { seconds: 1 }, refreshHintSeconds: 1 };
const answers: readonly (readonly [what: string, answer: ScriptedSigner['answer'], message: RegExp])[] = [
  ['no keys', { ...good, keys: [] }, /found no keys$/],
  ['no time to ask again', { ...good, refreshHintSeconds: 0 }, /found invalid refresh hint \(0s\)$/],
  [
    'no time of the data',
    { ...good, dataTimestamp: undefined },
    /invalid data timestamp: proto: invalid nil Timestamp$/,
  ],
  ['a key without a name', { ...good, keys: [{ ...key, keyId: '' }] }, /found invalid public key id ""$/],
  ['an empty key', { ...good, keys: [{ keyId: 'k' }] }, /found empty public key$/],
  [
    'what is no key',
    { ...good, keys: [{ keyId: 'k', key: Buffer.from('x') }] },
    /while parsing external public keys: /,
  ],
];
for (const [what, answer, message] of answers) {
  test(`a signer that starts with ${what} is not taken`, async () => {
    const connecting = connected((script) => {
      script.answer = answer;
    });
    await assert.rejects(connecting, (error: Error) => {
      assert.match(
        error.message,
        /^while initially filling key cache: while performing initial cache fill: while fetching token verification keys: /,
      );
      assert.match(error.message, message);
      return true;
    });
  });
}

test('a signer that comes later is waited for, a minute at most', async () => {
  const clock = new FakeClock();
  const endpoint = join(folder, 'late.sock');
  const connecting = ExternalTokenSigner.connect({ endpoint, issuers: [issuer], clock, log: silentLog });
  await untilIt(() => clock.pending > 0);
  await Promise.all([
    assert.rejects(connecting, {
      message:
        'while initially filling key cache: while performing initial cache fill: while fetching token verification keys: while getting externally supported jwt signing keys: rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    }),
    clock.advance(60_000),
  ]);
});

test('what is counted has the names and labels of upstream', async () => {
  using opened = await connected();
  const { signer, script } = opened;
  await signer.sign(claims);
  script.failure = 'vault sealed';
  await assert.rejects(signer.sign(claims), {
    message: 'while signing jwt: rpc error: code = Unavailable desc = vault sealed',
  });
  const lines = signer.metrics().split('\n');
  for (const line of [
    'apiserver_externaljwt_fetch_keys_data_timestamp 1700000000',
    `apiserver_externaljwt_fetch_keys_success_timestamp ${Date.UTC(2026, 0, 1) / 1000}`,
    'apiserver_externaljwt_fetch_keys_request_total{code="OK"} 1',
    'apiserver_externaljwt_sign_request_total{code="OK"} 1',
    'apiserver_externaljwt_sign_request_total{code="Unavailable"} 1',
    'apiserver_externaljwt_request_duration_seconds_count{method="/v1.ExternalJWTSigner/Sign",code="OK"} 1',
    'apiserver_externaljwt_request_duration_seconds_bucket{method="/v1.ExternalJWTSigner/FetchKeys",code="OK",le="60"} 1',
  ]) {
    assert.ok(lines.includes(line), line);
  }
});

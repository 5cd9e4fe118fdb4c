/** Tokens of identity providers, real ones over HTTPS: whom they make, and what hostile providers and hostile tokens come to. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { silentLog } from '../../../base/log.ts';
import { FakeClock, settle } from '../../../testing/fake-clock.ts';
import { IdentityStatistics } from '../../metrics/identity-statistics.ts';
import type { JwtConfiguration } from './configuration.ts';
import { JwtAuthenticators } from './jwt-authenticators.ts';
import { type Answer, discoveryPath, keysPath, startProvider, type TestProvider, testKey } from './provider.fixture.ts';
import { signingAlgorithms } from './token-verifier.ts';
import { validateAuthenticationConfiguration } from './validation.ts';

const byName: JwtConfiguration = {
  claimMappings: { username: { claim: 'sub', prefix: '' }, groups: { claim: 'groups', prefix: 'corp:' } },
};

function trusting(provider: TestProvider, configuration: JwtConfiguration = byName, clock = new FakeClock()) {
  const issuer = { url: provider.issuer, certificateAuthority: provider.ca, audiences: ['cluster'] };
  const jwt = [{ ...configuration, issuer: { ...issuer, ...configuration.issuer } }];
  const { errors, mappings } = validateAuthenticationConfiguration({ jwt }, []);
  assert.deepEqual(errors, []);
  const statistics = new IdentityStatistics();
  const options = { algorithms: signingAlgorithms, clock, log: silentLog, statistics: statistics.jwt };
  const authenticators = new JwtAuthenticators(jwt, mappings, options);
  return {
    clock,
    statistics,
    authenticators,
    ready: () => authenticators.ready(),
    ask: async (token: string) => (await authenticators.authenticateToken(token, []))?.user,
    [Symbol.dispose]: () => authenticators.close(),
  };
}

describe('A token of an identity provider', () => {
  for (const alg of ['RS256', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384']) {
    it(`names a user, signed with ${alg}`, async () => {
      await using provider = await startProvider(testKey('a', alg));
      using trust = trusting(provider);
      await trust.ready();
      const token = await provider.sign({ sub: 'alice', groups: ['dev'], jti: 'j1' });
      assert.deepEqual(await trust.ask(token), {
        name: 'alice',
        groups: ['corp:dev'],
        extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j1'] },
      });
      assert.match(trust.statistics.families().join(''), /jwt_authenticator_latency_seconds_count\{result="success"/);
    });
  }

  it('is nobody’s business when it comes from elsewhere', async () => {
    await using provider = await startProvider(testKey('a'));
    using trust = trusting(provider);
    await trust.ready();
    assert.equal(await trust.ask(await provider.sign({ iss: 'https://other.example', sub: 'x' })), undefined);
    assert.equal(await trust.ask('opaque'), undefined);
  });

  it('is refused while the provider cannot be found, and good once it can', async () => {
    await using provider = await startProvider(testKey('a'));
    provider.spoiled.set(discoveryPath, (_request, response) => response.writeHead(503).end('later'));
    using trust = trusting(provider);
    const token = await provider.sign({ sub: 'alice' });
    await assert.rejects(trust.ask(token), { message: 'oidc: authenticator not initialized' });
    while (!/503/.test(trust.authenticators.problem ?? '')) await settle();
    provider.spoiled.clear();
    await trust.clock.advance(10_000);
    await trust.ready();
    assert.equal(trust.authenticators.problem, undefined);
    assert.equal((await trust.ask(token))?.name, 'alice');
  });

  it('may be signed with a key that came after the server looked', async () => {
    const [first, second] = [testKey('a'), testKey('b')];
    await using provider = await startProvider(first);
    using trust = trusting(provider);
    await trust.ready();
    await trust.ask(await provider.sign({ sub: 'alice' }));
    provider.keys = [second];
    await trust.clock.advance(5000);
    assert.equal((await trust.ask(await provider.sign({ sub: 'bob' }, { key: second })))?.name, 'bob');
    await trust.clock.advance(5000);
    await assert.rejects(trust.ask(await provider.sign({ sub: 'alice' }, { key: first })), {
      message: 'oidc: verify token: failed to verify signature: failed to verify id token signature',
    });
    assert.equal(provider.asked.get(keysPath), 3);
  });

  it('of unknown keys, be they ever so many, asks the provider once for all', async () => {
    await using provider = await startProvider(testKey('a'));
    using trust = trusting(provider);
    await trust.ready();
    await trust.ask(await provider.sign({ sub: 'alice' }));
    await trust.clock.advance(5000);
    const storm = Array.from({ length: 200 }, async (_, i) =>
      trust.ask(await provider.sign({ sub: 'x' }, { kid: `k${i}` })),
    );
    const settled = await Promise.allSettled(storm);
    assert.ok(settled.every(({ status }) => status === 'rejected'));
    assert.equal(provider.asked.get(keysPath), 2);
  });

  it('does not make the provider be asked while its word on its keys holds', async () => {
    await using provider = await startProvider(testKey('a'));
    provider.cacheControl = 'public, max-age=3600';
    using trust = trusting(provider);
    await trust.ready();
    await trust.ask(await provider.sign({ sub: 'alice' }));
    await trust.clock.advance(60_000);
    await assert.rejects(trust.ask(await provider.sign({ sub: 'x' }, { kid: 'unknown' })), /failed to verify/);
    assert.equal(provider.asked.get(keysPath), 1);
  });
});

describe('A token is refused', () => {
  const now = new FakeClock().now() / 1000;
  const cases = [
    { name: 'when it is over', claims: { exp: now - 1 }, message: /oidc: token is expired \(Token Expiry: / },
    { name: 'when it begins later', claims: { nbf: now + 120 }, message: /before the nbf \(not before\) time/ },
    {
      name: 'when it is for somebody else',
      claims: { aud: ['vault'] },
      message: /expected audience "cluster" got \["vault"\]/,
    },
    {
      name: 'when it names no user',
      claims: { sub: undefined },
      message: /parse username claims "sub": claim not present/,
    },
    {
      name: 'when its user is a number',
      claims: { sub: 7 },
      message: /cannot unmarshal number into Go value of type string/,
    },
    { name: 'when its groups are no texts', claims: { groups: [1] }, message: /parse groups claim "groups"/ },
  ];
  for (const { name, claims, message } of cases) {
    it(name, async () => {
      await using provider = await startProvider(testKey('a'));
      using trust = trusting(provider);
      await trust.ready();
      await assert.rejects(trust.ask(await provider.sign({ sub: 'alice', ...claims })), message);
    });
  }

  it('never for a clock that is a little ahead', async () => {
    await using provider = await startProvider(testKey('a'));
    using trust = trusting(provider);
    await trust.ready();
    assert.equal((await trust.ask(await provider.sign({ sub: 'alice', nbf: now + 30 })))?.name, 'alice');
  });

  it('when it is not signed, signed with the public key, or its signature is another’s', async () => {
    const key = testKey('a', 'RS256');
    await using provider = await startProvider(key);
    using trust = trusting(provider);
    await trust.ready();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const payload = part({ iss: provider.issuer, aud: 'cluster', exp: 4_102_444_800, sub: 'admin' });
    await assert.rejects(
      trust.ask(`${part({ alg: 'none' })}.${payload}.`),
      /unsupported algorithm, expected .* got "none"/,
    );
    const input = `${part({ alg: 'HS256', kid: 'a' })}.${payload}`;
    const secret = key.publicKey.export({ type: 'spki', format: 'pem' });
    const mac = createHmac('sha256', secret).update(input).digest('base64url');
    await assert.rejects(trust.ask(`${input}.${mac}`), /got "HS256"/);
    const other = await provider.sign({ sub: 'admin' }, { key: testKey('a', 'RS256') });
    await trust.clock.advance(5000);
    await assert.rejects(trust.ask(other), /failed to verify id token signature/);
    const good = await provider.sign({ sub: 'alice' });
    const [header, , signature] = good.split('.');
    await trust.clock.advance(5000);
    await assert.rejects(trust.ask(`${header}.${payload}.${signature}`), /failed to verify id token signature/);
  });
});

describe('A hostile provider', () => {
  const cases: readonly { readonly name: string; readonly answer: Answer; readonly problem: RegExp }[] = [
    {
      name: 'that sends no JSON',
      answer: (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      problem: /expected Content-Type = application\/json, got "text\/html"$/,
    },
    {
      name: 'that never ends',
      answer: (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const chunk = 'x'.repeat(64 * 1024);
        const pour = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', pour);
        pour();
      },
      problem: /the answer is longer than 1048576 bytes$/,
    },
    {
      name: 'that leads round in circles',
      answer: (_request, response) => response.writeHead(302, { location: discoveryPath }).end(),
      problem: /stopped after 10 redirects$/,
    },
    {
      name: 'that leads to a place without TLS',
      answer: (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      problem: /"http" is not https$/,
    },
    { name: 'that hangs up', answer: (request) => request.socket.destroy(), problem: /: EOF$/ },
    {
      name: 'that says it is another',
      answer: (_request, response) =>
        response.writeHead(200).end('{"issuer":"https://other.example","jwks_uri":"https://other.example/keys"}'),
      problem: /issuer did not match the issuer returned by provider, expected ".*" got "https:\/\/other\.example"$/,
    },
    {
      name: 'that shows its keys without TLS',
      answer: (request, response) =>
        response.writeHead(200).end(`{"issuer":"https://${request.headers.host}","jwks_uri":"http://127.0.0.1/keys"}`),
      problem: /JWKS URL "http:\/\/127\.0\.0\.1\/keys" is not https$/,
    },
  ];
  const looked = async ({ authenticators }: ReturnType<typeof trusting>) => {
    while (/is not initialized$/.test(authenticators.problem ?? '')) await settle();
  };
  for (const { name, answer, problem } of cases) {
    it(`${name} is not found, and the server goes on`, async () => {
      await using provider = await startProvider(testKey('a'));
      provider.spoiled.set(discoveryPath, answer);
      using trust = trusting(provider);
      await looked(trust);
      assert.match(trust.authenticators.problem!, problem);
      await assert.rejects(trust.ask(await provider.sign({ sub: 'alice' })), /not initialized/);
    });
  }

  it('that says nothing is waited for half a minute', async () => {
    await using provider = await startProvider(testKey('a'));
    provider.spoiled.set(discoveryPath, () => undefined);
    using trust = trusting(provider);
    while (provider.asked.get(discoveryPath) !== 1) await settle();
    await trust.clock.advance(30_000);
    await looked(trust);
    assert.match(trust.authenticators.problem!, /context deadline exceeded$/);
  });

  it('that shows keys of other kinds gets only the good ones used', async () => {
    const key = testKey('a');
    await using provider = await startProvider(key);
    const odd = [
      null,
      7,
      {},
      { kty: 'oct', k: 'c2VjcmV0', kid: 'a' },
      { kty: 'RSA', n: '!', e: 1, kid: 'a' },
      { kty: 'EC', kid: 'a' },
    ];
    const good = { ...key.publicKey.export({ format: 'jwk' }), kid: 'a' };
    provider.spoiled.set(keysPath, (_request, response) =>
      response.writeHead(200).end(JSON.stringify({ keys: [...odd, good] })),
    );
    using trust = trusting(provider);
    await trust.ready();
    assert.equal((await trust.ask(await provider.sign({ sub: 'alice' })))?.name, 'alice');
  });
});

describe('Claims', () => {
  it('become users by expressions, and rules refuse them', async () => {
    await using provider = await startProvider(testKey('a'));
    using trust = trusting(provider, {
      claimMappings: {
        username: { expression: 'claims.email_verified ? claims.email : "nobody"' },
        groups: { expression: 'claims.roles.split(",")' },
        uid: { expression: 'claims["example.org/id"]' },
        extra: [{ key: 'example.org/team', valueExpression: 'claims.?team.orValue("")' }],
      },
      claimValidationRules: [
        { claim: 'hd', requiredValue: 'example.org' },
        { expression: 'claims.exp - claims.iat <= 3600', message: 'an hour at most' },
      ],
      userValidationRules: [{ expression: "!user.username.startsWith('system:')", message: 'reserved' }],
    });
    await trust.ready();
    const now = trust.clock.now() / 1000;
    const claims = {
      email: 'a@example.org',
      email_verified: true,
      roles: 'x,y',
      'example.org/id': 'u7',
      team: 'red',
      hd: 'example.org',
      iat: now,
      exp: now + 3600,
    };
    assert.deepEqual(await trust.ask(await provider.sign(claims)), {
      name: 'a@example.org',
      uid: 'u7',
      groups: ['x', 'y'],
      extra: { 'example.org/team': ['red'] },
    });
    await assert.rejects(trust.ask(await provider.sign({ ...claims, hd: 'other' })), {
      message: 'oidc: required claim hd value does not match. Got = other, want = example.org',
    });
    await assert.rejects(trust.ask(await provider.sign({ ...claims, exp: now + 7200 })), {
      message:
        "oidc: error evaluating claim validation expression: validation expression 'claims.exp - claims.iat <= 3600' failed: an hour at most",
    });
    await assert.rejects(trust.ask(await provider.sign({ ...claims, email: 'system:admin' })), /failed: reserved$/);
    await assert.rejects(trust.ask(await provider.sign({ ...claims, roles: undefined })), {
      message:
        'oidc: error evaluating group claim expression: expression \'claims.roles.split(",")\' resulted in error: no such key: roles',
    });
  });

  it('that nobody has verified make no user', async () => {
    await using provider = await startProvider(testKey('a'));
    using trust = trusting(provider, { claimMappings: { username: { claim: 'email', prefix: '' } } });
    await trust.ready();
    const email = 'a@example.org';
    assert.equal((await trust.ask(await provider.sign({ email })))?.name, email);
    await assert.rejects(trust.ask(await provider.sign({ email, email_verified: false })), {
      message: 'oidc: email not verified',
    });
  });

  it('that lie elsewhere are fetched as tokens of their own', async () => {
    await using provider = await startProvider(testKey('a'));
    using trust = trusting(provider);
    await trust.ready();
    const groups = await provider.sign({ groups: ['dev'] });
    provider.spoiled.set('/groups', (request, response) => {
      const allowed = request.headers.authorization === 'Bearer secret';
      response.writeHead(allowed ? 200 : 403).end(groups);
    });
    const pointing = (access_token: string) =>
      provider.sign({
        sub: 'alice',
        _claim_names: { groups: 'src1' },
        _claim_sources: { src1: { endpoint: `${provider.issuer}/groups`, access_token } },
      });
    assert.deepEqual((await trust.ask(await pointing('secret')))?.groups, ['corp:dev']);
    await assert.rejects(trust.ask(await pointing('wrong')), {
      message:
        'oidc: could not expand distributed claims: while getting distributed claim "groups": error while getting distributed claim JWT: 403 Forbidden',
    });
  });
});

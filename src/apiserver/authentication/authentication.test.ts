import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes, type Pod, pods, secrets, serviceAccounts } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../pki/authority.ts';
import { parseCertificates } from '../../pki/certificate.ts';
import { encodePrivateKey, keysFrom } from '../../pki/keys.ts';
import { boundTokenClaims, legacyTokenClaims } from '../../pki/service-account-token.ts';
import { createTokenSigner, legacyIssuer } from '../../pki/token-signer.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { MemoryInformers } from '../../testing/memory-informers.ts';
import { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { ApiRequest } from '../request.ts';
import { type AuthenticationOptions, createAuthentication } from './authentication.ts';
import type { AuthenticationResult } from './authenticator.ts';
import { cachedTokens } from './token-authenticator.ts';

const issuer = 'https://kubernetes.default.svc';

function setUp(options: Partial<AuthenticationOptions> = {}) {
  const clock = new FakeClock(Date.UTC(2026, 4, 1));
  const api = new MemoryApi();
  const informers = new MemoryInformers(api);
  const random = seededRandom(1);
  const keys = keysFrom(random);
  const signingKeyPem = encodePrivateKey(keys.generate());
  const tokenSigner = createTokenSigner({ clock, issuers: [issuer, legacyIssuer], signingKeyPem });
  const ca = createCertificateAuthority({ commonName: 'ca' }, { clock, random, keys });
  const authentication = createAuthentication({
    client: api.client,
    informers,
    clock,
    log: silentLog,
    clientCa: () => ca.certificatePem,
    tokenSigner,
    issuers: [issuer],
    apiAudiences: [issuer],
    bootstrapTokens: true,
    tokenFile: '# comment\nstatic-token,carol,42,"ops,dev"\nplain-token,dave,43\n',
    ...options,
  });
  const certificate = (
    commonName: string,
    organizations: string[],
    usage: 'client auth' | 'server auth' = 'client auth',
    authority = ca,
  ) => {
    const { certificatePem } = issueCertificate(authority, { commonName, organizations, usages: [usage], days: 1 });
    return [parseCertificates(certificatePem)[0]!.bytes];
  };
  const foreign = createCertificateAuthority({ commonName: 'ca' }, { clock, random, keys });
  return { clock, api, informers, random, signingKeyPem, tokenSigner, authentication, certificate, foreign, ca };
}

function requestOf(parts: Partial<ApiRequest> = {}): ApiRequest {
  return {
    method: 'GET',
    path: '/api',
    query: new URLSearchParams(),
    headers: {},
    body: { kind: 'none' },
    remoteAddress: '',
    clientCertificates: [],
    signal: new AbortController().signal,
    ...parts,
  };
}

const bearer = (token: string) => requestOf({ headers: { authorization: `Bearer ${token}` } });
const unauthorized = {
  message: 'Unauthorized',
  status: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Unauthorized',
    reason: 'Unauthorized',
    code: 401,
  },
};

describe('Client certificates', () => {
  it('name the user and his groups', async () => {
    const { authentication, certificate } = setUp();
    const { user } = await authentication.authenticate(
      requestOf({ clientCertificates: certificate('alice', ['dev', 'ops']) }),
    );
    assert.deepEqual([user.name, [...user.groups].sort()], ['alice', ['dev', 'ops', 'system:authenticated']]);
    assert.match(user.extra!['authentication.kubernetes.io/credential-id']![0]!, /^X509SHA256=[0-9a-f]{64}$/);
  });

  it('of another authority, though of the same name, are refused', async () => {
    const { authentication, certificate, foreign } = setUp();
    const request = requestOf({ clientCertificates: certificate('alice', [], 'client auth', foreign) });
    await assert.rejects(authentication.authenticate(request), unauthorized);
  });

  it('for servers are refused', async () => {
    const { authentication, certificate } = setUp();
    await assert.rejects(
      authentication.authenticate(requestOf({ clientCertificates: certificate('alice', [], 'server auth') })),
      unauthorized,
    );
  });

  it('expire, also when they were found good before', async () => {
    const { authentication, certificate, clock } = setUp();
    const request = requestOf({ clientCertificates: certificate('alice', []) });
    await authentication.authenticate(request);
    await clock.advance(86_400_001);
    await assert.rejects(authentication.authenticate(request), unauthorized);
  });

  it('that are not good do not spoil a good token', async () => {
    const { authentication, certificate, foreign } = setUp();
    const request = { ...bearer('static-token'), clientCertificates: certificate('x', [], 'client auth', foreign) };
    assert.equal((await authentication.authenticate(request)).user.name, 'carol');
  });
});

describe('Anonymous', () => {
  it('is who shows nothing', async () => {
    const { user } = await setUp().authentication.authenticate(requestOf());
    assert.deepEqual(user, { name: 'system:anonymous', groups: ['system:unauthenticated'] });
  });
  it('is not who shows something wrong', async () =>
    assert.rejects(setUp().authentication.authenticate(bearer('x')), unauthorized));
  it('can be switched off', async () =>
    assert.rejects(setUp({ anonymous: false }).authentication.authenticate(requestOf()), unauthorized));
});

describe('Static tokens', () => {
  it('come from the file', async () => {
    const { user } = await setUp().authentication.authenticate(bearer('static-token'));
    assert.deepEqual(user, { name: 'carol', uid: '42', groups: ['ops', 'dev', 'system:authenticated'] });
    assert.equal((await setUp().authentication.authenticate(bearer('plain-token'))).user.name, 'dave');
  });

  it('can come as a sub-protocol of a WebSocket, and nothing else', async () => {
    const protocol = (token: string) =>
      `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const asked = (upgrade: string, ...protocols: readonly string[]) =>
      setUp().authentication.authenticate(
        requestOf({ headers: { upgrade, 'sec-websocket-protocol': protocols.join(', ') } }),
      );
    const good = protocol('static-token');
    assert.equal((await asked('websocket', 'v5.channel.k8s.io', good)).user.name, 'carol');
    assert.equal((await asked('SPDY/3.1', 'v5.channel.k8s.io', good)).user.name, 'system:anonymous');
    assert.equal((await asked('websocket', 'v5.channel.k8s.io')).user.name, 'system:anonymous');
    for (const protocols of [[good], [good, good, 'a'], [`${good}=`, 'a'], [protocol('nobody'), 'a']]) {
      await assert.rejects(asked('websocket', ...protocols), unauthorized, protocols.join());
    }
  });

  it('need a user', () => assert.throws(() => setUp({ tokenFile: 'token' }), /token file line 1/));
});

describe('Bootstrap tokens', () => {
  const encode = (data: Record<string, string>) =>
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  const good = {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
    'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
    expiration: '2026-05-02T00:00:00Z',
  };
  const cases: readonly {
    readonly name: string;
    readonly data?: Partial<typeof good>;
    readonly token?: string;
    readonly type?: string;
    readonly works?: boolean;
  }[] = [
    { name: 'a good one', works: true },
    { name: 'another secret', token: 'abcdef.0123456789abcdeX'.toLowerCase() },
    { name: 'not for authentication', data: { 'usage-bootstrap-authentication': 'false' } },
    { name: 'expired', data: { expiration: '2026-04-30T00:00:00Z' } },
    { name: 'with an expiration that is no time', data: { expiration: 'soon' } },
    { name: 'with a group of others', data: { 'auth-extra-groups': 'system:masters' } },
    { name: 'of another id', data: { 'token-id': 'aaaaaa' } },
    { name: 'of another type', type: 'Opaque' },
  ];
  for (const {
    name,
    data,
    token = 'abcdef.0123456789abcdef',
    type = 'bootstrap.kubernetes.io/token',
    works,
  } of cases) {
    it(`${name} is ${works ? 'taken' : 'refused'}`, async () => {
      const { authentication, api } = setUp();
      api.put(secrets, {
        metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
        type,
        data: encode({ ...good, ...data }),
      });
      if (!works) return assert.rejects(authentication.authenticate(bearer(token)), unauthorized);
      const { user } = await authentication.authenticate(bearer(token));
      assert.deepEqual(user, {
        name: 'system:bootstrap:abcdef',
        groups: ['system:bootstrappers', 'system:bootstrappers:kubeadm:default-node-token', 'system:authenticated'],
      });
    });
  }
});

describe('Service account tokens', () => {
  const account = { metadata: { name: 'bot', namespace: 'a', uid: 'account-uid' } };
  const pod: Pod = { metadata: { name: 'web', namespace: 'a', uid: 'pod-uid' }, spec: { containers: [] } };
  const bound = {
    namespace: 'a',
    serviceAccount: { name: 'bot', uid: 'account-uid' },
    audiences: [issuer],
    expirationSeconds: 600,
  };

  async function withToken(options: Partial<Parameters<typeof boundTokenClaims>[0]> = {}) {
    const parts = setUp();
    parts.api.put(serviceAccounts, account);
    parts.api.put(pods, pod);
    const token = await parts.tokenSigner.sign(boundTokenClaims({ ...bound, ...options }, parts));
    return { ...parts, request: bearer(token), token };
  }

  it('tell the account, its pod and its node', async () => {
    const { authentication, request } = await withToken({
      pod: { name: 'web', uid: 'pod-uid' },
      node: { name: 'n1', uid: 'node-uid' },
    });
    const { user, audiences } = await authentication.authenticate(request);
    const { 'authentication.kubernetes.io/credential-id': credential, ...extra } = user.extra!;
    assert.match(credential![0]!, /^JTI=/);
    assert.deepEqual(
      { ...user, extra },
      {
        name: 'system:serviceaccount:a:bot',
        uid: 'account-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'],
        extra: {
          'authentication.kubernetes.io/node-name': ['n1'],
          'authentication.kubernetes.io/node-uid': ['node-uid'],
          'authentication.kubernetes.io/pod-name': ['web'],
          'authentication.kubernetes.io/pod-uid': ['pod-uid'],
        },
      },
    );
    assert.deepEqual(audiences, [issuer]);
  });

  it('expire', async () => {
    const { authentication, request, clock } = await withToken();
    await clock.advance(601_000);
    await assert.rejects(authentication.authenticate(request), unauthorized);
  });

  const failing: readonly (readonly [
    string,
    Partial<typeof bound> & Record<string, unknown>,
    (api: MemoryApi) => void,
    string,
  ])[] = [
    [
      'for other audiences',
      { audiences: ['vault'] },
      () => {},
      `token audiences ["vault"] is invalid for the target audiences ["${issuer}"]`,
    ],
    ['of an account that is gone', {}, (api) => api.erase(serviceAccounts, 'a/bot'), 'serviceaccounts "bot" not found'],
    [
      'of an account made anew',
      {},
      (api) => api.put(serviceAccounts, { metadata: { ...account.metadata, uid: 'new' } }),
      'service account UID (new) does not match claim (account-uid)',
    ],
    [
      'of a pod that is gone',
      { pod: { name: 'web', uid: 'pod-uid' } },
      (api) => api.erase(pods, 'a/web'),
      'service account token has been invalidated',
    ],
    [
      'of a pod made anew',
      { pod: { name: 'web', uid: 'old' } },
      () => {},
      'pod UID (pod-uid) does not match service account pod ref claim (old)',
    ],
    [
      'of a pod whose end is past',
      { pod: { name: 'web', uid: 'pod-uid' } },
      (api) => api.put(pods, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-04-30T23:58:00Z' } }),
      'service account token has been invalidated',
    ],
    [
      'of a node that is gone',
      { node: { name: 'n1', uid: 'u' } },
      () => {},
      'service account token has been invalidated',
    ],
    [
      'of a secret that is gone',
      { secret: { name: 's', uid: 'u' } },
      () => {},
      'service account token has been invalidated',
    ],
  ];
  for (const [name, options, change, message] of failing) {
    it(`${name} are refused`, async () => {
      const { authentication, token, api } = await withToken(options);
      change(api);
      await assert.rejects(authentication.tokens.authenticateToken(token, [issuer]), { message });
    });
  }

  it('bound to a node live with it', async () => {
    const { authentication, request, api } = await withToken({ node: { name: 'n1', uid: 'u' } });
    api.put(nodes, { metadata: { name: 'n1', uid: 'u' }, spec: {} });
    assert.equal((await authentication.authenticate(request)).user.name, 'system:serviceaccount:a:bot');
  });

  it('of a pod that the informer does not know yet are good at once', async () => {
    const parts = setUp();
    parts.api.put(serviceAccounts, account);
    parts.informers.lag = true;
    parts.api.put(pods, pod);
    const token = await parts.tokenSigner.sign(
      boundTokenClaims({ ...bound, pod: { name: 'web', uid: 'pod-uid' } }, parts),
    );
    assert.ok(await parts.authentication.authenticate(bearer(token)));
  });

  it('are remembered for ten seconds', async () => {
    const { authentication, request, api, clock } = await withToken();
    await authentication.authenticate(request);
    api.erase(serviceAccounts, 'a/bot');
    await authentication.authenticate(request);
    await clock.advance(10_001);
    await assert.rejects(authentication.authenticate(request), unauthorized);
  });

  it('signed by somebody else are refused', async () => {
    const { authentication, clock, random, api } = setUp();
    api.put(serviceAccounts, account);
    const signingKeyPem = encodePrivateKey(keysFrom(seededRandom(9)).generate());
    const forged = await createTokenSigner({ clock, issuers: [issuer], signingKeyPem }).sign(
      boundTokenClaims(bound, { clock, random }),
    );
    await assert.rejects(authentication.authenticate(bearer(forged)), unauthorized);
  });

  it('kept in a secret live as long as the secret', async () => {
    const { authentication, api, clock, signingKeyPem } = setUp();
    api.put(serviceAccounts, account);
    const legacy = createTokenSigner({ clock, issuers: [legacyIssuer], signingKeyPem });
    const token = await legacy.sign(
      legacyTokenClaims({ namespace: 'a', serviceAccount: bound.serviceAccount, secretName: 's' }),
    );
    const ask = () => authentication.tokens.authenticateToken(token, [issuer]);
    await assert.rejects(ask(), { message: 'Token has been invalidated' });
    const stored = (content: string, labels = {}) =>
      api.put(secrets, {
        metadata: { name: 's', namespace: 'a', labels },
        data: { token: Buffer.from(content).toString('base64') },
      });
    stored('other');
    await assert.rejects(ask(), { message: "Token does not match server's copy" });
    stored(token, { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' });
    await assert.rejects(ask(), /has been marked invalid\. Use tokens from the TokenRequest API/);
    stored(token);
    const found = await ask();
    assert.equal(found?.user.name, 'system:serviceaccount:a:bot');
    assert.deepEqual(found.annotations, { 'authentication.k8s.io/legacy-token-manual-secret': 's' });
    const noted = api.find(secrets, 'a/s')!.metadata.labels!;
    assert.equal(noted['kubernetes.io/legacy-token-last-used'], '2026-05-01');
  });

  it('kept in a secret that the account names are warned of', async () => {
    const { authentication, api, clock, signingKeyPem } = setUp();
    api.put(serviceAccounts, { ...account, secrets: [{ name: 's' }] });
    const token = await createTokenSigner({ clock, issuers: [legacyIssuer], signingKeyPem }).sign(
      legacyTokenClaims({ namespace: 'a', serviceAccount: bound.serviceAccount, secretName: 's' }),
    );
    api.put(secrets, {
      metadata: { name: 's', namespace: 'a' },
      data: { token: Buffer.from(token).toString('base64') },
    });
    const found = await authentication.tokens.authenticateToken(token, [issuer]);
    assert.deepEqual(found?.annotations, { 'authentication.k8s.io/legacy-token-autogenerated-secret': 's' });
    assert.match(found.warnings![0]!, /^Use tokens from the TokenRequest API .* instead of auto-generated/);
  });

  it('kept in a secret hold by their signature alone where nothing is looked up', async () => {
    const { authentication, clock, signingKeyPem } = setUp({ serviceAccountLookup: false });
    const token = await createTokenSigner({ clock, issuers: [legacyIssuer], signingKeyPem }).sign(
      legacyTokenClaims({ namespace: 'a', serviceAccount: bound.serviceAccount, secretName: 's' }),
    );
    const found = await authentication.tokens.authenticateToken(token, [issuer]);
    assert.equal(found?.user.name, 'system:serviceaccount:a:bot');
  });
});

describe('Tokens without audience', () => {
  it('are for the API server and for nobody else', async () => {
    const { authentication } = setUp();
    const ask = (...audiences: string[]) => authentication.tokens.authenticateToken('static-token', audiences);
    assert.deepEqual((await ask(issuer, 'vault'))?.audiences, [issuer]);
    assert.equal(await ask('vault'), undefined);
  });
});

describe('Anonymous access', () => {
  it('can be confined to some paths', async () => {
    const { authentication } = setUp({ anonymous: { paths: ['/livez'] } });
    const { user } = await authentication.authenticate(requestOf({ path: '/livez' }));
    assert.equal(user.name, 'system:anonymous');
    await assert.rejects(authentication.authenticate(requestOf({ path: '/livez/' })), unauthorized);
    await assert.rejects(authentication.authenticate(requestOf({ path: '/api' })), unauthorized);
  });
});

describe('The memory of tokens', () => {
  it('asks once for all who show the same token at the same time, and never keeps a failure', async () => {
    const clock = new FakeClock();
    const answers: ((result: AuthenticationResult | undefined) => void)[] = [];
    const { tokenCache } = new IdentityStatistics();
    const cached = cachedTokens(
      { name: 'Slow', authenticateToken: () => new Promise((resolve) => answers.push(resolve)) },
      { clock, successTtlMs: 10_000, failureTtlMs: 1000, statistics: tokenCache },
    );
    const ask = () => cached.authenticateToken('t', ['a']);
    const all = [ask(), ask(), ask()];
    assert.equal(answers.length, 1);
    answers[0]!({ user: { name: 'u', groups: [] } });
    assert.deepEqual(new Set((await Promise.all(all)).map((result) => result?.user.name)), new Set(['u']));
    assert.equal((await ask())?.user.name, 'u');
    await clock.advance(10_000);
    const later = ask();
    assert.equal(answers.length, 2);
    answers[1]!(undefined);
    assert.equal(await later, undefined);
    assert.equal(await ask(), undefined);
    assert.equal(answers.length, 2);
    await clock.advance(1000);
    void ask();
    assert.equal(answers.length, 3);
  });
});

describe('Front proxy', () => {
  const proxy = (allowedNames: string[]) => {
    const other = setUp();
    const requestHeader = {
      ca: () => other.foreign.certificatePem,
      allowedNames,
      usernameHeaders: ['X-Remote-User'],
      uidHeaders: [],
      groupHeaders: ['X-Remote-Group'],
      extraHeaderPrefixes: ['X-Remote-Extra-'],
    };
    const headers = { 'x-remote-user': 'erin', 'x-remote-group': 'a, b', 'x-remote-extra-acme.com%2fproject': 'p' };
    const clientCertificates = other.certificate('front-proxy', [], 'client auth', other.foreign);
    return {
      authentication: setUp({ requestHeader }).authentication,
      request: requestOf({ headers, clientCertificates }),
    };
  };

  it('tells who is asking', async () => {
    const { authentication, request } = proxy(['front-proxy']);
    const { user } = await authentication.authenticate(request);
    assert.deepEqual(user, {
      name: 'erin',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'acme.com/project': ['p'] },
    });
  });

  it('must have an allowed name', async () => {
    const { authentication, request } = proxy(['other']);
    await assert.rejects(authentication.authenticate(request), unauthorized);
  });
});

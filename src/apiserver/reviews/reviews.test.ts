import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes, pods, serviceAccounts } from '../../api/gen/core-v1.ts';
import { clusterRoleBindings, clusterRoles } from '../../api/gen/rbac-v1.ts';
import { errorText } from '../../apimachinery/field-error.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { encodePrivateKey, keysFrom } from '../../pki/keys.ts';
import { createTokenSigner } from '../../pki/token-signer.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { MemoryInformers } from '../../testing/memory-informers.ts';
import { AdmissionChain } from '../admission/chain.ts';
import { createAuthentication } from '../authentication/authentication.ts';
import { chainOf, createAuthorization } from '../authorization/authorization.ts';
import type { ApiRequest, RequestInfo, UserInfo } from '../request.ts';
import { readSelectors, selectorErrors } from './access-selectors.ts';
import { reviewHandlers } from './reviews.ts';

const issuer = 'https://kubernetes.default.svc';
const alice: UserInfo = { name: 'alice', uid: 'alice-uid', groups: ['system:authenticated'] };

function setUp(options: { readonly maxExpirationSeconds?: number } = {}) {
  const clock = new FakeClock(Date.UTC(2026, 4, 1));
  const api = new MemoryApi();
  const { client } = api;
  const informers = new MemoryInformers(api);
  api.put(clusterRoles, {
    metadata: { name: 'r' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  });
  api.put(clusterRoleBindings, {
    metadata: { name: 'b' },
    roleRef: { kind: 'ClusterRole', name: 'r' },
    subjects: [{ kind: 'User', name: 'alice' }],
  });
  api.put(serviceAccounts, { metadata: { name: 'bot', namespace: 'a', uid: 'account-uid' } });
  api.put(pods, {
    metadata: { name: 'web', namespace: 'a', uid: 'pod-uid' },
    spec: { containers: [], serviceAccountName: 'bot', nodeName: 'n1' },
  });
  api.put(nodes, { metadata: { name: 'n1', uid: 'node-uid' }, spec: {} });
  const chain = chainOf(['RBAC']);
  const { authorizer, userRules } = createAuthorization({ chain: () => chain, informers });
  const random = seededRandom(1);
  const signer = createTokenSigner({
    clock,
    issuers: [issuer],
    signingKeyPem: encodePrivateKey(keysFrom(random).generate()),
  });
  const authentication = createAuthentication({
    client,
    informers,
    clock,
    log: silentLog,
    issuers: [issuer],
    apiAudiences: [issuer],
    tokenSigner: signer,
  });
  const admission = () => new AdmissionChain([]);
  const handlers = reviewHandlers({
    authorizer,
    userRules,
    authentication,
    admission,
    clock,
    tokenRequest: { client, random, signer, apiAudiences: [issuer], ...options },
  });
  const post = async (key: string, value: object, at: Partial<RequestInfo> = {}) => {
    const request: ApiRequest = {
      method: 'POST',
      path: '',
      query: new URLSearchParams(),
      headers: { 'content-type': 'application/json' },
      body: { kind: 'bytes', read: async () => Buffer.from(JSON.stringify(value)) },
      remoteAddress: '',
      clientCertificates: [],
      user: alice,
      signal: new AbortController().signal,
    };
    const [group = '', version = '', resource = '', subresource = ''] = key.split('/');
    const info = {
      isResource: true,
      verb: 'create',
      path: '',
      group,
      version,
      namespace: '',
      resource,
      subresource,
      name: '',
      rest: [],
      ...at,
    };
    const response = await handlers.get(key)!(request, info);
    assert.equal(response.status, 201);
    assert.equal(response.body.kind, 'object');
    const object = (response.body as { object: unknown }).object as Record<string, unknown> & {
      status: Record<string, unknown>;
    };
    return { object, status: object.status, headers: response.headers };
  };
  return { clock, api, signer, post };
}

const sar = 'authorization.k8s.io/v1/subjectaccessreviews';
const selfSar = 'authorization.k8s.io/v1/selfsubjectaccessreviews';
const localSar = 'authorization.k8s.io/v1/localsubjectaccessreviews';

describe('Access reviews', () => {
  it('say yes, and why', async () => {
    const { post } = setUp();
    const { object, status } = await post(selfSar, { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } });
    assert.deepEqual([object.kind, object.apiVersion], ['SelfSubjectAccessReview', 'authorization.k8s.io/v1']);
    assert.deepEqual(status, {
      allowed: true,
      reason: 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "alice"',
    });
  });

  it('say no', async () => {
    const { post } = setUp();
    assert.deepEqual(
      (await post(selfSar, { spec: { nonResourceAttributes: { verb: 'get', path: '/logs' } } })).status,
      { allowed: false },
    );
  });

  it('ask about others', async () => {
    const { post } = setUp();
    const resourceAttributes = { verb: 'get', resource: 'pods' };
    assert.equal((await post(sar, { spec: { user: 'alice', resourceAttributes } })).status.allowed, true);
    assert.equal((await post(sar, { spec: { user: 'bob', resourceAttributes } })).status.allowed, false);
    assert.equal(
      (await post(sar, { spec: { user: 'bob', groups: ['system:masters'], resourceAttributes } })).status.allowed,
      true,
    );
  });

  it('tell of selectors that cannot be read', async () => {
    const { post } = setUp();
    const resourceAttributes = { verb: 'get', resource: 'pods', fieldSelector: { rawSelector: 'a=b=c' } };
    const { evaluationError } = (await post(selfSar, { spec: { resourceAttributes } })).status;
    assert.equal(evaluationError, 'spec.resourceAttributes.fieldSelector ignored due to parse error');
  });

  it('take selectors as requirements, and leave out what they do not understand', async () => {
    const { post } = setUp();
    const requirements = [
      { key: 'app', operator: 'In', values: ['a', 'b'] },
      { key: 'x', operator: 'Near', values: ['y'] },
      { key: 'app', operator: 'In', values: ['a),!b'] },
    ];
    const resourceAttributes = { verb: 'get', resource: 'pods', labelSelector: { requirements } };
    const { evaluationError } = (await post(selfSar, { spec: { resourceAttributes } })).status;
    assert.equal(evaluationError, 'spec.resourceAttributes.labelSelector partially ignored due to parse error');
    assert.equal(readSelectors(resourceAttributes).labelSelector, 'app in (a,b)');
  });

  it('refuse selectors that say nothing, or the same thing twice', () => {
    const errors = selectorErrors({
      fieldSelector: {},
      labelSelector: { rawSelector: 'a', requirements: [{ key: 'a', operator: 'In' }] },
    });
    assert.deepEqual(errors.map(errorText), [
      'spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
      'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements',
      "spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ]);
  });

  const refusals: readonly (readonly [string, string, object, string, Partial<RequestInfo>?])[] = [
    [
      'nothing asked',
      selfSar,
      { spec: {} },
      '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      'nobody asked about',
      sar,
      { spec: { resourceAttributes: { verb: 'get' } } },
      '.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    [
      'another namespace',
      localSar,
      { spec: { user: 'x', resourceAttributes: { namespace: 'b' } } },
      '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
      { namespace: 'a' },
    ],
  ];
  for (const [name, key, body, message, at] of refusals) {
    it(`refuse ${name}`, async () => assert.rejects(setUp().post(key, body, at), { message }));
  }

  it('tell who has written the question', async () => {
    const { post } = setUp();
    const spec = { resourceAttributes: { verb: 'get' }, user: 'bob' };
    const { object } = await post(sar, { spec });
    const [owner] = (object.metadata as { managedFields: readonly Record<string, unknown>[] }).managedFields;
    assert.deepEqual([owner?.manager, owner?.apiVersion], ['unknown', 'authorization.k8s.io/v1']);
    assert.deepEqual(owner?.fieldsV1, {
      'f:spec': { 'f:resourceAttributes': { '.': {}, 'f:verb': {} }, 'f:user': {} },
    });
  });

  it('list what one may do', async () => {
    const { post } = setUp();
    const { status } = await post('authorization.k8s.io/v1/selfsubjectrulesreviews', { spec: { namespace: 'a' } });
    assert.deepEqual(JSON.parse(JSON.stringify(status)), {
      resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
      nonResourceRules: [],
      incomplete: false,
    });
  });
});

describe('Identity reviews', () => {
  it('tell who one is', async () => {
    const { post } = setUp();
    const { status } = await post('authentication.k8s.io/v1/selfsubjectreviews', {});
    assert.deepEqual(status, { userInfo: { username: 'alice', uid: 'alice-uid', groups: ['system:authenticated'] } });
  });

  it('tell whose a token is, for which audience', async () => {
    const { post } = setUp();
    const { status: made } = await post(
      '/v1/serviceaccounts/token',
      { spec: { audiences: ['vault', issuer] } },
      { namespace: 'a', name: 'bot' },
    );
    const review = (spec: object) =>
      post('authentication.k8s.io/v1/tokenreviews', { spec: { token: made.token, ...spec } });
    const { status } = await review({ audiences: ['vault', 'x'] });
    assert.deepEqual(
      [status.authenticated, (status.user as { username: string }).username, status.audiences],
      [true, 'system:serviceaccount:a:bot', ['vault']],
    );
    assert.deepEqual((await review({ audiences: ['x'] })).status, {
      error: `token audiences ["vault" "${issuer}"] is invalid for the target audiences ["x"]`,
    });
    assert.deepEqual((await post('authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } })).status, {
      error: 'invalid bearer token',
    });
    await assert.rejects(post('authentication.k8s.io/v1/tokenreviews', { spec: { token: '' } }), {
      message: 'token is required for TokenReview in authentication',
    });
  });
});

describe('TokenRequest', () => {
  const at = { namespace: 'a', name: 'bot' };
  const bound = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'pod-uid' };
  const ask = (parts: ReturnType<typeof setUp>, spec: object, metadata: object = {}) =>
    parts.post('/v1/serviceaccounts/token', { metadata, spec }, at);

  it('gives a token for an hour unless asked otherwise', async () => {
    const parts = setUp();
    const { status, object } = await ask(parts, {});
    assert.equal(status.expirationTimestamp, '2026-05-01T01:00:00Z');
    assert.deepEqual((object.spec as { audiences: unknown }).audiences, [issuer]);
    const claims = await parts.signer.verify(status.token as string);
    assert.deepEqual(
      [claims.aud, claims.exp! - claims.iat!, claims.sub],
      [[issuer], 3600, 'system:serviceaccount:a:bot'],
    );
  });

  it("binds it to a pod, and tells the pod's node", async () => {
    const parts = setUp();
    const claims = await parts.signer.verify((await ask(parts, { boundObjectRef: bound })).status.token as string);
    assert.deepEqual(claims['kubernetes.io'], {
      namespace: 'a',
      node: { name: 'n1', uid: 'node-uid' },
      pod: { name: 'web', uid: 'pod-uid' },
      serviceaccount: { name: 'bot', uid: 'account-uid' },
    });
  });

  it("lets a pod's default token live on, and marks when it should have gone", async () => {
    const parts = setUp();
    const { status } = await ask(parts, { boundObjectRef: bound, expirationSeconds: 3607 });
    const claims = await parts.signer.verify(status.token as string);
    assert.deepEqual(
      [claims.exp! - claims.iat!, claims['kubernetes.io']!.warnafter! - claims.iat!],
      [31_536_000, 3607],
    );
    assert.equal(status.expirationTimestamp, '2026-05-01T01:00:07Z');
  });

  it('shortens what is too long, with a warning', async () => {
    const parts = setUp({ maxExpirationSeconds: 1000 });
    const { status, headers } = await ask(parts, { expirationSeconds: 2000 });
    assert.equal(status.expirationTimestamp, '2026-05-01T00:16:40Z');
    assert.equal(headers.warning, '299 - "requested expiration of 2000 seconds shortened to 1000 seconds"');
  });

  const refusals: readonly (readonly [string, object, object, string])[] = [
    [
      'less than ten minutes',
      { expirationSeconds: 599 },
      {},
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    [
      'a name that is another',
      {},
      { name: 'x' },
      'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      'an account of another uid',
      {},
      { uid: 'x' },
      'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID in the token request (x) does not match the UID of the service account (account-uid)',
    ],
    [
      'a pod of another uid',
      { boundObjectRef: { ...bound, uid: 'x' } },
      {},
      'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
    ],
    [
      'an object of another kind',
      { boundObjectRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' } },
      {},
      'cannot bind token to object of type /v1, Kind=ConfigMap',
    ],
  ];
  for (const [name, spec, metadata, message] of refusals) {
    it(`refuses ${name}`, async () => assert.rejects(ask(setUp(), spec, metadata), { message }));
  }

  it('refuses a pod of another account', async () => {
    const parts = setUp();
    parts.api.put(pods, {
      metadata: { name: 'web', namespace: 'a', uid: 'pod-uid' },
      spec: { containers: [], serviceAccountName: 'x' },
    });
    await assert.rejects(ask(parts, { boundObjectRef: bound }), {
      message: 'cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.',
    });
  });
});

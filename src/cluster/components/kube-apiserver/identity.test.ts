/** Who may come in and what they may do, as flags and files say it, at a whole API server over HTTPS. */
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { startProvider, testKey } from '../../../apiserver/authentication/oidc/provider.fixture.ts';
import { flags } from '../../../apiserver/gen/flags.ts';
import { startWebhookServer, type WebhookServer } from '../../../apiserver/webhook-client/webhook-server.fixture.ts';
import { systemClock } from '../../../base/clock.ts';
import { silentLog } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { createHttpTransport } from '../../../client/http-transport.ts';
import { createCertificateAuthority, issueCertificate } from '../../../pki/authority.ts';
import { encodePrivateKey, systemKeys } from '../../../pki/keys.ts';
import { createTokenSigner } from '../../../pki/token-signer.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { memoryStore } from '../../../storage/memory/memory-store.ts';
import { FakeClock, settle } from '../../../testing/fake-clock.ts';
import { startApiServer } from '../../control-plane/api-server.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { GivenFlags } from '../flags/given-flags.ts';
import { identityFrom } from './identity.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-identity-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const issuer = 'https://kubernetes.default.svc';
const trustOf = { issuers: [issuer], apiAudiences: [issuer] };
const given = (...words: string[]) => new GivenFlags(parseFlags(flags, words));
const environment = (clock = systemClock as ComponentEnvironment['clock']) =>
  ({ clock, random: systemRandom, log: silentLog }) as ComponentEnvironment;

function file(name: string, value: object | string): string {
  const path = join(folder, name);
  // As editors and volumes do it: a reader sees the old file or the new one.
  writeFileSync(`${path}.new`, typeof value === 'string' ? value : JSON.stringify(value));
  renameSync(`${path}.new`, path);
  return path;
}

const kubeconfigOf = (name: string, { url, caBundle }: WebhookServer) =>
  file(name, {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'w', cluster: { server: url, 'certificate-authority-data': caBundle } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'c', context: { cluster: 'w', user: 'u' } }],
    'current-context': 'c',
  });

/** A server over HTTPS with these flags; `get` answers with the code and the body. */
async function serve(...words: string[]) {
  const identity = await identityFrom(given(...words), trustOf, environment());
  const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'ca' }, sources);
  const serving = issueCertificate(authority, { commonName: 'x', ipAddresses: ['127.0.0.1'], usages: ['server auth'] });
  const signingKeyPem = encodePrivateKey(systemKeys.generate());
  const store = memoryStore<KubeObject>({ clock: systemClock });
  const server = await startApiServer({
    ...identity.settings,
    store: { kind: 'objects', store },
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    listen: [{ host: '127.0.0.1', port: 0 }],
    serviceCidrs: ['10.0.0.0/24'],
    trust: {
      clientCaPem: authority.certificatePem,
      serving,
      issuers: [issuer],
      tokens: createTokenSigner({ clock: systemClock, issuers: [issuer], signingKeyPem }),
    },
  });
  const url = `https://127.0.0.1:${server.port}`;
  const call = async (token: string | undefined, path: string, body?: object) => {
    const transport = createHttpTransport({
      server: url,
      clock: systemClock,
      tls: { ca: authority.certificatePem },
      ...(token === undefined ? {} : { token }),
    });
    try {
      return (await transport.send({ method: body ? 'POST' : 'GET', path, body })) as never;
    } finally {
      await transport.close();
    }
  };
  return {
    call,
    async whoami(token: string): Promise<{ username: string; groups: string[] }> {
      const review = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
      const { status } = (await call(token, '/apis/authentication.k8s.io/v1/selfsubjectreviews', review)) as {
        status: { userInfo: { username: string; groups: string[] } };
      };
      return status.userInfo;
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      identity.close();
      await store.close();
    },
  };
}

test('the flags of one identity provider make its users known, under its name', async () => {
  await using provider = await startProvider(testKey('a', 'RS256'));
  await using server = await serve(
    '--authorization-mode=AlwaysAllow',
    `--oidc-issuer-url=${provider.issuer}`,
    '--oidc-client-id=cluster',
    '--oidc-groups-claim=groups',
    '--oidc-groups-prefix=corp:',
    '--oidc-required-claim=hd=example.org',
    `--oidc-ca-file=${file('oidc-ca.pem', provider.ca)}`,
  );
  const token = await provider.sign({ sub: 'alice', groups: ['dev'], hd: 'example.org' });
  let user = await server.whoami(token).catch(() => undefined);
  // The provider is looked for in the background.
  while (!user) user = await server.whoami(token).catch(() => undefined);
  assert.equal(user.username, `${provider.issuer}#alice`);
  assert.deepEqual(user.groups, ['corp:dev', 'system:authenticated']);
  const refused = { code: 401, message: 'Unauthorized' };
  await assert.rejects(server.whoami(await provider.sign({ sub: 'alice' })), refused);
  await assert.rejects(server.whoami(await provider.sign({ sub: 'alice', hd: 'example.org', exp: 1 })), refused);
  await assert.rejects(server.call(undefined, '/api'), refused);
});

test('a webhook makes its tokens known, and is not asked about the same one again', async () => {
  await using webhook = await startWebhookServer(({ spec }) => ({
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1beta1',
    status: spec.token === 'good' ? { authenticated: true, user: { username: 'ada' } } : { authenticated: false },
  }));
  await using server = await serve(
    '--authorization-mode=AlwaysAllow',
    `--authentication-token-webhook-config-file=${kubeconfigOf('tokens.yaml', webhook)}`,
  );
  assert.equal((await server.whoami('good')).username, 'ada');
  assert.equal((await server.whoami('good')).username, 'ada');
  await assert.rejects(server.whoami('bad'), { code: 401 });
  await assert.rejects(server.whoami('bad'), { code: 401 });
  assert.deepEqual(
    webhook.received.map(({ body }) => body.spec.token),
    ['good', 'bad'],
  );
});

test('a chain from a file is asked in order, and follows the file', async () => {
  await using webhook = await startWebhookServer(({ spec }) => ({
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    status: { denied: spec.user === 'mallory', reason: 'not on the list' },
  }));
  const chain = (second: object) => ({
    apiVersion: 'apiserver.config.k8s.io/v1beta1',
    kind: 'AuthorizationConfiguration',
    authorizers: [
      {
        type: 'Webhook',
        name: 'gate',
        webhook: {
          timeout: '3s',
          unauthorizedTTL: '30s',
          subjectAccessReviewVersion: 'v1',
          matchConditionSubjectAccessReviewVersion: 'v1',
          failurePolicy: 'Deny',
          connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: kubeconfigOf('gate.yaml', webhook) },
          matchConditions: [{ expression: "request.user != 'root'" }],
        },
      },
      second,
    ],
  });
  const path = file('chain.json', chain({ type: 'AlwaysAllow', name: 'alwaysallow' }));
  const tokens = file('tokens.csv', 'm,mallory,1\na,alice,2\nr,root,3\n');
  await using server = await serve(`--authorization-config=${path}`, `--token-auth-file=${tokens}`);
  assert.ok(await server.call('a', '/api/v1/namespaces'));
  assert.ok(await server.call('r', '/api/v1/namespaces'));
  await assert.rejects(server.call('m', '/api/v1/namespaces'), {
    code: 403,
    message:
      'namespaces is forbidden: User "mallory" cannot list resource "namespaces" in API group "" at the cluster scope: not on the list',
  });
  assert.ok(webhook.received.every(({ body }) => body.spec.user !== 'root'));
  const metrics = String(await server.call('r', '/metrics'));
  assert.match(metrics, /apiserver_authorization_decisions_total\{decision="denied",name="gate",type="Webhook"\} 1/);
  assert.match(metrics, /authentication_attempts\{result="success"\} [1-9]/);
});

test('a changed chain is taken when it is good, and changes nothing when it is not', async () => {
  const clock = new FakeClock();
  const chain = (...authorizers: object[]) => ({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers,
  });
  const own = [
    { type: 'Node', name: 'node' },
    { type: 'RBAC', name: 'rbac' },
  ];
  const path = file('own.json', chain(...own));
  const { settings, close } = await identityFrom(given(`--authorization-config=${path}`), trustOf, environment(clock));
  const types = () => settings.authorizers!().map(({ type }) => type);
  const look = async () => {
    await clock.advance(60_000);
    for (let turn = 0; turn < 5; turn++) await settle();
  };
  assert.deepEqual(types(), ['Node', 'RBAC']);
  file('own.json', chain(...own.toReversed()));
  await look();
  assert.deepEqual(types(), ['RBAC', 'Node']);
  file('own.json', chain(own[0]!));
  await look();
  assert.deepEqual(types(), ['RBAC', 'Node']);
  const metrics = settings.identity!.families().join('');
  assert.match(metrics, /authorization_config_controller_automatic_reloads_total\{status="success"\} 1/);
  assert.match(metrics, /authorization_config_controller_automatic_reloads_total\{status="failure"\} 1/);
  close();
});

test('a changed file of identity providers takes over once they are found', async () => {
  await using first = await startProvider(testKey('a'));
  await using second = await startProvider(testKey('b'));
  const clock = new FakeClock();
  const configuration = (provider: typeof first) => ({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: { url: provider.issuer, audiences: ['cluster'], certificateAuthority: provider.ca },
        claimMappings: { username: { expression: '"oidc:" + claims.sub' } },
      },
    ],
    anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
  });
  const path = file('jwt.json', configuration(first));
  const { settings, close } = await identityFrom(given(`--authentication-config=${path}`), trustOf, environment(clock));
  assert.deepEqual(settings.authentication?.anonymous, { paths: ['/livez'] });
  const [tokens] = settings.authentication!.remoteTokens!;
  const nameOf = async (provider: typeof first) =>
    (await tokens!.authenticateToken(await provider.sign({ sub: 'alice' }), [issuer]))?.user.name;
  let name: string | undefined;
  while (name === undefined) name = await nameOf(first).catch(() => undefined);
  assert.equal(name, 'oidc:alice');
  assert.equal(await nameOf(second), undefined);
  file('jwt.json', configuration(second));
  await clock.advance(60_000);
  name = undefined;
  while (name === undefined) name = await nameOf(second).catch(() => undefined);
  assert.equal(name, 'oidc:alice');
  assert.equal(await nameOf(first), undefined);
  close();
});

test('policies of a file, a line each, let in whom they are about', async () => {
  const policy = { apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy' };
  const reader = { ...policy, spec: { user: 'alice', namespace: '*', resource: 'namespaces', readonly: true } };
  const policies = file('policies.jsonl', `# readers\n${JSON.stringify(reader)}\n`);
  const tokens = file('abac-tokens.csv', 'm,mallory,1\na,alice,2\n');
  const mode = ['--authorization-mode=Node,ABAC', `--authorization-policy-file=${policies}`];
  await using server = await serve(...mode, `--token-auth-file=${tokens}`);
  assert.ok(await server.call('a', '/api/v1/namespaces'));
  await assert.rejects(server.call('m', '/api/v1/namespaces'), {
    code: 403,
    message:
      'namespaces is forbidden: User "mallory" cannot list resource "namespaces" in API group "" at the cluster scope: No policy matched.',
  });
  const wrong = file('wrong.jsonl', '{"user":');
  await assert.rejects(
    serve('--authorization-mode=ABAC', `--authorization-policy-file=${wrong}`),
    /error reading policy file .*wrong\.jsonl, line 1: \{"user":: /,
  );
});

test('flags that contradict one another are refused', async () => {
  const refusals: readonly (readonly [readonly string[], RegExp])[] = [
    [['--oidc-client-id=x'], /oidc-issuer-url and oidc-client-id must be specified together/],
    [['--authorization-mode=Magic'], /authorization-mode "Magic" is not a valid mode/],
    [['--authorization-mode=RBAC,RBAC'], /has mode specified more than once/],
    [['--authorization-mode=ABAC'], /authorization-mode ABAC's authorization policy file not passed/],
    [['--authorization-policy-file=/x'], /cannot specify --authorization-policy-file without mode ABAC/],
    [['--authorization-mode=Webhook'], /authorization-mode Webhook's authorization config file not passed/],
    [
      ['--authorization-webhook-config-file=/x'],
      /cannot specify --authorization-webhook-config-file without mode Webhook/,
    ],
    [
      [`--authorization-config=${file('e.json', '{}')}`, '--authorization-mode=RBAC'],
      /--authorization-config can not be specified when --authorization-mode or --authorization-webhook-\* flags are defined/,
    ],
    [
      ['--oidc-issuer-url=http://x', '--oidc-client-id=x'],
      /jwt\[0\]\.issuer\.url: Invalid value: "http:\/\/x": URL scheme must be https/,
    ],
    [
      ['--oidc-issuer-url=https://x', '--oidc-client-id=x', '--oidc-signing-algs=HS256'],
      /oidc: unsupported signing alg: "HS256"/,
    ],
    [
      [
        `--authentication-config=${file('f.json', '{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration","jwt":[{"nope":1}]}')}`,
      ],
      /strict decoding error: unknown field "jwt\[0\]\.nope"/,
    ],
  ];
  for (const [words, message] of refusals) {
    await assert.rejects(identityFrom(given(...words), trustOf, environment()), message);
  }
});

/** Tokens of service accounts from a signer in another process, as an administrator sets it up, through a whole API server. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { TokenRequest } from '../../../api/gen/authentication-v1.ts';
import { serviceAccounts } from '../../../api/gen/core-v1.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { ScriptedSigner, scriptedKey } from '../../../apiserver/external-signer/scripted-signer.fixture.ts';
import { flags } from '../../../apiserver/gen/flags.ts';
import { systemClock } from '../../../base/clock.ts';
import { type Log, silentLog } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { createHttpTransport } from '../../../client/http-transport.ts';
import { createClient } from '../../../client/index.ts';
import { createCertificateAuthority, issueCertificate } from '../../../pki/authority.ts';
import { systemKeys } from '../../../pki/keys.ts';
import { unverifiedClaims } from '../../../pki/token-signer.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { memoryStore } from '../../../storage/memory/memory-store.ts';
import { startApiServer } from '../../control-plane/api-server.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { GivenFlags } from '../flags/given-flags.ts';
import { tokenSigningFrom } from './token-signing.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-token-signing-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const issuer = 'https://issuer.example.com';
let sockets = 0;

async function listening(): Promise<{ readonly script: ScriptedSigner; readonly endpoint: string }> {
  const endpoint = join(folder, `${++sockets}.sock`);
  return { endpoint, script: await ScriptedSigner.listen(endpoint) };
}

function signingFrom(words: readonly string[], log: Log = silentLog) {
  const given = new GivenFlags(parseFlags(flags, [`--service-account-issuer=${issuer}`, ...words]));
  return tokenSigningFrom(given, { clock: systemClock, random: systemRandom, log } as ComponentEnvironment);
}

test('a token is signed over there, and good for this server, which shows the keys to others', async () => {
  const { script, endpoint } = await listening();
  script.keys = [...script.keys, scriptedKey({ hidden: true })];
  script.maxTokenExpirationSeconds = 7200;
  await using signing = await signingFrom([`--service-account-signing-endpoint=${endpoint}`]);
  const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'ca' }, sources);
  const serving = issueCertificate(authority, { commonName: 'x', ipAddresses: ['127.0.0.1'], usages: ['server auth'] });
  const admin = issueCertificate(authority, {
    commonName: 'admin',
    organizations: ['system:masters'],
    usages: ['client auth'],
  });
  const store = memoryStore<KubeObject>({ clock: systemClock });
  const server = await startApiServer({
    store: { kind: 'objects', store },
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    listen: [{ host: '127.0.0.1', port: 0 }],
    serviceCidrs: ['10.0.0.0/24'],
    tokenRequests: signing.limits,
    trust: { clientCaPem: authority.certificatePem, serving, tokens: signing.tokens, issuers: signing.issuers },
  });
  server.server.registerMetrics(signing.metrics!);
  const connect = (credentials: { readonly token?: string; readonly tls?: object }) =>
    createHttpTransport({
      server: `https://127.0.0.1:${server.port}`,
      clock: systemClock,
      ...credentials,
      tls: { ca: authority.certificatePem, ...credentials.tls },
    });
  const transport = connect({ tls: { cert: admin.certificatePem, key: admin.keyPem } });
  const client = createClient(transport);
  const account = { namespace: 'kube-system', name: 'robot' };
  await client.create(serviceAccounts, { metadata: account });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 10_000 } };
  const { spec, status } = await client.createSubresource<TokenRequest>(serviceAccounts, account, 'token', request);
  assert.equal(spec.expirationSeconds, 7200);
  const token = status!.token!;
  const claims = unverifiedClaims(token)!;
  assert.equal(claims.exp! - claims.iat!, 7200);

  const bearer = connect({ token });
  const review = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const answer = await bearer.send({ method: 'POST', path, body: review });
  const { userInfo } = (answer as { status: { userInfo: { username: string } } }).status;
  assert.equal(userInfo.username, 'system:serviceaccount:kube-system:robot');

  const ask = (page: string) => client.raw({ method: 'GET', path: page, accept: 'application/json' });
  const pageOf = async (page: string): Promise<unknown> => ask(page).catch(() => pageOf(page));
  const shown = await pageOf('/openid/v1/jwks');
  const { keys } = (typeof shown === 'string' ? JSON.parse(shown) : shown) as { keys: { kid: string }[] };
  assert.deepEqual(
    keys.map(({ kid }) => kid),
    [script.keys[0]!.id],
  );
  assert.match(String(await ask('/metrics')), /apiserver_externaljwt_sign_request_total\{code="OK"\} 1/);

  script.failure = 'vault sealed';
  await assert.rejects(client.createSubresource(serviceAccounts, account, 'token', request), {
    message:
      'Internal error occurred: failed to generate token: while signing jwt: rpc error: code = Unavailable desc = vault sealed',
  });
  await bearer.close();
  await transport.close();
  await server.close();
  await store.close();
  script.close();
});

test('tokens live no longer than the signer says, extended ones neither', async () => {
  const { script, endpoint } = await listening();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const words = [`--service-account-signing-endpoint=${endpoint}`];
  const limitsOf = async (...more: string[]) => {
    await using signing = await signingFrom([...words, ...more], log);
    return signing.limits;
  };
  script.maxTokenExpirationSeconds = 600;
  assert.deepEqual(await limitsOf(), {
    extendExpiration: true,
    maxExpirationSeconds: 600,
    extendedExpirationSeconds: 600,
  });
  assert.deepEqual(warnings, [
    'service-account-extend-token-expiration is true, in order to correctly trigger safe transition logic, token lifetime supported by external-jwt-signer must be longer than 3607 seconds (currently 10m0s)',
    'service-account-extend-token-expiration is true, tokens validity will be caped at the smaller of 31536000 seconds and maximum token lifetime supported by external-jwt-signer (10m0s)',
  ]);
  script.maxTokenExpirationSeconds = 86_400;
  const limits = await limitsOf('--service-account-max-token-expiration=2h');
  assert.deepEqual([limits.maxExpirationSeconds, limits.extendedExpirationSeconds], [7200, 86_400]);
  await assert.rejects(limitsOf('--service-account-max-token-expiration=25h'), {
    message:
      'service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: 25h0m0s > 24h0m0s',
  });
  script.maxTokenExpirationSeconds = 599;
  await assert.rejects(limitsOf(), {
    message: 'max token life supported by external-jwt-signer (599s) is less than acceptable (min 600s)',
  });
  script.failure = 'vault sealed';
  await assert.rejects(limitsOf(), /^Error: while setting up external-jwt-signer: while initially filling key cache: /);
  script.close();
});

test('keys of files and a signer exclude each other', async () => {
  const exclusive =
    "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` (They are mutually exclusive)";
  const endpoint = '--service-account-signing-endpoint=/nobody.sock';
  for (const other of ['--service-account-signing-key-file=/key.pem', '--service-account-key-file=/key.pem']) {
    await assert.rejects(signingFrom([endpoint, other]), { message: exclusive });
  }
  await assert.rejects(signingFrom(['--service-account-signing-endpoint=@a b']), {
    message:
      'invalid value "@a b" passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid abstract socket name',
  });
  await assert.rejects(signingFrom(['--service-account-max-token-expiration=10m']), {
    message: 'the service-account-max-token-expiration must be between 1 hour and 2^32 seconds',
  });
  const words = ['--service-account-max-token-expiration=2h', '--service-account-extend-token-expiration=false'];
  await using signing = await signingFrom(words);
  assert.deepEqual(signing.limits, { maxExpirationSeconds: 7200, extendExpiration: false });
  assert.equal(signing.metrics, undefined);
});

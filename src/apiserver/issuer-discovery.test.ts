/** The documents with which others verify service account tokens, as a whole server serves them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
import { serviceAccounts } from '../api/gen/core-v1.ts';
import { silentLog } from '../base/log.ts';
import { sharedSecretSigner } from '../pki/token-signer.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { startControlPlane } from '../testing/index.ts';
import { issuerDiscoveryPages } from './issuer-discovery.ts';

it('tell a stranger all he needs to know a service account by its token', async () => {
  await using cluster = await startControlPlane();
  const { client } = cluster;
  const at = { namespace: 'default', name: 'default' };
  const ask = (path: string) => client.raw({ method: 'GET', path, accept: 'application/json' });
  let document = await ask('/.well-known/openid-configuration').catch(() => undefined);
  // Served a moment after the server's start.
  while (!document) document = await ask('/.well-known/openid-configuration').catch(() => undefined);
  const { issuer, jwks_uri: keysUrl } = document as { issuer: string; jwks_uri: string };
  assert.match(keysUrl, /^https:\/\/127\.0\.0\.1:[0-9]+\/openid\/v1\/jwks$/);
  const { status } = await client.createSubresource<{ status: { token: string } }>(serviceAccounts, at, 'token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences: ['vault'] },
  });
  const keys = createRemoteJWKSet(new URL(keysUrl), {
    [customFetch]: async () => new Response(toText(await ask('/openid/v1/jwks'))),
  });
  const { payload } = await jwtVerify(status.token, keys, { issuer, audience: 'vault' });
  assert.equal(payload.sub, 'system:serviceaccount:default:default');
});

it('are not served under an issuer that is no address', () => {
  const signer = sharedSecretSigner({ clock: new FakeClock(), issuers: ['me'], secret: Buffer.alloc(32) });
  const pages = issuerDiscoveryPages({ signer, externalAddress: '127.0.0.1:6443', log: silentLog });
  assert.equal(pages.size, 0);
});

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

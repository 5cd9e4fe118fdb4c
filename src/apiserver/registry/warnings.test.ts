/** Warnings reach the client with the answer, in every way to write. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type OpenServer, openServerWithDefault } from '../api-server.fixture.ts';

let opened: OpenServer;
before(async () => {
  opened = await openServerWithDefault();
});
after(() => opened.close());

const pod = (name: string, secret: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { imagePullSecrets: [{ name: secret }], containers: [{ name: 'c', image: 'i' }] },
});

const message = '299 - "spec.imagePullSecrets[0].name: invalid empty name \\"\\""';

async function send(method: string, path: string, sent: object, query: Record<string, string> = {}) {
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json';
  const { status, headers } = await opened.server.handle({
    method,
    path: `/api/v1/namespaces/default/pods${path}`,
    query: new URLSearchParams(query),
    headers: { 'content-type': type },
    body: { kind: 'bytes', read: async () => Buffer.from(JSON.stringify(sent)) },
    remoteAddress: '',
    clientCertificates: [],
    user: { name: 'admin', groups: [] },
    signal: new AbortController().signal,
  });
  return { status, warning: headers.warning };
}

test('a creation that is taken is warned of', async () => {
  assert.deepEqual(await send('POST', '', pod('a', '')), { status: 201, warning: message });
});

test('so is one that is only tried, and one that is applied', async () => {
  assert.deepEqual(await send('POST', '', pod('b', ''), { dryRun: 'All' }), { status: 201, warning: message });
  assert.deepEqual(await send('PATCH', '/b', pod('b', ''), { fieldManager: 'm' }), { status: 201, warning: message });
});

test('one that is refused is told its errors alone', async () => {
  const { status, warning } = await send('POST', '', { ...pod('c', ''), spec: { imagePullSecrets: [{ name: '' }] } });
  assert.deepEqual({ status, warning }, { status: 422, warning: undefined });
});

test('what is in order passes in silence', async () => {
  assert.deepEqual(await send('POST', '', pod('d', 'registry')), { status: 201, warning: undefined });
});

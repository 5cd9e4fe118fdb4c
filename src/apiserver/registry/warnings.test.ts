/** Warnings reach the client with the answer, in every way to write. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type OpenServer, openServerWithDefault } from '../api-server.fixture.ts';

let opened: OpenServer;
before(async () => {
  opened = await openServerWithDefault();
});
after(() => opened.close());

const pod = (name: string, seconds: number) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { terminationGracePeriodSeconds: seconds, containers: [{ name: 'c', image: 'i' }] },
});

const message =
  '299 - "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"';

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
  assert.deepEqual(await send('POST', '', pod('a', -1)), { status: 201, warning: message });
});

test('so is one that is only tried, and one that is applied', async () => {
  assert.deepEqual(await send('POST', '', pod('b', -1), { dryRun: 'All' }), { status: 201, warning: message });
  assert.deepEqual(await send('PATCH', '/b', pod('b', -1), { fieldManager: 'm' }), { status: 201, warning: message });
});

test('one that is refused is told its errors alone', async () => {
  const { status, warning } = await send('POST', '', { ...pod('c', -1), spec: { terminationGracePeriodSeconds: -1 } });
  assert.deepEqual({ status, warning }, { status: 422, warning: undefined });
});

test('what is in order passes in silence', async () => {
  assert.deepEqual(await send('POST', '', pod('d', 5)), { status: 201, warning: undefined });
});

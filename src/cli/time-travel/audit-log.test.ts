/** Changes and the users who asked for them, by lines of audit logs. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { auditedRequests, usersOf } from './audit-log.ts';
import type { PastObject, Target } from './past.ts';

const target: Target = {
  resource: { name: 'deployments', group: 'apps', namespaced: true, pathIn: () => '' },
  namespace: 'default',
  name: 'web',
};

function line(user: string, verb: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    stage: 'ResponseComplete',
    auditID: 'a',
    verb,
    user: { username: user },
    objectRef: { resource: 'deployments', namespace: 'default', name: 'web', apiGroup: 'apps' },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: '2026-01-01T12:00:00.100900Z',
    stageTimestamp: '2026-01-01T12:00:00.200000Z',
    ...more,
  });
}

function change(type: PastObject['type'], time: string | undefined, noted = '2026-01-01T12:00:00Z'): PastObject {
  const metadata = { name: 'web', managedFields: [{ manager: 'kubectl', time: noted }] };
  return { type, revision: '7', object: { metadata }, ...(time === undefined ? {} : { time }) };
}

async function requestsOf(t: TestContext, lines: readonly string[], packed = false) {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-audit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const text = lines.map((each) => `${each}\n`).join('');
  const file = join(folder, packed ? 'audit.log.gz' : 'audit.log');
  writeFileSync(file, packed ? gzipSync(text) : text);
  return auditedRequests([file], target);
}

const during = '2026-01-01T12:00:00.100000Z';

test('who asked while a change was made made it, if the request can do that, and somebody as another is both', async (t) => {
  const requests = await requestsOf(t, [
    line('ann', 'patch', { impersonatedUser: { username: 'bob' } }),
    line('reader', 'get'),
    line('remover', 'delete'),
  ]);
  assert.deepEqual(usersOf(change('MODIFIED', during), requests), ['ann as bob', 'remover']);
  assert.deepEqual(usersOf(change('ADDED', during), requests), ['ann as bob']);
  assert.deepEqual(usersOf(change('MODIFIED', '2026-01-01T12:00:00.300000Z'), requests), []);
});

test('an answer with the change’s version tells it exactly', async (t) => {
  const requests = await requestsOf(t, [
    line('ann', 'patch'),
    line('bob', 'patch', { responseObject: { metadata: { name: 'web', resourceVersion: '7' } } }),
    // What was there when all were deleted, with the version that the list had.
    line('remover', 'deletecollection', { responseObject: { metadata: { resourceVersion: '7' } } }),
  ]);
  assert.deepEqual(usersOf(change('MODIFIED', during), requests), ['bob']);
});

test('where the store writes no times down, the second in managedFields counts, and nothing of a removal', async (t) => {
  const requests = await requestsOf(t, [line('ann', 'patch'), line('ann', 'delete')], true);
  assert.deepEqual(usersOf(change('MODIFIED', undefined), requests), ['ann']);
  assert.deepEqual(usersOf(change('MODIFIED', undefined, '2026-01-01T11:59:59Z'), requests), []);
  assert.deepEqual(usersOf(change('DELETED', undefined), requests), []);
});

test('what failed, began, or was about another object is not counted; a creation may go without a name', async (t) => {
  const about = (objectRef: object) => ({
    objectRef: { resource: 'deployments', namespace: 'default', apiGroup: 'apps', ...objectRef },
  });
  const requests = await requestsOf(t, [
    line('failed', 'create', { responseStatus: { code: 409 } }),
    line('begins', 'create', { stage: 'RequestReceived' }),
    line('elsewhere', 'create', about({ name: 'web', namespace: 'other' })),
    line('another', 'create', about({ name: 'db' })),
    line('another kind', 'create', about({ name: 'web', resource: 'replicasets' })),
    line('another group', 'create', about({ name: 'web', apiGroup: '' })),
    line('ann', 'create', about({})),
    line('carl', 'create', { ...about({}), responseObject: { metadata: { name: 'db', resourceVersion: '9' } } }),
    '{"kind":"Event","cut',
  ]);
  assert.deepEqual(usersOf(change('ADDED', during), requests), ['ann']);
});

test('a file without events, and one that is not there, are refused in words', async (t) => {
  await assert.rejects(requestsOf(t, ['2026-01-01 AUDIT: id="1"']), {
    name: 'CommandError',
    message: /audit\.log has no audit events\.$/,
  });
  await assert.rejects(auditedRequests(['/nowhere/audit.log'], target), {
    name: 'CommandError',
    message: /^\/nowhere\/audit\.log cannot be read: ENOENT/,
  });
});

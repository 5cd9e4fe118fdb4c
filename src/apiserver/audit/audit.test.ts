/** What the log tells of real requests: over HTTPS, with a client that speaks JSON and one of the same process. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { describe, it } from 'node:test';
import { configMaps } from '../../api/gen/core-v1.ts';
import { unauthorized } from '../../apimachinery/status.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { type OpenServerOptions, openServerWithDefault, serveHttps } from '../api-server.fixture.ts';
import type { Security } from '../server.ts';
import { Auditor } from './auditor.ts';
import type { AuditEvent } from './event.ts';
import type { AuditPolicy } from './policy.ts';
import { logSink } from './sink.ts';

type ToldEvent = Omit<AuditEvent, 'requestObject' | 'responseObject'> & {
  readonly requestObject?: Record<string, unknown>;
  readonly responseObject?: Record<string, unknown>;
};

const namespace = 'default';
const user = { name: 'ada', groups: ['system:masters'] };

async function open(
  policy: AuditPolicy,
  options: OpenServerOptions & { readonly fails?: boolean; readonly security?: () => Security } = {},
) {
  const told: ToldEvent[] = [];
  const writer = {
    write(text: string) {
      if (options.fails) throw new Error('disk full');
      for (const line of text.trimEnd().split('\n')) told.push(JSON.parse(line) as ToldEvent);
    },
    close() {},
  };
  const sink = logSink(writer, { format: 'json', log: silentLog });
  const auditor = new Auditor({ policy, sink, clock: systemClock });
  const authenticate = async () => ({ user });
  const opened = await openServerWithDefault({ auditor, security: () => ({ authenticate }), ...options });
  const https = await serveHttps(opened.server);
  told.length = 0;
  return {
    ...opened,
    https,
    told,
    async [Symbol.asyncDispose]() {
      await https.close();
      await opened.close();
    },
  };
}

const everything: AuditPolicy = { rules: [{ level: 'RequestResponse', users: ['ada'] }] };
const stages = (events: readonly ToldEvent[]) => events.map(({ stage }) => stage);

describe('The audit log', () => {
  it('tells who did what to which object, with what was sent and what came back', async () => {
    await using opened = await open(everything);
    await opened.https.client.create(configMaps, { metadata: { name: 'a', namespace }, data: { k: 'v' } });
    assert.deepEqual(stages(opened.told), ['RequestReceived', 'ResponseComplete']);
    const [received, complete] = opened.told as [ToldEvent, ToldEvent];
    assert.equal(received.auditID, complete.auditID);
    assert.equal(received.stageTimestamp, received.requestReceivedTimestamp);
    assert.deepEqual([complete.verb, complete.user], ['create', { username: 'ada', groups: ['system:masters'] }]);
    assert.equal(complete.requestURI, '/api/v1/namespaces/default/configmaps');
    assert.deepEqual(complete.objectRef, { resource: 'configmaps', namespace, name: 'a', apiVersion: 'v1' });
    assert.deepEqual(complete.sourceIPs, ['127.0.0.1']);
    assert.deepEqual(complete.responseStatus, { metadata: {}, code: 201 });
    assert.deepEqual(complete.requestObject?.data, { k: 'v' });
    const { metadata } = complete.responseObject as { metadata: { uid?: string; managedFields?: unknown } };
    assert.ok(metadata.uid && metadata.managedFields);
    assert.equal(complete.annotations?.['authorization.k8s.io/decision'], 'allow');
  });

  it('leaves out what the policy leaves out', async () => {
    const policy: AuditPolicy = {
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [{ level: 'None', verbs: ['get'] }, ...everything.rules],
    };
    await using opened = await open(policy);
    await opened.https.client.create(configMaps, { metadata: { name: 'a', namespace } });
    await opened.https.client.get(configMaps, { name: 'a', namespace });
    await opened.https.client.list(configMaps, { namespace });
    const [created, listed] = opened.told;
    assert.deepEqual(stages(opened.told), ['ResponseComplete', 'ResponseComplete']);
    assert.equal(JSON.stringify(created?.responseObject).includes('managedFields'), false);
    assert.equal(JSON.stringify(listed?.responseObject).includes('managedFields'), false);
    assert.equal(listed?.responseObject?.kind, 'ConfigMapList');
  });

  it('tells of failures with their Status, and of patches as they came', async () => {
    await using opened = await open(everything);
    const { client } = opened.https;
    await assert.rejects(client.get(configMaps, { name: 'nowhere', namespace }));
    const failed = opened.told.at(-1)!;
    assert.deepEqual([failed.responseStatus?.code, failed.responseStatus?.reason], [404, 'NotFound']);
    await client.create(configMaps, { metadata: { name: 'a', namespace } });
    await client.patch(configMaps, { name: 'a', namespace }, { type: 'merge', body: { data: { x: 'y' } } });
    assert.deepEqual(opened.told.at(-1)?.requestObject, { data: { x: 'y' } });
  });

  it('tells of a watch when it begins and when it ends', async () => {
    await using opened = await open({ rules: [{ level: 'Metadata', users: ['ada'] }] });
    const signal = AbortSignal.timeout(10_000);
    for await (const event of opened.https.client.watch(configMaps, {
      namespace,
      sendInitialEvents: true,
      allowWatchBookmarks: true,
      signal,
    })) {
      if (event.type === 'BOOKMARK') break;
    }
    while (opened.told.length < 3) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(stages(opened.told), ['RequestReceived', 'ResponseStarted', 'ResponseComplete']);
    assert.equal(opened.told[0]?.verb, 'watch');
  });

  it('leaves watches of the same process as they are', async () => {
    await using opened = await open({ rules: [{ level: 'Metadata', verbs: ['watch'] }] });
    const signal = AbortSignal.timeout(10_000);
    const seen: string[] = [];
    const client = opened.server.client(user);
    for await (const { type } of client.watch(configMaps, {
      namespace,
      sendInitialEvents: true,
      allowWatchBookmarks: true,
      signal,
    })) {
      seen.push(type);
      if (type === 'BOOKMARK') break;
    }
    assert.deepEqual(seen, ['BOOKMARK']);
    while (opened.told.length < 3) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(stages(opened.told), ['RequestReceived', 'ResponseStarted', 'ResponseComplete']);
  });

  it('tells of strangers, and how they tried to come in', async () => {
    const authenticate = () => Promise.reject(unauthorized());
    await using opened = await open({ rules: [{ level: 'Metadata' }] }, { security: () => ({ authenticate }) });
    const headers = { authorization: 'Bearer x' };
    const call = request(`${opened.https.url}/api`, { ca: opened.https.ca, headers }).end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.resume();
    assert.equal(response.statusCode, 401);
    const [event] = opened.told;
    assert.deepEqual([event?.stage, event?.responseStatus?.code], ['ResponseStarted', 401]);
    assert.equal(event?.responseStatus?.message, 'Authentication failed, attempted: bearer');
    assert.equal(response.headers['audit-id'], event?.auditID);
  });

  it('that must not miss anything refuses what it cannot tell of', async () => {
    await using opened = await open({ rules: [{ level: 'Metadata', users: ['ada'] }] }, { fails: true });
    await assert.rejects(opened.https.client.list(configMaps), {
      message: 'Internal error occurred: failed to store audit event',
    });
  });
});

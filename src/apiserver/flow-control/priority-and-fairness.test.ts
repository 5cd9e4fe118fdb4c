import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { flowSchemas, priorityLevelConfigurations } from '../../api/gen/flowcontrol-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { informerSet } from '../../reconcile/informer-set.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type OpenServer, openServerWithDefault } from '../api-server.fixture.ts';
import { flowControlObjects } from '../bootstrap/bootstrap-data.ts';
import { ensureFlowControl } from '../bootstrap/flow-control.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { startPriorityAndFairness } from './start.ts';

const clock = new FakeClock(Date.UTC(2026, 4, 1));
const stopping = new AbortController();
let opened: OpenServer;

before(async () => {
  opened = await openServerWithDefault({ clock });
  const { client, server } = opened;
  await ensureFlowControl(client, flowControlObjects());
  const { signal } = stopping;
  const informers = informerSet({ client, clock, random: seededRandom(1), log: silentLog, signal });
  const started = await startPriorityAndFairness({
    client,
    informers,
    clock,
    log: silentLog,
    signal,
    totalSeats: 600,
    storageNamed: (name) => server.storageNamed(name),
  });
  for (const [path, handler] of started.pages) server.registerPath(path, handler);
  server.registerMetrics(started.metrics);
  server.useFlowControl(started.control);
});
after(async () => {
  stopping.abort();
  await opened.close();
});

function ask(path: string, { user = 'alice', groups = ['system:authenticated'] } = {}): Promise<ApiResponse> {
  const [pathname = '', query = ''] = path.split('?');
  const request: ApiRequest = {
    method: 'GET',
    path: pathname,
    query: new URLSearchParams(query),
    headers: {},
    body: { kind: 'none' },
    remoteAddress: '',
    clientCertificates: [],
    signal: new AbortController().signal,
    user: { name: user, groups },
  };
  return opened.server.handle(request);
}

async function textOf(path: string): Promise<string> {
  const { body } = await ask(path, { groups: ['system:masters'] });
  assert.equal(body.kind, 'bytes');
  return body.kind === 'bytes' ? Buffer.concat(body.chunks).toString() : '';
}

/** A level of one seat without queues, for the reads of one user, who keeps it busy by a request that is never answered. */
async function crowdedLevel(name: string): Promise<() => void> {
  const { client, server } = opened;
  const limited = { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' }, borrowingLimitPercent: 0 };
  await client.create(priorityLevelConfigurations, { metadata: { name }, spec: { type: 'Limited', limited } });
  await client.create(flowSchemas, {
    metadata: { name },
    spec: {
      priorityLevelConfiguration: { name },
      matchingPrecedence: 2,
      rules: [
        {
          subjects: [{ kind: 'User', user: { name } }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  });
  await clock.advance(1000);
  let finish = () => {};
  const answered = new Promise<void>((resolve) => {
    finish = resolve;
  });
  server.registerPath('/slow', async () => {
    await answered;
    return { status: 204, headers: {}, body: { kind: 'none' } };
  });
  return finish;
}

describe('priority and fairness', () => {
  test('tells with each answer which schema and level were at work, on errors too', async () => {
    const uidOf = async (name: string) => (await opened.client.get(flowSchemas, { name })).metadata.uid;
    const level = await opened.client.get(priorityLevelConfigurations, { name: 'global-default' });
    const expected = {
      'x-kubernetes-pf-flowschema-uid': await uidOf('global-default'),
      'x-kubernetes-pf-prioritylevel-uid': level.metadata.uid,
    };
    for (const path of ['/api/v1/namespaces/default/pods', '/api/v1/namespaces/default/pods/none']) {
      const { headers } = await ask(path);
      assert.deepEqual({ ...headers, ...expected }, headers);
    }
  });

  test('refuses in upstream’s words what a crowded level has no seat for, and nobody else', async () => {
    const finish = await crowdedLevel('crowd');
    const seats = Number(
      /apiserver_flowcontrol_current_limit_seats\{priority_level="crowd"\} (\d+)/.exec(await textOf('/metrics'))?.[1],
    );
    assert.ok(seats >= 1);
    const slow = Array.from({ length: seats }, () => ask('/slow', { user: 'crowd' }));
    const refused = await ask('/slow', { user: 'crowd' });
    assert.equal(refused.status, 429);
    assert.equal(refused.headers['retry-after'], '1');
    assert.equal(refused.headers['content-type'], 'text/plain; charset=utf-8');
    assert.ok(refused.headers['x-kubernetes-pf-flowschema-uid']);
    const { body } = refused;
    assert.equal(
      body.kind === 'bytes' && Buffer.concat(body.chunks).toString(),
      'Too many requests, please try again later.\n',
    );
    assert.equal((await ask('/api')).status, 200);
    const requests = await textOf('/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1');
    assert.match(requests, /^crowd, +crowd, +-1, +-1, .*crowd, +get, +\/slow,/m);
    finish();
    for (const { status } of await Promise.all(slow)) assert.equal(status, 204);
    const metrics = await textOf('/metrics');
    const labels = 'flow_schema="crowd",priority_level="crowd"';
    assert.ok(
      metrics.includes(`apiserver_flowcontrol_rejected_requests_total{${labels},reason="concurrency-limit"} 1`),
    );
    assert.ok(metrics.includes(`apiserver_flowcontrol_dispatched_requests_total{${labels}} ${seats}`));
    assert.match(metrics, /apiserver_request_terminations_total\{code="429",.*subresource="\/slow"/);
  });

  test('says of each schema whether its level exists', async () => {
    const dangling = async (name: string) => {
      await clock.advance(1000);
      const { status } = await opened.client.get(flowSchemas, { name });
      return status?.conditions?.map(({ type, status: value, reason, message }) => [type, value, reason, message]);
    };
    assert.deepEqual(await dangling('service-accounts'), [
      [
        'Dangling',
        'False',
        'Found',
        'This FlowSchema references the PriorityLevelConfiguration object named "workload-low" and it exists',
      ],
    ]);
    await opened.client.create(flowSchemas, {
      metadata: { name: 'lost' },
      spec: { priorityLevelConfiguration: { name: 'nowhere' }, matchingPrecedence: 3000 },
    });
    assert.deepEqual(await dangling('lost'), [
      [
        'Dangling',
        'True',
        'NotFound',
        'This FlowSchema references the PriorityLevelConfiguration object named "nowhere" but there is no such object',
      ],
    ]);
  });

  test('shows its levels and queues', async () => {
    const levels = await textOf('/debug/api_priority_and_fairness/dump_priority_levels');
    assert.match(levels, /^PriorityLevelName, +ActiveQueues, +IsIdle, /);
    assert.match(levels, /^catch-all, +0, +true, +false, +0, +0, /m);
    const queues = await textOf('/debug/api_priority_and_fairness/dump_queues');
    assert.equal(queues.match(/^system, /gm)?.length, 64);
  });
});

describe('the mandatory objects', () => {
  test('cannot be changed', async () => {
    const schema = await opened.client.get(flowSchemas, { name: 'catch-all' });
    const changed = { ...schema, spec: { ...schema.spec, matchingPrecedence: 9999 } };
    await assert.rejects(opened.client.update(flowSchemas, changed), {
      code: 422,
      message: /spec of 'catch-all' must equal the fixed value/,
    });
    const exempt = await opened.client.get(priorityLevelConfigurations, { name: 'exempt' });
    const shares = {
      ...exempt,
      spec: { ...exempt.spec, exempt: { nominalConcurrencyShares: 5, lendablePercent: 10 } },
    };
    assert.equal((await opened.client.update(priorityLevelConfigurations, shares)).spec.exempt?.lendablePercent, 10);
  });

  test('come back when they are deleted, as suggested ones do while nobody took them over', async () => {
    const { client } = opened;
    const ensure = () => ensureFlowControl(client, flowControlObjects());
    await client.delete(flowSchemas, { name: 'exempt' });
    await client.delete(flowSchemas, { name: 'probes' });
    const mine = await client.get(flowSchemas, { name: 'service-accounts' });
    const annotations = { 'apf.kubernetes.io/autoupdate-spec': 'false' };
    const taken = {
      ...mine,
      metadata: { ...mine.metadata, annotations },
      spec: { ...mine.spec, matchingPrecedence: 8500 },
    };
    await client.update(flowSchemas, taken);
    const theirs = await client.get(flowSchemas, { name: 'global-default' });
    await client.update(flowSchemas, { ...theirs, spec: { ...theirs.spec, matchingPrecedence: 9500 } });
    const leftOver = { name: 'of-an-older-release', annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' } };
    await client.create(flowSchemas, {
      metadata: leftOver,
      spec: { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 4 },
    });
    await ensure();
    const precedence = async (name: string) => (await client.get(flowSchemas, { name })).spec.matchingPrecedence;
    assert.deepEqual(
      [
        await precedence('exempt'),
        await precedence('probes'),
        await precedence('service-accounts'),
        await precedence('global-default'),
      ],
      [1, 2, 8500, 9900],
    );
    await assert.rejects(client.get(flowSchemas, { name: 'of-an-older-release' }), { code: 404 });
  });
});

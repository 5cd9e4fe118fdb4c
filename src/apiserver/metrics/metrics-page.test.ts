/** That `/metrics` has what others build their boards and alarms on: upstream's stable names and labels. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configMaps, endpoints } from '../../api/gen/core-v1.ts';
import { type OpenHttps, type OpenServer, openServerWithDefault, serveHttps } from '../api-server.fixture.ts';

let opened: OpenServer;
let https: OpenHttps;
let text = '';

/** Stable in v1.36, with their labels in the order of the alphabet; those of webhooks have no samples without one. */
const stable: Readonly<Record<string, readonly string[] | undefined>> = {
  apiserver_admission_controller_admission_duration_seconds: undefined,
  apiserver_admission_step_admission_duration_seconds: undefined,
  apiserver_admission_webhook_admission_duration_seconds: undefined,
  apiserver_current_inflight_requests: ['request_kind'],
  apiserver_longrunning_requests: ['component', 'group', 'resource', 'scope', 'subresource', 'verb', 'version'],
  apiserver_request_duration_seconds: [
    'component',
    'dry_run',
    'group',
    'resource',
    'scope',
    'subresource',
    'verb',
    'version',
  ],
  apiserver_request_total: [
    'code',
    'component',
    'dry_run',
    'group',
    'resource',
    'scope',
    'subresource',
    'verb',
    'version',
  ],
  apiserver_requested_deprecated_apis: ['group', 'removed_release', 'resource', 'subresource', 'version'],
  apiserver_response_sizes: ['component', 'group', 'resource', 'scope', 'subresource', 'verb', 'version'],
  apiserver_storage_objects: ['resource'],
  apiserver_storage_size_bytes: ['storage_cluster_id'],
  kubernetes_healthcheck: ['name', 'type'],
  kubernetes_healthchecks_total: ['name', 'status', 'type'],
};

before(async () => {
  opened = await openServerWithDefault();
  https = await serveHttps(opened.server);
  const { client } = https;
  await client.create(configMaps, { metadata: { name: 'a', namespace: 'default' }, data: { x: '1' } });
  await client.list(configMaps, { namespace: 'default' });
  await client.list(endpoints, { namespace: 'default' });
  const leaving = new AbortController();
  for await (const event of client.watch(configMaps, { namespace: 'default', signal: leaving.signal })) {
    assert.equal(event.object.metadata.name, 'a');
    await client.raw({ method: 'GET', path: '/readyz' });
    text = String(await client.raw({ method: 'GET', path: '/metrics' }));
    break;
  }
});
after(async () => {
  await https.close();
  await opened.close();
});

function samplesOf(name: string): readonly string[] {
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name}_count{`));
}

for (const [name, labels] of Object.entries(stable)) {
  test(`${name} is there, with upstream's labels`, () => {
    assert.ok(text.includes(`# TYPE ${name} `));
    if (!labels) return;
    const [sample = ''] = samplesOf(name);
    const found = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label);
    assert.deepEqual(found, labels);
  });
}

test('samples say what happened', () => {
  const configMap = /resource="configmaps",scope="(\w+)",subresource="",verb="(\w+)"/;
  const seen = samplesOf('apiserver_request_total').flatMap((line) => {
    const [, scope, verb] = configMap.exec(line) ?? [];
    return scope ? [`${verb} ${scope}`] : [];
  });
  assert.deepEqual(seen.sort(), ['LIST namespace', 'POST resource', 'WATCH namespace']);
  const watching = samplesOf('apiserver_longrunning_requests').find((line) => line.includes('"configmaps"'));
  assert.match(watching ?? '', /verb="WATCH".* 1$/);
  assert.match(text, /apiserver_watch_events_total\{group="",resource="configmaps",version="v1"\} 1\n/);
  assert.match(samplesOf('apiserver_requested_deprecated_apis')[0] ?? '', /removed_release="",resource="endpoints"/);
  assert.match(text, /kubernetes_healthcheck\{name="ping",type="readyz"\} 1\n/);
  assert.match(text, /apiserver_response_sizes_sum\{[^}]*"configmaps"[^}]*verb="LIST"[^}]*\} [1-9]/);
});

test('every family is told once, and every line can be read', () => {
  const families = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
  assert.equal(new Set(families).size, families.length);
  const readable =
    /^(?:#.*|[a-zA-Z_:][\w:]*(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})? (?:[-+\d.e]+|Na[nN]|[+-]Inf)(?: \d+)?|)$/;
  for (const line of text.split('\n')) assert.match(line, readable);
});

test('how checks went is told alone, too', async () => {
  const alone = String(await https.client.raw({ method: 'GET', path: '/metrics/slis' }));
  const families = [...alone.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
  assert.deepEqual(families, ['kubernetes_healthcheck', 'kubernetes_healthchecks_total', 'process_start_time_seconds']);
  assert.match(alone, /^kubernetes_healthchecks_total\{name="ping",status="success",type="readyz"\} [1-9]/m);
});

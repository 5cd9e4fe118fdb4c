import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { type OpenServer, openServer } from '../api-server.fixture.ts';
import type { ApiRequest, ApiResponse, UserInfo } from '../request.ts';
import { registerDebugPages } from './debug-pages.ts';

const clock = new FakeClock(Date.UTC(2026, 4, 1));
let opened: OpenServer;

before(async () => {
  opened = await openServer({
    clock,
    security: () => ({
      authorizer: {
        name: 'masters only',
        authorize: ({ user }) => ({
          decision: user.groups.includes('system:masters') ? 'allow' : 'no-opinion',
          reason: '',
        }),
      },
    }),
  });
  const flags = new Map<string, unknown>([
    ['profiling', true],
    ['authorization-mode', ['Node', 'RBAC']],
  ]);
  registerDebugPages(opened.server, {
    clock,
    profiling: true,
    flags,
    startedMs: clock.now(),
    startedMonotonicMs: clock.monotonic(),
  });
});
after(() => opened.close());

const operator: UserInfo = { name: 'admin', groups: ['system:masters'] };

function ask(target: string, user = operator, accept?: string): Promise<ApiResponse> {
  const [path = '', query = ''] = target.split('?');
  const request: ApiRequest = {
    method: 'GET',
    path,
    query: new URLSearchParams(query),
    headers: { accept },
    body: { kind: 'none' },
    remoteAddress: '',
    clientCertificates: [],
    signal: new AbortController().signal,
    user,
  };
  return opened.server.handle(request);
}

function textOf({ body }: ApiResponse): string {
  return body.kind === 'bytes' ? Buffer.concat(body.chunks).toString() : '';
}

test('pages about the server are closed to whoever has no right to them', async () => {
  for (const path of ['/statusz', '/flagz', '/debug/pprof/', '/debug/pprof/profile', '/debug/flags/']) {
    assert.equal((await ask(path, { name: 'alice', groups: ['system:authenticated'] })).status, 403, path);
  }
});

test('the status page tells since when the server has been up', async () => {
  await clock.advance(3_725_000);
  const text = textOf(await ask('/statusz'));
  assert.match(text, /^\napiserver statusz\nWarning: /);
  assert.match(text, /^Started: Fri, 01 May 2026 00:00:00 GMT\nUp: 1 hr 02 min 05 sec$/m);
});

test('the flags page tells each flag as Go would print it', async () => {
  assert.match(textOf(await ask('/flagz')), /\n\nauthorization-mode=\[Node,RBAC\]\nprofiling=true\n$/);
});

test('whoever names the kind and its version gets an object, and others a text', async () => {
  const accept = (type: string, as: string, version = 'v1beta1') => `${type};v=${version};g=config.k8s.io;as=${as}`;
  const status = await ask('/statusz', operator, accept('application/json', 'Statusz'));
  assert.equal(status.headers['content-type'], 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz');
  assert.equal(status.headers.warning, undefined);
  const { uptimeSeconds, ...rest } = JSON.parse(textOf(status)) as Record<string, unknown>;
  assert.ok(Number(uptimeSeconds) >= 3725);
  assert.deepEqual(rest, {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'apiserver' },
    startTime: '2026-05-01T00:00:00Z',
    goVersion: 'none',
    binaryVersion: '1.36.2+coracle',
    emulationVersion: '1.36',
    paths: ['/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version'],
  });
  const flags = await ask('/flagz', operator, accept('application/yaml', 'Flagz', 'v1alpha1'));
  assert.match(
    textOf(flags),
    /^kind: Flagz\napiVersion: config.k8s.io\/v1alpha1\n[\s\S]*\n {2}authorization-mode: "?\[Node,RBAC\]"?\n/,
  );
  assert.match(
    flags.headers.warning!,
    /This version of the flagz endpoint is deprecated\. Please use a newer version\./,
  );
  assert.match(textOf(await ask('/statusz', operator, 'application/json, text/plain')), /^\napiserver statusz\n/);
  for (const refused of ['application/json', accept('application/json', 'Flagz'), 'text/html']) {
    const { status: code, body } = await ask('/statusz', operator, refused);
    assert.equal(code, 406, refused);
    assert.match(
      JSON.stringify(body),
      /only the following media types are accepted: application\/json, application\/yaml, text\/plain/,
    );
  }
});

test('a profile of the processor is what the inspector makes of it; a second one at a time is refused', async () => {
  const profiling = ask('/debug/pprof/profile?seconds=5');
  await settle();
  assert.match(textOf(await ask('/debug/pprof/profile')), /cpu profiling already in use/);
  await clock.advance(5000);
  const { nodes } = JSON.parse(textOf(await profiling)) as { nodes: unknown[] };
  assert.ok(nodes.length > 0);
  assert.equal((await ask('/debug/pprof/goroutine')).status, 404);
});

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

function ask(target: string, user = operator): Promise<ApiResponse> {
  const [path = '', query = ''] = target.split('?');
  const request: ApiRequest = {
    method: 'GET',
    path,
    query: new URLSearchParams(query),
    headers: {},
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
  assert.match(text, /^\nkube-apiserver statusz\nWarning: /);
  assert.match(text, /^Started: Fri, 01 May 2026 00:00:00 GMT\nUp: 1 hr 02 min 05 sec$/m);
});

test('the flags page tells each flag as Go would print it', async () => {
  assert.match(textOf(await ask('/flagz')), /\n\nauthorization-mode=\[Node,RBAC\]\nprofiling=true\n$/);
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

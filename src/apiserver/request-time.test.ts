import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Status } from '../apimachinery/status.ts';
import { seededRandom } from '../base/random.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { type OpenServer, openServer } from './api-server.fixture.ts';
import { WatchLifetimes } from './registry/watch-lifetimes.ts';
import type { ApiRequest, ApiResponse } from './request.ts';
import type { ShutdownSettings } from './shutdown.ts';

let clock: FakeClock;
let opened: OpenServer;
let finish: () => void;
let expired: boolean;

beforeEach(async () => {
  clock = new FakeClock();
  opened = await openServer({ clock, requestTimeoutMs: 60_000 });
  expired = false;
  const answered = new Promise<void>((resolve) => {
    finish = resolve;
  });
  opened.server.registerPath('/slow', async () => {
    await answered;
    return { status: 204, headers: {}, body: { kind: 'none' } };
  });
});
afterEach(async () => {
  finish();
  await opened.close();
});

function ask(target: string, headers: Readonly<Record<string, string>> = {}): Promise<ApiResponse> {
  const [path = '', query = ''] = target.split('?');
  const request: ApiRequest = {
    method: 'GET',
    path,
    query: new URLSearchParams(query),
    headers,
    body: { kind: 'none' },
    remoteAddress: '',
    clientCertificates: [],
    signal: new AbortController().signal,
    user: { name: 'alice', groups: ['system:authenticated'] },
    expire: () => {
      expired = true;
    },
  };
  return opened.server.handle(request);
}

function statusOf({ body }: ApiResponse): Status {
  assert.equal(body.kind, 'object');
  return (body.kind === 'object' ? body.object : undefined) as Status;
}

describe('a request’s time', () => {
  for (const [target, seconds] of [
    ['/slow', 60],
    ['/slow?timeout=5s', 5],
    ['/slow?timeout=2m', 60],
    ['/slow?timeout=0', 60],
  ] as const) {
    test(`${target} is ended after ${seconds} s`, async () => {
      const answer = ask(target);
      await clock.advance(seconds * 1000 - 1);
      assert.equal(expired, false);
      await clock.advance(1);
      const { status, ...response } = await answer;
      assert.equal(status, 504);
      assert.equal(expired, true);
      const { reason, message } = statusOf({ status, ...response });
      assert.deepEqual([reason, message], ['Timeout', 'Timeout: request did not complete within the allotted timeout']);
    });
  }

  for (const [text, problem] of [
    ['5', 'time: missing unit in duration "5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
    ['soon', 'time: invalid duration "soon"'],
  ]) {
    test(`timeout=${text} is refused`, async () => {
      const answer = await ask(`/version?timeout=${text}`);
      assert.equal(answer.status, 400);
      assert.equal(statusOf(answer).message, `invalid timeout specified in the request URL - ${problem}`);
    });
  }

  test('a watch has its own: what it asks for, or the minimum to twice as long', () => {
    const lifetimes = new WatchLifetimes({ clock, random: seededRandom(1), minimumSeconds: 100 });
    assert.equal(lifetimes.lifetimeMs(7), 7000);
    const others = Array.from({ length: 50 }, () => lifetimes.lifetimeMs(0));
    assert.ok(others.every((ms) => ms >= 100_000 && ms < 200_000));
    assert.ok(new Set(others).size > 40);
  });
});

describe('a server that goes away', () => {
  const settings: ShutdownSettings = { delayMs: 5000, watchGraceMs: 0, sendRetryAfter: false, drainMs: 60_000 };
  const shutDown = (more: Partial<ShutdownSettings> = {}) => {
    const seen = { listening: true, done: false };
    void opened.server
      .shutDown({ ...settings, ...more }, () => {
        seen.listening = false;
      })
      .then(() => {
        seen.done = true;
      });
    return seen;
  };

  test('says so by /readyz, and goes on serving for the delay', async () => {
    const seen = shutDown();
    const ready = await ask('/readyz');
    assert.equal(ready.status, 500);
    assert.match(
      ready.body.kind === 'bytes' ? String(ready.body.chunks[0]) : '',
      /\[-\]shutdown failed: reason withheld/,
    );
    assert.equal((await ask('/livez')).status, 200);
    assert.equal((await ask('/version')).status, 200);
    assert.equal(seen.listening, true);
    await clock.advance(5000);
    assert.equal(seen.listening, false);
  });

  test('then refuses what is new, and waits for what is under way', async () => {
    const slow = ask('/slow');
    const seen = shutDown();
    await clock.advance(5000);
    const refused = await ask('/version');
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1']);
    assert.equal(statusOf(refused).message, 'apiserver is shutting down');
    assert.equal((await ask('/livez')).status, 200);
    assert.equal((await ask('/version', { 'user-agent': 'kube-apiserver/v1.36' })).status, 200);
    assert.equal(seen.done, false);
    finish();
    assert.equal((await slow).status, 204);
    await clock.advance(0);
    assert.equal(seen.done, true);
  });

  test('waits no longer than a request may take', async () => {
    const slow = ask('/slow');
    const seen = shutDown({ delayMs: 0, drainMs: 1000 });
    await clock.advance(1000);
    assert.equal(seen.done, true);
    finish();
    await slow;
  });

  test('keeps listening and asks to come back elsewhere, with --shutdown-send-retry-after', async () => {
    const slow = ask('/slow');
    const seen = shutDown({ delayMs: 0, sendRetryAfter: true });
    await clock.advance(0);
    const { status, headers, body } = await ask('/version');
    assert.deepEqual([status, headers['retry-after'], headers.connection], [429, '5', 'close']);
    assert.equal(
      body.kind === 'bytes' && String(body.chunks[0]),
      'The apiserver is shutting down, please try again later.\n',
    );
    assert.equal(seen.listening, true);
    finish();
    await slow;
  });

  test('ends its watches over the time it has for them', async () => {
    const lifetimes = new WatchLifetimes({ clock, random: seededRandom(1) });
    let ended = 0;
    for (let i = 0; i < 100; i++) lifetimes.add(() => ended++);
    const all = lifetimes.endAll(10_000);
    await clock.advance(0);
    assert.equal(ended, 5);
    await clock.advance(5000);
    assert.equal(ended, 55);
    await clock.advance(5000);
    await all;
    assert.equal(ended, 100);
  });
});

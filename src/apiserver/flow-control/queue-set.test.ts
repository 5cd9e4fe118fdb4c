import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import type { ApiRequest, RequestInfo } from '../request.ts';
import { FlowCounts } from './flow-counts.ts';
import { type Decision, QueueSet, type QueueSettings, type Served } from './queue-set.ts';
import { oneSeat, type WorkEstimate } from './work.ts';

const queued: QueueSettings = { queues: 64, queueLengthLimit: 3, handSize: 1 };

function setUp(limit: number, settings = queued) {
  const clock = new FakeClock();
  const set = new QueueSet(clock, false);
  set.configure(settings, limit);
  const counts = new FlowCounts('schema', 'level');
  const ask = (flow: number, { work = oneSeat, signal = new AbortController().signal, waitMs = 15_000 } = {}) => {
    const request = { signal } as ApiRequest;
    const arrival = { request, info: {} as RequestInfo, counts, distinguisher: String(flow), work };
    return set.admit(arrival, () => BigInt(flow), waitMs);
  };
  return { clock, set, counts, ask };
}

function served(decision: Decision | Promise<Decision>): Served {
  assert.ok(typeof decision === 'object' && 'finish' in decision, `served at once, not ${String(decision)}`);
  return decision;
}

describe('a priority level', () => {
  test('serves at once while there are seats, and takes them back', () => {
    const { set, ask, counts } = setUp(2);
    const first = served(ask(1));
    served(ask(2));
    assert.ok(ask(3) instanceof Promise);
    assert.deepEqual([set.seatsInUse, set.waiting, counts.waiting], [2, 1, 1]);
    first.finish();
    first.finish();
    assert.deepEqual([set.seatsInUse, set.waiting, set.executing], [2, 0, 2]);
  });

  test('serves a quiet flow between the requests of a loud one', async () => {
    const { clock, ask } = setUp(1);
    const order: string[] = [];
    const run = async (flow: number, name: string) => {
      const decision = (await ask(flow)) as Served;
      order.push(name);
      clock.after(10, () => decision.finish());
    };
    for (const name of ['a1', 'a2', 'a3', 'a4']) void run(1, name);
    void run(2, 'b1');
    await clock.advance(200);
    assert.equal(order.length, 5);
    assert.ok(order.indexOf('b1') <= 2, order.join(' '));
  });

  test('refuses what its queue has no room for, and what has waited too long', async () => {
    const { clock, ask, set, counts } = setUp(1);
    served(ask(1));
    const waiting = [ask(1, { waitMs: 1000 }), ask(1), ask(1)];
    assert.equal(ask(1), 'queue-full');
    assert.ok(ask(2) instanceof Promise, 'another queue has room');
    await clock.advance(1000);
    assert.equal(await waiting[0], 'time-out');
    assert.deepEqual(
      [...counts.rejected],
      [
        ['queue-full', 1],
        ['time-out', 1],
      ],
    );
    assert.deepEqual([set.waiting, set.rejected], [3, 2]);
  });

  test('forgets who has gone away', async () => {
    const { ask, set } = setUp(1);
    const first = served(ask(1));
    const leaving = new AbortController();
    const decision = ask(2, { signal: leaving.signal });
    leaving.abort();
    assert.equal(await decision, 'time-out');
    first.finish();
    assert.ok(set.idle);
    assert.equal(set.seatsInUse, 0);
  });

  test('without queues refuses at once', () => {
    const { ask } = setUp(1, { queues: 0, queueLengthLimit: 0, handSize: 0 });
    const first = served(ask(1));
    assert.equal(ask(2), 'concurrency-limit');
    first.finish();
    served(ask(2));
  });

  test('holds seats after the answer for as long as watchers are told', async () => {
    const { clock, ask, set } = setUp(4);
    const work: WorkEstimate = { seats: 1, finalSeats: 3, lingerMs: 50 };
    served(ask(1, { work })).finish();
    assert.deepEqual([set.executing, set.seatsInUse], [0, 3]);
    assert.ok(ask(2, { work }) instanceof Promise);
    await clock.advance(50);
    assert.deepEqual([set.executing, set.waiting], [1, 0]);
  });

  test('serves one that is wider than the level when nobody else is served', async () => {
    const { ask } = setUp(2);
    const first = served(ask(1));
    const wide = ask(2, { work: { ...oneSeat, seats: 5 } });
    assert.ok(wide instanceof Promise);
    first.finish();
    await settle();
    assert.ok(typeof (await wide) === 'object');
  });

  test('keeps serving what waits in queues that a new configuration has not', async () => {
    const { ask, set } = setUp(1);
    const first = served(ask(60));
    const later = ask(61);
    set.configure({ ...queued, queues: 2 }, 1);
    assert.ok(set.queues.length > 2);
    first.finish();
    ((await later) as Served).finish();
    assert.equal(set.queues.length, 2);
    served(ask(1));
  });
});

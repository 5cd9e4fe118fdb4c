import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { leases } from '../api/gen/coordination-v1.ts';
import { serviceUnavailable } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import { createClient } from '../client/typed-client.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { harness } from './harness.fixture.ts';
import { type LeaderElectionOptions, leaderElection } from './leader-election.ts';
import { LeadershipLostError, type LeadershipTerm } from './leadership-term.ts';

const lease = { namespace: 'kube-system', name: 'test' };

function candidate(h: ReturnType<typeof harness>, identity: string, more: Partial<LeaderElectionOptions> = {}) {
  const stop = new AbortController();
  const state = { terms: 0, leading: false, leaders: [] as string[] };
  const running = leaderElection({
    client: h.client,
    clock: h.clock,
    random: h.random,
    log: h.log,
    lease,
    identity,
    signal: stop.signal,
    onNewLeader: (name) => state.leaders.push(name),
    async lead(signal) {
      state.terms++;
      state.leading = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      state.leading = false;
    },
    ...more,
  });
  return Object.assign(state, { stop, running });
}

/** A process's view of a clock: it can miss time without any timer having told it. */
function freezable(clock: Clock) {
  let sleptMs = 0;
  return {
    clock: {
      now: () => clock.now() + sleptMs,
      monotonic: () => clock.monotonic() + sleptMs,
      after: (delayMs, callback) => clock.after(delayMs, callback),
      soon: (callback) => clock.soon(callback),
    } satisfies Clock,
    sleep(ms: number) {
      sleptMs += ms;
    },
  };
}

describe('leader election', () => {
  test('one leads, the other waits and takes over when it is handed the lease', async () => {
    const h = harness();
    const a = candidate(h, 'a');
    await h.clock.advance(100);
    const b = candidate(h, 'b');
    await h.clock.advance(60_000);
    assert.equal(a.leading, true);
    assert.equal(b.leading, false);
    const held = await h.client.get(leases, lease);
    assert.equal(held.spec.holderIdentity, 'a');
    assert.equal(held.spec.leaseDurationSeconds, 15);
    assert.equal(held.spec.leaseTransitions, 0);
    assert.match(held.spec.renewTime ?? '', /^2026-01-01T00:0[01]:\d\d\.\d{6}Z$/);
    a.stop.abort();
    await h.settle();
    await a.running;
    assert.equal((await h.client.get(leases, lease)).spec.holderIdentity, '');
    await h.clock.advance(5000);
    assert.equal(b.leading, true);
    assert.equal((await h.client.get(leases, lease)).spec.leaseTransitions, 1);
    assert.deepEqual(b.leaders, ['a', 'b']);
    b.stop.abort();
    await b.running;
  });

  test('a lease tells of its holder what the holder says, and keeps what others wrote on it', async () => {
    const h = harness();
    const a = candidate(h, 'a', { annotations: () => ({ 'example.com/at': 'a' }) });
    await h.clock.advance(100);
    await h.client.patch(leases, lease, { type: 'merge', body: { metadata: { annotations: { note: 'kept' } } } });
    a.stop.abort();
    await h.clock.advance(10);
    const b = candidate(h, 'b', { annotations: () => ({ 'example.com/at': 'b' }) });
    await h.clock.advance(20_000);
    const { metadata, spec } = await h.client.get(leases, lease);
    assert.deepEqual([metadata.annotations, spec?.holderIdentity], [{ note: 'kept', 'example.com/at': 'b' }, 'b']);
    b.stop.abort();
    await h.clock.advance(10);
    await Promise.all([a.running, b.running]);
  });

  test('a leader that died is replaced when its lease has not changed for its duration', async () => {
    const h = harness();
    const dead = new Date(h.clock.now()).toISOString().replace('Z', '000Z');
    await h.client.create(leases, {
      metadata: lease,
      spec: {
        holderIdentity: 'dead',
        leaseDurationSeconds: 15,
        acquireTime: dead,
        renewTime: dead,
        leaseTransitions: 3,
      },
    });
    const b = candidate(h, 'b');
    await h.clock.advance(14_000);
    assert.equal(b.leading, false);
    await h.clock.advance(6000);
    assert.equal(b.leading, true);
    assert.equal((await h.client.get(leases, lease)).spec.leaseTransitions, 4);
    b.stop.abort();
    await b.running;
  });

  test('a lease whose times lie in the future is not trusted longer than it is unchanged', async () => {
    const h = harness();
    const spec = { holderIdentity: 'ahead', leaseDurationSeconds: 15, renewTime: '2036-01-01T00:00:00.000000Z' };
    await h.client.create(leases, { metadata: lease, spec });
    const b = candidate(h, 'b');
    await h.clock.advance(20_000);
    assert.equal(b.leading, true);
    b.stop.abort();
    await b.running;
  });

  test('a leader that cannot renew steps down within the deadline, before another may lead', async () => {
    const h = harness();
    const a = candidate(h, 'a');
    await h.clock.advance(20_000);
    assert.equal(a.leading, true);
    h.api.failWith(() => serviceUnavailable('down'));
    await h.clock.advance(8000);
    assert.equal(a.leading, true);
    await h.clock.advance(5000);
    assert.equal(a.leading, false);
    h.api.failWith(undefined);
    await h.clock.advance(30_000);
    assert.equal(a.leading, true);
    assert.equal(a.terms, 2);
    a.stop.abort();
    await a.running;
  });

  test('a call that never ends does not keep a leader in office', async () => {
    const h = harness();
    const a = candidate(h, 'a');
    await h.clock.advance(20_000);
    h.api.failWith(() => new Promise(() => {}));
    await h.clock.advance(13_000);
    assert.equal(a.leading, false);
    h.api.failWith(undefined);
    await h.clock.advance(30_000);
    assert.equal(a.leading, true);
    a.stop.abort();
    await a.running;
  });

  test('a leader that finds another in its place steps down at once', async () => {
    const h = harness();
    const a = candidate(h, 'a');
    await h.clock.advance(20_000);
    const held = await h.client.get(leases, lease);
    await h.client.update(leases, { ...held, spec: { ...held.spec, holderIdentity: 'usurper' } });
    await h.clock.advance(2100);
    assert.equal(a.leading, false);
    a.stop.abort();
    await a.running;
    assert.equal((await h.client.get(leases, lease)).spec.holderIdentity, 'usurper');
  });

  test('a leader that was frozen starts nothing more, even before its own timers tell it that its time is over', async () => {
    const h = harness();
    const frozen = freezable(h.clock);
    let term: LeadershipTerm | undefined;
    const a = candidate(h, 'a', {
      clock: frozen.clock,
      async lead(signal, given) {
        term = given;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
    await h.clock.advance(5000);
    const client = term!.guard(h.client);
    assert.equal((await client.get(leases, lease)).spec.holderIdentity, 'a');
    frozen.sleep(11_000);
    assert.equal(term!.isCurrent(), false);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => client.get(leases, lease),
      () => client.list(leases),
      () => client.create(leases, { metadata: { namespace: 'default', name: 'late' }, spec: {} }),
      () => client.delete(leases, lease),
      () => client.watch(leases)[Symbol.asyncIterator]().next(),
      () => client.raw({ method: 'GET', path: '/version' }),
    ];
    const before = (await h.client.get(leases, lease)).metadata.resourceVersion;
    for (const call of calls) await assert.rejects(call, LeadershipLostError);
    a.stop.abort();
    await a.running;
    // Nor does it hand back what it may no longer touch.
    assert.equal((await h.client.get(leases, lease)).metadata.resourceVersion, before);
  });

  test('a lease that was won before a freeze is not believed after it', async () => {
    const h = harness();
    const frozen = freezable(h.clock);
    let answer = () => {};
    h.api.failWith(() => new Promise((resolve) => (answer = () => resolve(undefined))));
    const a = candidate(h, 'a', { clock: frozen.clock });
    await h.clock.advance(1000);
    frozen.sleep(11_000);
    h.api.failWith(undefined);
    answer();
    await h.settle();
    assert.equal(a.terms, 0);
    a.stop.abort();
    await a.running;
  });

  test('never do two lead at once, however their calls fail', async () => {
    const h = harness();
    const candidates = ['a', 'b', 'c'].map((identity) => candidate(h, identity));
    let calls = 0;
    h.api.failWith(() => (++calls % 7 < 3 ? serviceUnavailable('shaky') : undefined));
    for (let i = 0; i < 300; i++) {
      await h.clock.advance(1000);
      if (i % 90 === 89) h.api.failWith(i % 180 === 89 ? () => serviceUnavailable('down') : undefined);
      assert.ok(candidates.filter(({ leading }) => leading).length <= 1, `two leaders after ${i} s`);
    }
    h.api.failWith(undefined);
    await h.clock.advance(40_000);
    assert.equal(candidates.filter(({ leading }) => leading).length, 1);
    for (const one of candidates) one.stop.abort();
    await Promise.all(candidates.map(({ running }) => running));
  });

  test('an error of the leader itself is given to the caller, and the lease is handed back', async () => {
    const h = harness();
    const a = candidate(h, 'a', {
      async lead() {
        throw new Error('broken');
      },
    });
    const rejected = assert.rejects(a.running, /broken/);
    await h.clock.advance(1000);
    await rejected;
    assert.equal((await h.client.get(leases, lease)).spec.holderIdentity, '');
  });

  test('impossible timings are refused', async () => {
    const h = harness();
    const clock = new FakeClock();
    const options = { ...h, clock, client: createClient(h.api), lease, identity: 'a', lead: async () => {} };
    await assert.rejects(leaderElection({ ...options, leaseDurationSeconds: 10 }), /leaseDuration must be greater/);
    await assert.rejects(leaderElection({ ...options, renewDeadlineSeconds: 2 }), /renewDeadline must be greater/);
  });
});

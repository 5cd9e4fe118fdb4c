/** What is written of a Pod's status: the difference, and nothing of others; and when its object goes. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { type PodStatus, pods } from '../../api/gen/core-v1.ts';
import { conflict } from '../../apimachinery/status.ts';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { testPod } from '../kubelet.fixture.ts';
import { StatusWriter, statusPatch, targetOf } from './status-writer.ts';

const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' } as const;
const scheduled = { type: 'PodScheduled', status: 'True' } as const;

test('a condition that lost its reason loses it on the server too', () => {
  const notReady = { ...ready, status: 'False', reason: 'ContainersNotReady', message: 'c' } as const;
  const before: PodStatus = { conditions: [scheduled, notReady] };
  const patch = statusPatch(before, { conditions: [scheduled, ready] });
  assert.deepEqual(patch, { conditions: [{ ...ready, reason: null, message: null }] });
});

describe('the object of a Pod that has ended', () => {
  const ended: PodStatus = { phase: 'Succeeded' };
  const setUp = () => {
    const clock = new FakeClock();
    const api = new MemoryApi({ clock });
    api.put(pods, { ...testPod('web', 'node', { containers: [{ name: 'main', image: 'a' }] }), status: ended });
    const { client } = api;
    const writer = new StatusWriter({ client, clock, log: silentLog, signal: new AbortController().signal });
    return { api, clock, writer, pod: api.find(pods, 'default/web')! };
  };

  it('goes though its status is known already, as after a restart of the kubelet', async () => {
    const { api, writer, pod } = setUp();
    const target = targetOf(pod);
    writer.set(target, ended, pod);
    writer.finish(target);
    await writer.settled(target.uid);
    assert.deepEqual(api.all(pods), []);
  });

  it('goes though the server was kept from its status by other writes, again and again', async () => {
    const { api, clock, writer, pod } = setUp();
    const target = targetOf(pod);
    let refusals = 3;
    api.failWith(({ method }) => (method === 'PATCH' && refusals-- > 0 ? conflict(pods, 'web') : undefined));
    writer.set(target, { ...ended, reason: 'Evicted' }, pod);
    writer.finish(target);
    await clock.advance(60_000);
    assert.deepEqual(api.all(pods), []);
    assert.equal(api.writes.filter(({ method }) => method === 'PATCH').length, 4);
  });

  it('is left alone when another Pod has its name now', async () => {
    const { api, writer, pod } = setUp();
    const target = { ...targetOf(pod), uid: 'of-before' };
    writer.set(target, { phase: 'Failed' }, pod);
    writer.finish(target);
    await writer.settled(target.uid);
    assert.equal(api.find(pods, 'default/web')?.status?.phase, 'Succeeded');
  });
});

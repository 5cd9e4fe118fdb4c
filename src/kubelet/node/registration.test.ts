/** A Node that is there before its kubelet: what is kept of it, and what is not believed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { serviceUnavailable } from '../../apimachinery/status.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { registerNode } from './registration.ts';

const known: Node = {
  metadata: { name: 'n', labels: { made: 'by-hand' } },
  spec: {},
  status: { capacity: { cpu: '4', 'example.com/gpu': '2' }, allocatable: { cpu: '4', 'example.com/gpu': '1' } },
};

function setUp() {
  const clock = new FakeClock();
  const harness = kubeletHarness(clock);
  harness.api.put(nodes, known);
  const { context } = harness.context();
  const register = (forgetsDevices: boolean) =>
    registerNode({ metadata: { name: 'n' }, spec: {} }, { ...context, forgetsDevices });
  return { ...harness, clock, register, status: () => harness.api.find(nodes, 'n')?.status };
}

describe('a Node that is there already', () => {
  it('is kept as it is', async () => {
    const { api, register, status } = setUp();
    await register(false);
    assert.deepEqual(status(), known.status);
    assert.deepEqual(api.find(nodes, 'n')?.metadata.labels, { made: 'by-hand' });
  });

  it('has no devices until plugins show them, where nobody remembers any; that is tried until it is told', async () => {
    const { api, clock, register, status } = setUp();
    let failures = 2;
    api.failWith(({ method }) => (method === 'PATCH' && failures-- > 0 ? serviceUnavailable('away') : undefined));
    const registered = register(true);
    await clock.advance(1000);
    await registered;
    assert.deepEqual(status(), {
      capacity: { cpu: '4', 'example.com/gpu': '0' },
      allocatable: { cpu: '4', 'example.com/gpu': '0' },
    });
  });
});

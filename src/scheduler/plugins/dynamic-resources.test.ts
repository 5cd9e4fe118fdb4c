/** What the plugin of devices does to claims; which devices it finds is tested beside the search. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { type ResourceClaim, resourceClaims } from '../../api/gen/resource-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { MemoryInformers } from '../../testing/memory-informers.ts';
import { NodeInfo } from '../cluster-state.ts';
import { isRejection } from '../framework.ts';
import { dynamicResources } from './dynamic-resources.ts';

const pod: Pod = {
  metadata: { namespace: 'default', name: 'p', uid: 'p' },
  spec: { containers: [], resourceClaims: [{ name: 'gpu', resourceClaimName: 'c' }] },
};
const node: Node = { metadata: { name: 'here' }, spec: {} };
const elsewhere = {
  nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: ['there'] }] }],
};

async function started() {
  const api = new MemoryApi();
  const plugin = dynamicResources({
    client: api.client,
    clock: new FakeClock(),
    informers: new MemoryInformers(api),
    log: silentLog,
    random: seededRandom(1),
    signal: new AbortController().signal,
    onChange: () => {},
    event: () => {},
  });
  await plugin.whenKnown();
  const metadata = { namespace: 'default', name: 'c' };
  const made = await api.client.create(resourceClaims, { metadata, spec: {} });
  const set = (claim: ResourceClaim, status: ResourceClaim['status']) =>
    api.client.updateStatus(resourceClaims, { ...claim, ...(status ? { status } : {}) });
  const claim = await set(made, { allocation: { nodeSelector: elsewhere } });
  const prepared = plugin.prepare(pod);
  assert.ok(prepared && !isRejection(prepared));
  assert.ok(prepared.filter?.(new NodeInfo(node)));
  const now = () => api.client.get(resourceClaims, metadata);
  return { claim, now, prepared, set };
}

describe('a claim whose devices keep its Pod from every node', () => {
  it('is taken its devices', async () => {
    const { now, prepared } = await started();
    assert.equal(prepared.whenNowhere?.(), 'deallocation of ResourceClaim completed');
    assert.equal((await now()).status?.allocation, undefined);
  });

  it('keeps them where another Pod has come to use them meanwhile', async () => {
    const { claim, now, prepared, set } = await started();
    await set(claim, { ...claim.status, reservedFor: [{ resource: 'pods', name: 'other', uid: 'other' }] });
    assert.equal(prepared.whenNowhere?.(), 'still not schedulable');
    assert.ok((await now()).status?.allocation);
  });
});

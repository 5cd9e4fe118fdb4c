/** Which devices count as taken while claims are decided, written, changed by others and made anew. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AllocationResult, type ResourceClaim, resourceClaims } from '../../api/gen/resource-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SharedInformer } from '../../reconcile/shared-informer.ts';
import { ClaimLedger } from './claim-ledger.ts';

const allocation: AllocationResult = {
  devices: { results: [{ driver: 'd.example', pool: 'p', device: 'a', request: 'r' }] },
};

interface Version {
  readonly resourceVersion: string;
  readonly uid?: string;
  readonly allocation?: AllocationResult;
}

function claim({ resourceVersion, uid = 'first', ...status }: Version): ResourceClaim {
  return { metadata: { namespace: 'default', name: 'c', uid, resourceVersion }, spec: {}, status };
}

function started() {
  const { signal } = new AbortController();
  const informer = new SharedInformer<ResourceClaim>(resourceClaims, {
    log: silentLog,
    keepManagedFields: false,
    signal,
  });
  const ledger = new ClaimLedger(informer);
  const show = (...claims: ResourceClaim[]) => informer.replace(claims, '9');
  return { ledger, show, isTaken: () => ledger.has('d.example/p/a') };
}

describe('the ledger of claims', () => {
  it('counts what was decided until it is taken back', () => {
    const { ledger, show, isTaken } = started();
    const wanting = claim({ resourceVersion: '1' });
    show(wanting);
    ledger.decide(wanting, allocation);
    assert.ok(isTaken());
    ledger.takeBack(wanting);
    assert.ok(!isTaken());
  });

  it('counts what was written before it is shown', () => {
    const { ledger, show, isTaken } = started();
    const wanting = claim({ resourceVersion: '1' });
    show(wanting);
    ledger.decide(wanting, allocation);
    ledger.wrote(claim({ resourceVersion: '2', allocation }));
    assert.ok(isTaken());
    show(claim({ resourceVersion: '3' }));
    assert.ok(!isTaken());
  });

  it('counts nothing of a claim that others took its devices before the answer to the write came', () => {
    const { ledger, show, isTaken } = started();
    show(claim({ resourceVersion: '1' }));
    ledger.decide(claim({ resourceVersion: '1' }), allocation);
    show(claim({ resourceVersion: '2', allocation }));
    show(claim({ resourceVersion: '3' }));
    ledger.wrote(claim({ resourceVersion: '2', allocation }));
    assert.ok(!isTaken());
  });

  it('counts nothing of a claim that is gone, nor for it what another of its name has', () => {
    const { ledger, show, isTaken } = started();
    const wanting = claim({ resourceVersion: '1' });
    show(wanting);
    ledger.decide(wanting, allocation);
    show(claim({ resourceVersion: '3', uid: 'second', allocation }));
    ledger.takeBack(wanting);
    assert.ok(isTaken());
    show();
    assert.ok(!isTaken());
    ledger.wrote(claim({ resourceVersion: '2', allocation }));
    assert.ok(!isTaken());
  });
});

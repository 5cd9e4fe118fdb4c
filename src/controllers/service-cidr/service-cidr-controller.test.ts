import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IPAddress, ServiceCIDR } from '../../api/gen/networking-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { planServiceCidr } from './service-cidr-controller.ts';

const nowMs = Date.UTC(2026, 0, 1);
const finalizer = 'networking.k8s.io/service-cidr-finalizer';
const readyCondition = {
  type: 'Ready',
  status: 'True',
  reason: '',
  message: 'Kubernetes Service CIDR is ready',
  lastTransitionTime: formatTime(nowMs),
} as const;

function range(name: string, cidr: string, metadata: Partial<ServiceCIDR['metadata']> = {}): ServiceCIDR {
  return {
    metadata: { name, finalizers: [finalizer], ...metadata },
    spec: { cidrs: [cidr] },
    status: { conditions: [readyCondition] },
  };
}

function address(name: string, managedBy = 'ipallocator.k8s.io'): IPAddress {
  const labels = { 'ipaddress.kubernetes.io/managed-by': managedBy };
  return { metadata: { name, labels }, spec: { parentRef: { resource: 'services', namespace: 'a', name: 's' } } };
}

const deletedAgo = (ms: number) => ({ deletionTimestamp: formatTime(nowMs - ms) });
const kindsOf = (object: ServiceCIDR, ranges: readonly ServiceCIDR[], addresses: readonly IPAddress[] = []) =>
  planServiceCidr(object, { ranges: [object, ...ranges], addresses }, nowMs).map(({ kind }) => kind);

describe('A ServiceCIDR', () => {
  it('that is new is guarded and made ready', () => {
    const fresh: ServiceCIDR = { metadata: { name: 'a' }, spec: { cidrs: ['10.0.0.0/24'] } };
    assert.deepEqual(planServiceCidr(fresh, { ranges: [fresh], addresses: [] }, nowMs), [
      { kind: 'addFinalizer' },
      {
        kind: 'setCondition',
        condition: { type: 'Ready', status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' },
      },
    ]);
  });

  it('that is ready is left alone', () => assert.deepEqual(kindsOf(range('a', '10.0.0.0/24'), []), []));

  it('being deleted stays, and says why, while an address is in it alone', () => {
    const going = range('a', '10.0.0.0/24', deletedAgo(60_000));
    assert.deepEqual(kindsOf(going, [], [address('10.0.0.9')]), ['setCondition']);
    assert.deepEqual(kindsOf(going, [range('b', '10.0.0.0/28')], [address('10.0.0.200')]), ['setCondition']);
  });

  it('being deleted goes when others hold its addresses, or nobody has one', () => {
    const going = range('a', '10.0.0.0/24', deletedAgo(60_000));
    assert.deepEqual(kindsOf(going, [range('b', '10.0.0.0/16')], [address('10.0.0.9')]), ['removeFinalizer']);
    assert.deepEqual(kindsOf(going, [range('b', '10.0.0.0/28')], [address('10.0.0.9')]), ['removeFinalizer']);
    assert.deepEqual(kindsOf(going, [], [address('10.0.1.9'), address('10.0.0.9', 'somebody')]), ['removeFinalizer']);
  });

  it('being deleted waits ten seconds for allocators to hear of it', () => {
    const going = range('a', '10.0.0.0/24', deletedAgo(4_000));
    assert.deepEqual(planServiceCidr(going, { ranges: [going], addresses: [] }, nowMs), [
      { kind: 'wait', forMs: 6_000 },
    ]);
  });
});

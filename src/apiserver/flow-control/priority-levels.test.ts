import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { flowControlObjects } from '../bootstrap/bootstrap-data.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import { parseRequestInfo } from '../request-info.ts';
import { FlowCounts } from './flow-counts.ts';
import { PriorityLevels } from './priority-levels.ts';
import type { Served } from './queue-set.ts';
import { oneSeat } from './work.ts';

const { priorityLevels, flowSchemas } = flowControlObjects();
const user = (name: string, ...groups: string[]): UserInfo => ({ name, groups: [...groups, 'system:authenticated'] });
const asks = (method: string, path: string) => parseRequestInfo(method, path, new URLSearchParams());

function setUp(levels = priorityLevels, schemas = flowSchemas) {
  const clock = new FakeClock();
  const set = new PriorityLevels({ clock, totalSeats: 600 });
  set.configure(levels, schemas);
  const seats = (name: string) => set.levels.find((level) => level.name === name)!;
  return { clock, set, seats };
}

function level(name: string, shares: number, more: object = {}): PriorityLevelConfiguration {
  const limited = { nominalConcurrencyShares: shares, limitResponse: { type: 'Reject' }, ...more };
  return { metadata: { name }, spec: { type: 'Limited', limited } };
}

const schemaOf = (name: string, levelName: string): FlowSchema => ({
  metadata: { name, uid: `uid-${name}` },
  spec: {
    priorityLevelConfiguration: { name: levelName },
    matchingPrecedence: 500,
    rules: [
      {
        subjects: [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'ns', name: '*' } }],
        resourceRules: [{ verbs: ['list'], apiGroups: [''], resources: ['pods'], namespaces: ['ns'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/custom/*'] }],
      },
    ],
  },
});

describe('requests belong to the schema of lowest precedence that matches', () => {
  const { set } = setUp(priorityLevels, [...flowSchemas, schemaOf('of-ns', 'workload-low')]);
  const cases: readonly [string, UserInfo, string, string, string][] = [
    ['an operator', user('admin', 'system:masters'), 'GET', '/api/v1/pods', 'exempt'],
    ['a probe', user('anyone'), 'GET', '/readyz', 'probes'],
    [
      'a kubelet’s node status',
      user('system:node:a', 'system:nodes'),
      'PATCH',
      '/api/v1/nodes/a/status',
      'system-node-high',
    ],
    ['a kubelet', user('system:node:a', 'system:nodes'), 'GET', '/api/v1/pods', 'system-nodes'],
    [
      'a leader election',
      user('system:kube-scheduler'),
      'PUT',
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler',
      'system-leader-election',
    ],
    ['the scheduler', user('system:kube-scheduler'), 'GET', '/api/v1/pods', 'kube-scheduler'],
    [
      'the controller manager',
      user('system:kube-controller-manager'),
      'GET',
      '/api/v1/pods',
      'kube-controller-manager',
    ],
    [
      'a controller',
      user('system:serviceaccount:kube-system:job-controller', 'system:serviceaccounts:kube-system'),
      'GET',
      '/api/v1/pods',
      'kube-system-service-accounts',
    ],
    ['a person', user('alice'), 'GET', '/api/v1/namespaces/default/pods', 'global-default'],
    ['anybody', { name: 'system:anonymous', groups: ['system:unauthenticated'] }, 'GET', '/api', 'global-default'],
    ['nobody of any group', { name: 'x', groups: [] }, 'GET', '/api', 'catch-all'],
    ['a service account of a rule', user('system:serviceaccount:ns:a'), 'GET', '/api/v1/namespaces/ns/pods', 'of-ns'],
    ['the same elsewhere', user('system:serviceaccount:ns:a'), 'GET', '/api/v1/namespaces/b/pods', 'global-default'],
    ['a path below one of a rule', user('system:serviceaccount:ns:a'), 'GET', '/custom/x', 'of-ns'],
  ];
  for (const [who, asking, method, path, expected] of cases) {
    test(`${who}: ${expected}`, () => assert.equal(set.flowOf(asking, asks(method, path)).name, expected));
  }
});

describe('seats', () => {
  test('are divided by shares, and what may be lent is half lent from the start', () => {
    const { seats } = setUp();
    const of = (name: string) => {
      const { nominalSeats, leastSeats, mostSeats, widestSeats } = seats(name);
      return [nominalSeats, leastSeats, mostSeats, widestSeats];
    };
    // 245 shares in all, 600 seats.
    assert.deepEqual(of('workload-low'), [245, 24, 845, 10 + 27]);
    assert.deepEqual(of('leader-election'), [25, 25, 625, 4]);
    assert.deepEqual(of('catch-all'), [13, 13, 613, 0]);
    assert.deepEqual(of('exempt'), [0, 0, 600, 0]);
  });

  test('go to levels that want them, from those that do not', async () => {
    const lendable = { lendablePercent: 50 };
    const { clock, set, seats } = setUp([level('busy', 10, lendable), level('idle', 10, lendable)], []);
    const { queues } = seats('busy');
    const arrival = {
      request: { signal: new AbortController().signal } as ApiRequest,
      info: asks('GET', '/api'),
      counts: new FlowCounts('s', 'busy'),
      distinguisher: '',
      work: { ...oneSeat, seats: seats('busy').queues.limit },
    };
    const decision = queues.admit(arrival, () => 0n, 1000) as Served;
    await clock.advance(10_000);
    set.adjust();
    assert.ok(queues.limit > seats('busy').nominalSeats, String(queues.limit));
    assert.ok(seats('idle').queues.limit < seats('idle').nominalSeats);
    const total = set.levels.reduce((sum, { queues: { limit } }) => sum + limit, 0);
    assert.ok(Math.abs(total - 600) <= 3, String(total));
    decision.finish();
  });
});

describe('a change of configuration', () => {
  test('leaves the mandatory levels and schemas in force when everything is gone', () => {
    const { set } = setUp([], []);
    assert.deepEqual(
      set.levels.map(({ name }) => name),
      ['catch-all', 'exempt'],
    );
    assert.equal(set.flowOf(user('a'), asks('GET', '/api')).name, 'catch-all');
    assert.equal(set.flowOf(user('a', 'system:masters'), asks('GET', '/api')).name, 'exempt');
  });

  test('makes nothing of a schema without its level, nor of a malformed level', () => {
    const { set } = setUp([{ ...level('broken', 5), spec: { type: 'Limited' } }], [schemaOf('of-ns', 'broken')]);
    assert.equal(set.has('broken'), false);
    const flow = set.flowOf(user('system:serviceaccount:ns:a'), asks('GET', '/custom/x'));
    assert.equal(flow.name, 'catch-all');
  });

  test('lets a level that is gone finish what it has begun', () => {
    const { set, seats } = setUp([level('old', 10)], [schemaOf('of-ns', 'old')]);
    const flow = set.flowOf(user('system:serviceaccount:ns:a'), asks('GET', '/custom/x'));
    const request = { signal: new AbortController().signal } as ApiRequest;
    const arrival = { request, info: asks('GET', '/api'), counts: flow.counts, distinguisher: '', work: oneSeat };
    const decision = seats('old').queues.admit(arrival, () => 0n, 1000) as Served;
    set.configure([], []);
    assert.equal(seats('old').quiescing, true);
    assert.equal(set.has('old'), false);
    decision.finish();
    set.adjust();
    assert.deepEqual(
      set.levels.map(({ name }) => name),
      ['catch-all', 'exempt'],
    );
  });
});

/**
 * What priority and fairness costs a request that need not wait: its flow is found among the schemas of a new cluster, it takes a seat of
 * its level and gives it back. The figure is that of a person's read, which is matched against nearly all schemas before one fits.
 */
import { flowControlObjects } from '../src/apiserver/bootstrap/bootstrap-data.ts';
import { PriorityAndFairness } from '../src/apiserver/flow-control/priority-and-fairness.ts';
import { PriorityLevels } from '../src/apiserver/flow-control/priority-levels.ts';
import { WatchCounts } from '../src/apiserver/flow-control/watch-counts.ts';
import { workEstimator } from '../src/apiserver/flow-control/work-estimate.ts';
import type { ApiRequest, UserInfo } from '../src/apiserver/request.ts';
import { parseRequestInfo } from '../src/apiserver/request-info.ts';
import { systemClock } from '../src/base/clock.ts';
import { median, print, rounded } from './parts/figure.ts';

const rounds = 7;
const requests = 200_000;

const levels = new PriorityLevels({ clock: systemClock, totalSeats: 600 });
const { priorityLevels, flowSchemas } = flowControlObjects();
levels.configure(priorityLevels, flowSchemas);
const watches = new WatchCounts();
const control = new PriorityAndFairness({
  levels,
  watches,
  estimate: workEstimator({ watches, statistics: () => undefined }),
});

const person = { name: 'alice', groups: ['system:authenticated'] };
const askers: Readonly<Record<string, { readonly user: UserInfo; readonly method: string; readonly path: string }>> = {
  operator: { user: { name: 'admin', groups: ['system:masters'] }, method: 'POST', path: '/api/v1/namespaces/a/pods' },
  kubelet: {
    user: { name: 'system:node:a', groups: ['system:nodes', 'system:authenticated'] },
    method: 'PATCH',
    path: '/api/v1/nodes/a/status',
  },
  person: { user: person, method: 'GET', path: '/api/v1/namespaces/a/pods/b' },
};

const microseconds: Record<string, number> = {};
for (const [name, { user, method, path }] of Object.entries(askers)) {
  const query = new URLSearchParams();
  const info = parseRequestInfo(method, path, query);
  const request = { user, query, signal: new AbortController().signal } as unknown as ApiRequest;
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const beganMs = performance.now();
    for (let i = 0; i < requests; i++) {
      const entry = control.enter(request, info, 15_000);
      if (entry instanceof Promise || 'refusal' in entry) throw new Error('there is room for one request at a time');
      entry.release();
    }
    times.push(((performance.now() - beganMs) * 1000) / requests);
  }
  microseconds[name] = rounded(median(times));
}
print({
  name: 'flow-control',
  what: 'priority and fairness, of a request that need not wait',
  figure: microseconds.person,
  unit: 'us',
  better: 'lower',
  note: `an operator's write ${microseconds.operator} us, a kubelet's status ${microseconds.kubelet} us`,
});

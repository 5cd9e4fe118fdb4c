import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod, PodSpec } from '../api/gen/core-v1.ts';
import { labelMatcherOfSet } from '../apimachinery/labels.ts';
import { seededRandom } from '../base/random.ts';
import { ClusterState } from './cluster-state.ts';
import { diagnosisMessage } from './diagnosis.ts';
import type { SchedulingProfile } from './framework.ts';
import { place } from './placement.ts';
import { imageLocality } from './plugins/image-locality.ts';
import { interPodAffinity } from './plugins/inter-pod-affinity.ts';
import { nodeAffinity } from './plugins/node-affinity.ts';
import { nodeName } from './plugins/node-name.ts';
import { nodePorts } from './plugins/node-ports.ts';
import { nodeResourcesBalancedAllocation, nodeResourcesFit } from './plugins/node-resources.ts';
import { nodeUnschedulable } from './plugins/node-unschedulable.ts';
import { podTopologySpread } from './plugins/pod-topology-spread.ts';
import { schedulingGates } from './plugins/scheduling-gates.ts';
import { taintToleration } from './plugins/taint-toleration.ts';
import { podInfoOf } from './pod-info.ts';
import { preempt } from './preemption.ts';

const profile: SchedulingProfile = {
  schedulerName: 'default-scheduler',
  percentageOfNodesToScore: 0,
  plugins: [
    schedulingGates,
    nodeUnschedulable,
    nodeName,
    taintToleration,
    nodeAffinity,
    nodePorts,
    nodeResourcesFit,
    podTopologySpread((pod) => (pod.metadata.labels ? labelMatcherOfSet(pod.metadata.labels) : undefined)),
    interPodAffinity((namespace) => ({ name: namespace })),
    nodeResourcesBalancedAllocation,
    imageLocality,
  ],
};

function node(name: string, extra: Partial<Node['spec']> = {}, labels: Record<string, string> = {}): Node {
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: extra,
    status: { allocatable: { cpu: '2', memory: '4Gi', pods: '10' } },
  };
}

let serial = 0;
function pod(spec: Partial<PodSpec> = {}, labels?: Record<string, string>, requests: Record<string, string> = {}): Pod {
  const name = `p${++serial}`;
  return {
    metadata: { name, namespace: 'default', uid: name, ...(labels ? { labels } : {}) },
    spec: { containers: [{ name: 'c', image: 'x', resources: { requests } }], ...spec },
  };
}

function cluster(nodes: readonly Node[], placed: readonly (readonly [Pod, string])[] = []): ClusterState {
  const state = new ClusterState();
  for (const each of nodes) state.setNode(each);
  for (const [each, nodeName] of placed) state.setPod({ ...each, spec: { ...each.spec, nodeName } });
  return state;
}

function decide(subject: Pod, state: ClusterState): string {
  const placement = place(subject, state, profile, { random: seededRandom(1), startIndex: 0 });
  return placement.node ? placement.node.name : diagnosisMessage(placement.diagnosis);
}

const zone = 'topology.kubernetes.io/zone';
const term = (app: string, topologyKey = 'kubernetes.io/hostname') => ({
  labelSelector: { matchLabels: { app } },
  topologyKey,
});

const cases: readonly { name: string; pod: Pod; state: ClusterState; expected: string | RegExp }[] = [
  { name: 'no nodes at all', pod: pod(), state: cluster([]), expected: 'no nodes available to schedule pods' },
  {
    name: 'a cordoned node',
    pod: pod(),
    state: cluster([node('a', { unschedulable: true }), node('b')]),
    expected: 'b',
  },
  {
    name: 'only a cordoned node',
    pod: pod(),
    state: cluster([node('a', { unschedulable: true })]),
    expected: '0/1 nodes are available: 1 node(s) were unschedulable.',
  },
  {
    name: 'a taint that is not tolerated',
    pod: pod(),
    state: cluster([node('a', { taints: [{ key: 'k', effect: 'NoSchedule' }] })]),
    expected: '0/1 nodes are available: 1 node(s) had untolerated taint(s).',
  },
  {
    name: 'a taint that is tolerated',
    pod: pod({ tolerations: [{ key: 'k', operator: 'Exists' }] }),
    state: cluster([node('a', { taints: [{ key: 'k', effect: 'NoSchedule' }] })]),
    expected: 'a',
  },
  {
    name: 'a soft taint is avoided',
    pod: pod(),
    state: cluster([node('a', { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] }), node('b')]),
    expected: 'b',
  },
  {
    name: 'a node selector',
    pod: pod({ nodeSelector: { disk: 'ssd' } }),
    state: cluster([node('a'), node('b', {}, { disk: 'ssd' })]),
    expected: 'b',
  },
  {
    name: 'a node selector that nothing matches',
    pod: pod({ nodeSelector: { disk: 'tape' } }),
    state: cluster([node('a'), node('b')]),
    expected: "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
  },
  {
    name: 'reasons of several nodes are counted and sorted',
    pod: pod({}, undefined, { cpu: '3', memory: '5Gi' }),
    state: cluster([node('a'), node('b', { unschedulable: true })]),
    expected: '0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) were unschedulable.',
  },
  {
    name: 'requests on the node count, to the last thousandth',
    pod: pod({}, undefined, { cpu: '1001m' }),
    state: cluster([node('a')], [[pod({}, undefined, { cpu: '1' }), 'a']]),
    expected: '0/1 nodes are available: 1 Insufficient cpu.',
  },
  {
    name: 'a full node has room for no more Pods',
    pod: pod(),
    state: cluster(
      [node('a')],
      Array.from({ length: 10 }, () => [pod(), 'a'] as const),
    ),
    expected: '0/1 nodes are available: 1 Too many pods.',
  },
  {
    name: 'the emptier node wins',
    pod: pod({}, undefined, { cpu: '100m' }),
    state: cluster([node('a'), node('b')], [[pod({}, undefined, { cpu: '1', memory: '2Gi' }), 'a']]),
    expected: 'b',
  },
  {
    name: 'a host port in use',
    pod: pod({ containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80 }] }] }),
    state: cluster(
      [node('a')],
      [[pod({ containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80 }] }] }), 'a']],
    ),
    expected: "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
  },
  {
    name: 'the same host port on another address is free',
    pod: pod({ containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80, hostIP: '10.0.0.1' }] }] }),
    state: cluster(
      [node('a')],
      [[pod({ containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80, hostIP: '10.0.0.2' }] }] }), 'a']],
    ),
    expected: 'a',
  },
  {
    name: 'required anti-affinity keeps away',
    pod: pod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('db')] } } }),
    state: cluster([node('a'), node('b')], [[pod({}, { app: 'db' }), 'a']]),
    expected: 'b',
  },
  {
    name: "an existing Pod's anti-affinity counts too",
    pod: pod({}, { app: 'web' }),
    state: cluster(
      [node('a')],
      [
        [
          pod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('web')] } } }),
          'a',
        ],
      ],
    ),
    expected: "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
  },
  {
    name: 'required affinity goes where the others are, by zone',
    pod: pod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('db', zone)] } } }),
    state: cluster(
      [
        node('a', {}, { [zone]: 'x' }),
        node('b', { unschedulable: true }, { [zone]: 'y' }),
        node('c', {}, { [zone]: 'y' }),
      ],
      [[pod({}, { app: 'db' }), 'b']],
    ),
    expected: 'c',
  },
  {
    name: 'the first of a group that wants to be near itself is not kept waiting',
    pod: pod(
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('db')] } } },
      { app: 'db' },
    ),
    state: cluster([node('a')]),
    expected: 'a',
  },
  {
    name: 'affinity to a group that is nowhere',
    pod: pod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('db')] } } }),
    state: cluster([node('a')]),
    expected: "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
  },
  {
    name: 'a hard spread constraint',
    pod: pod(
      {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: zone,
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'w' } },
          },
        ],
      },
      { app: 'w' },
    ),
    state: cluster([node('a', {}, { [zone]: 'x' }), node('b', {}, { [zone]: 'y' })], [[pod({}, { app: 'w' }), 'a']]),
    expected: 'b',
  },
  {
    name: 'a hard spread constraint without the label on any node',
    pod: pod({
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: zone,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'w' } },
        },
      ],
    }),
    state: cluster([node('a')]),
    expected:
      "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label).",
  },
  {
    name: 'Pods of one Service spread over nodes without being asked',
    pod: pod({}, { app: 'w' }),
    state: cluster(
      [node('a'), node('b')],
      [
        [pod({}, { app: 'w' }), 'a'],
        [pod({}, { app: 'other' }), 'b'],
      ],
    ),
    expected: 'b',
  },
];

for (const { name, pod: subject, state, expected } of cases) {
  test(`placing a Pod: ${name}`, () => {
    const decision = decide(subject, state);
    if (typeof expected === 'string') assert.equal(decision, expected);
    else assert.match(decision, expected);
  });
}

test('a thousand Pods never get more than a node has, however they are spread', () => {
  const state = cluster(Array.from({ length: 20 }, (_, i) => node(`n${i}`)));
  const random = seededRandom(7);
  const context = { random, startIndex: 0 };
  for (let i = 0; i < 1000; i++) {
    const subject = pod({}, undefined, {
      cpu: `${Math.floor(random.next() * 500)}m`,
      memory: `${Math.floor(random.next() * 900)}Mi`,
    });
    const placement = place(subject, state, profile, context);
    if (placement.node) state.assume(subject, placement.node.name);
  }
  for (const info of state.nodes) {
    assert.ok((info.requested.cpu ?? 0) <= 2000 && (info.requested.memory ?? 0) <= 4 * 2 ** 30 && info.pods.size <= 10);
    assert.ok(info.pods.size > 0);
  }
});

test('a Pod bound to a node that is not known yet counts as soon as the Node appears, and after it came back', () => {
  const state = cluster([], [[pod({}, undefined, { cpu: '2' }), 'a']]);
  state.setNode(node('a'));
  assert.equal(state.node('a')?.requested.cpu, 2000);
  state.removeNode('a');
  state.setNode(node('a'));
  assert.equal(state.node('a')?.requested.cpu, 2000);
});

test('an assumption that is forgotten leaves the node as it was', () => {
  const state = cluster([node('a')]);
  const assumed = pod({}, undefined, { cpu: '1' });
  state.assume(assumed, 'a');
  assert.equal(state.node('a')?.requested.cpu, 1000);
  state.forget(state.infoOf(assumed).key);
  assert.equal(state.node('a')?.requested.cpu, 0);
  assert.equal(state.node('a')?.pods.size, 0);
});

test('a version of a Pod that only says how it does replaces the one before, and counts as that did', () => {
  const bound = pod({ nodeName: 'a' }, { app: 'web' }, { cpu: '1' });
  const state = cluster([node('a')]);
  state.setPod(bound);
  const running = { ...bound, status: { phase: 'Running' as const, startTime: '2026-01-01T00:00:00Z' } };
  state.setPod(running);
  const [held] = state.node('a')?.pods.values() ?? [];
  assert.equal(held?.pod, running);
  assert.equal(state.node('a')?.requested.cpu, 1000);
});

test('a version of a Pod whose status tells what it was given counts with that', () => {
  const bound = pod({ nodeName: 'a' }, undefined, { cpu: '1' });
  const state = cluster([node('a')]);
  state.setPod(bound);
  const [{ name }] = bound.spec.containers as [{ name: string }];
  const given = { name, image: '', imageID: '', ready: true, restartCount: 0, resources: { requests: { cpu: '2' } } };
  state.setPod({ ...bound, status: { containerStatuses: [given] } });
  assert.equal(state.node('a')?.requested.cpu, 2000);
  state.setPod(bound);
  assert.equal(state.node('a')?.requested.cpu, 1000);
});

test('a Pod on its way out no longer counts where its like are spread', () => {
  const bound = pod({ nodeName: 'a' }, { app: 'web' });
  const state = cluster([node('a')]);
  state.setPod(bound);
  const web = labelMatcherOfSet({ app: 'web' });
  assert.deepEqual([...state.matchingByNode(web, 'default')], [['a', 1]]);
  state.setPod({ ...bound, metadata: { ...bound.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
  assert.deepEqual([...state.matchingByNode(web, 'default')], []);
});

test('preemption takes the fewest and least important Pods that make room', () => {
  const small = pod({ priority: 1 }, undefined, { cpu: '500m' });
  const large = pod({ priority: 5 }, undefined, { cpu: '1500m' });
  const state = cluster(
    [node('a'), node('b')],
    [
      [small, 'a'],
      [large, 'a'],
      [pod({ priority: 100 }, undefined, { cpu: '2' }), 'b'],
    ],
  );
  const important = pod({ priority: 50 }, undefined, { cpu: '400m' });
  const placement = place(important, state, profile, { random: seededRandom(1), startIndex: 0 });
  assert.ok(!placement.node);
  const outcome = preempt(important, placement.diagnosis, { state, profile, isProtected: () => false });
  assert.deepEqual(
    outcome.victims?.pods.map((victim) => victim.metadata.name),
    [small.metadata.name],
  );
  assert.equal(state.node('a')?.requested.cpu, 2000, 'only chosen, not yet gone');
});

test('preemption that cannot help says so in upstream words', () => {
  const state = cluster([node('a')], [[pod({ priority: 100 }, undefined, { cpu: '2' }), 'a']]);
  const subject = pod({ priority: 1 }, undefined, { cpu: '1' });
  const placement = place(subject, state, profile, { random: seededRandom(1), startIndex: 0 });
  assert.ok(!placement.node);
  const outcome = preempt(subject, placement.diagnosis, { state, profile, isProtected: () => false });
  assert.equal(
    diagnosisMessage({ ...placement.diagnosis, preemption: outcome.message }),
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
  );
  const forAllNodes = { plugin: 'VolumeBinding', reasons: ['claim is lost'], resolvable: false };
  const hopeless = { ...placement.diagnosis, forAllNodes };
  const { message } = preempt(subject, hopeless, { state, profile, isProtected: () => false });
  assert.equal(
    diagnosisMessage({ ...hopeless, preemption: message }),
    '0/1 nodes are available: claim is lost. not found',
  );
});

test('the room that is made for a Pod is not given to one of less importance', () => {
  const state = cluster([node('a')]);
  const awaited = pod({ priority: 10 }, undefined, { cpu: '2' });
  state.nominate(podInfoOf(awaited), 'a');
  assert.match(decide(pod({ priority: 1 }, undefined, { cpu: '1' }), state), /1 Insufficient cpu/);
  assert.equal(decide(pod({ priority: 11 }, undefined, { cpu: '1' }), state), 'a');
  assert.equal(decide(awaited, state), 'a');
  assert.equal(state.node('a')?.pods.size, 0, 'trying changes nothing');
  state.nominate(podInfoOf(awaited), undefined);
  assert.equal(decide(pod({ priority: 1 }, undefined, { cpu: '1' }), state), 'a');
});

test('a node that holds the image is preferred, for as long as it holds it', () => {
  const holding = (name: string, images: readonly string[]): Node => ({
    ...node(name),
    status: { ...node(name).status, images: [{ names: images, sizeBytes: 500 * 1024 * 1024 }] },
  });
  const state = cluster([node('a'), holding('b', ['x:latest'])]);
  assert.equal(state.nodesWithImage('x:latest'), 1);
  assert.equal(decide(pod(), state), 'b');
  state.setNode(holding('b', ['y:latest']));
  state.setNode(holding('a', ['x:latest']));
  assert.equal(decide(pod(), state), 'a');
  state.removeNode('b');
  assert.equal(state.nodesWithImage('y:latest'), 0);
  assert.equal(state.nodesWithImage('x:latest'), 1);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../testing/properties.fixture.ts';
import type { NodeSelectorTerm, Pod, Taint, Toleration } from '../../gen/core-v1.ts';
import { given, merged } from '../../given.fixture.ts';
import { parseImageReference } from './image-reference.ts';
import {
  matchesNodeSelection,
  matchesNodeSelectorTerm,
  pinnedNodeNames,
  preferredNodeWeight,
} from './node-affinity.ts';
import { podBehaviour } from './pod.ts';
import { podLimits, podRequests } from './pod-resources.ts';
import { isPodAvailable, shouldRestart, withPodCondition } from './pod-status.ts';
import { qosClass } from './quality-of-service.ts';
import { tolerates, tolerationSeconds, untoleratedTaint } from './tolerations.ts';

function pod(spec: object, status: object = {}): Pod {
  const base = { spec: { containers: [{ name: 'a', image: 'a' }] } };
  return given(podBehaviour, merged(base, { spec, status })) as unknown as Pod;
}

const container = (name: string, requests: object = {}, limits: object = {}, more: object = {}) => ({
  name,
  image: 'a',
  resources: { requests, limits },
  ...more,
});
const sidecar = { restartPolicy: 'Always' };

describe('what a Pod requests', () => {
  const cases: readonly (readonly [title: string, spec: object, requests: object])[] = [
    ['is nothing when its containers ask nothing', {}, {}],
    [
      'is the sum of its containers',
      { containers: [container('a', { cpu: '100m', memory: '1Ki' }), container('b', { cpu: '200m' })] },
      { cpu: 300, memory: 1024 },
    ],
    [
      'is at least what one init container needs',
      { initContainers: [container('i', { cpu: '1' })], containers: [container('a', { cpu: '100m' })] },
      { cpu: 1000 },
    ],
    [
      'counts a sidecar with all that runs beside it',
      {
        initContainers: [container('s', { cpu: '50m' }, {}, sidecar), container('i', { cpu: '500m' })],
        containers: [container('a', { cpu: '100m' }), container('b', { cpu: '200m' })],
      },
      { cpu: 550 },
    ],
    [
      'does not count a sidecar with what ran before it',
      {
        initContainers: [container('i', { cpu: '500m' }), container('s', { cpu: '50m' }, {}, sidecar)],
        containers: [container('a', { cpu: '100m' })],
      },
      { cpu: 500 },
    ],
    [
      'includes its overhead',
      { overhead: { cpu: '10m' }, containers: [container('a', { cpu: '100m' })] },
      { cpu: 110 },
    ],
    [
      'is what the Pod says as a whole, where it does',
      { resources: { requests: { cpu: '2' } }, containers: [container('a', { cpu: '100m', 'example.com/gpu': '1' })] },
      { cpu: 2000, 'example.com/gpu': 1 },
    ],
  ];
  for (const [title, spec, requests] of cases) it(title, () => assert.deepEqual(podRequests(pod(spec)), requests));

  it('is never less than any of its containers requests', () => {
    const amounts = fc.array(fc.tuple(fc.integer({ min: 0, max: 4000 }), fc.boolean()), { maxLength: 4 });
    fc.assert(
      fc.property(amounts, amounts, (inits, mains) => {
        const cpu = (milli: number) => ({ cpu: `${milli}m` });
        const spec = {
          initContainers: inits.map(([m, stays], i) => container(`i${i}`, cpu(m), {}, stays ? sidecar : {})),
          containers: mains.map(([m], i) => container(`c${i}`, cpu(m))),
        };
        const total = podRequests(pod(spec)).cpu ?? 0;
        const together =
          mains.reduce((sum, [m]) => sum + m, 0) + inits.reduce((sum, [m, stays]) => sum + (stays ? m : 0), 0);
        assert.ok(total >= together);
        assert.ok(inits.every(([m]) => total >= m));
      }),
    );
  });

  it('is limited by the sum of limits, with overhead where there is a limit', () => {
    const spec = { overhead: { cpu: '10m', memory: '1Ki' }, containers: [container('a', {}, { cpu: '1' })] };
    assert.deepEqual(podLimits(pod(spec)), { cpu: 1010 });
  });
});

describe('the quality of service', () => {
  const both = { cpu: '1', memory: '1Gi' };
  const cases: readonly (readonly [qos: string, spec: object])[] = [
    ['BestEffort', {}],
    ['BestEffort', { containers: [container('a', { cpu: '0' })] }],
    ['Burstable', { containers: [container('a', { cpu: '1' })] }],
    ['Burstable', { containers: [container('a', both, both), container('b')] }],
    ['Burstable', { containers: [container('a', { cpu: '500m', memory: '1Gi' }, both)] }],
    ['Guaranteed', { containers: [container('a', both, both), container('b', {}, both)] }],
    ['Burstable', { initContainers: [container('i')], containers: [container('a', both, both)] }],
  ];
  for (const [qos, spec] of cases)
    it(`is ${qos} for ${JSON.stringify(spec)}`, () => assert.equal(qosClass(pod(spec)), qos));
});

describe('a toleration', () => {
  const taint: Taint = { key: 'a', value: '5', effect: 'NoSchedule' };
  const cases: readonly (readonly [toleration: Toleration, holds: boolean])[] = [
    [{ operator: 'Exists' }, true],
    [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }, true],
    [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }, false],
    [{ key: 'a', value: '5' }, true],
    [{ key: 'a', operator: 'Equal', value: '6' }, false],
    [{ key: 'b', operator: 'Exists' }, false],
    [{ key: 'a', operator: 'Lt', value: '6' }, true],
    [{ key: 'a', operator: 'Gt', value: '6' }, false],
    [{ key: 'a', operator: 'Gt', value: 'x' }, false],
  ];
  for (const [toleration, holds] of cases) {
    const { key = 'any key', operator = 'Equal', value = '', effect = 'any effect' } = toleration;
    it(`of ${key} ${operator} ${value} with ${effect} ${holds ? 'covers' : 'does not cover'} a=5:NoSchedule`, () =>
      assert.equal(tolerates(toleration, taint), holds));
  }

  it('leaves the first taint that it does not cover', () => {
    const taints: Taint[] = [taint, { key: 'b', effect: 'NoExecute' }];
    const effects = ['NoSchedule', 'NoExecute'] as const;
    assert.equal(untoleratedTaint(taints, [{ key: 'a', operator: 'Exists' }], effects)?.key, 'b');
    assert.equal(untoleratedTaint(taints, [{ operator: 'Exists' }], effects), undefined);
    assert.equal(untoleratedTaint([taint], [], ['NoExecute']), undefined);
  });

  it('lets a Pod stay for the shortest time that applies', () => {
    const evicting: Taint[] = [
      { key: 'a', effect: 'NoExecute' },
      { key: 'b', effect: 'NoExecute' },
    ];
    const tolerate = (...seconds: (number | undefined)[]) =>
      pod({
        tolerations: seconds.map((tolerationSeconds, i) => ({
          key: 'ab'[i],
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds,
        })),
      });
    assert.equal(tolerationSeconds(tolerate(300, 20), evicting), 20);
    assert.equal(tolerationSeconds(tolerate(undefined, undefined), evicting), Number.POSITIVE_INFINITY);
    assert.equal(tolerationSeconds(tolerate(300), evicting), 0);
    assert.equal(tolerationSeconds(tolerate(-5, 20), evicting), 0);
  });
});

describe('node affinity', () => {
  const node = { metadata: { name: 'n1', labels: { zone: 'a', size: '5' } } };
  const expression = (key: string, operator: string, ...values: string[]): NodeSelectorTerm => ({
    matchExpressions: [{ key, operator: operator as 'In', values }],
  });
  const cases: readonly (readonly [term: NodeSelectorTerm, holds: boolean])[] = [
    [{}, false],
    [expression('zone', 'In', 'a', 'b'), true],
    [expression('zone', 'NotIn', 'a'), false],
    [expression('none', 'NotIn', 'a'), true],
    [expression('zone', 'Exists'), true],
    [expression('zone', 'DoesNotExist'), false],
    [expression('size', 'Gt', '4'), true],
    [expression('size', 'Lt', '5'), false],
    [expression('zone', 'Gt', '1'), false],
    [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }, true],
    [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }] }, false],
  ];
  for (const [term, holds] of cases) {
    it(`${JSON.stringify(term)} ${holds ? 'matches' : 'does not match'}`, () =>
      assert.equal(matchesNodeSelectorTerm(term, node), holds));
  }

  const affine = (affinity: object, more: object = {}) => pod({ affinity: { nodeAffinity: affinity }, ...more });

  it('has terms that are alternatives, beside labels that must all be there', () => {
    const nodeSelectorTerms = [expression('zone', 'In', 'x'), expression('zone', 'In', 'a')];
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    assert.equal(matchesNodeSelection(affine(required), node), true);
    assert.equal(matchesNodeSelection(affine(required, { nodeSelector: { size: '6' } }), node), false);
  });

  it('prefers by the sum of the weights that apply', () => {
    const preferredDuringSchedulingIgnoredDuringExecution = [
      { weight: 10, preference: expression('zone', 'In', 'a') },
      { weight: 5, preference: expression('size', 'Exists') },
      { weight: 50, preference: expression('zone', 'In', 'b') },
    ];
    assert.equal(preferredNodeWeight(affine({ preferredDuringSchedulingIgnoredDuringExecution }), node), 15);
  });

  it('names the nodes that a Pod is pinned to', () => {
    const pin = (...values: string[]) => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values }] });
    const required = (...nodeSelectorTerms: object[]) =>
      affine({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } });
    assert.deepEqual([...pinnedNodeNames(required(pin('a'), pin('b')))!], ['a', 'b']);
    assert.equal(pinnedNodeNames(required(pin('a'), expression('zone', 'Exists'))), undefined);
    assert.equal(pinnedNodeNames(pod({})), undefined);
  });
});

describe('the status of a Pod', () => {
  it('is available some time after it is ready', () => {
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const at = (seconds: number) => Date.parse('2026-01-01T00:00:00Z') + seconds * 1000;
    const running = pod({}, { conditions: [ready] });
    assert.equal(isPodAvailable(running, 10, at(9)), false);
    assert.equal(isPodAvailable(running, 10, at(10)), true);
    assert.equal(isPodAvailable(pod({}), 0, at(0)), false);
  });

  it('keeps the time of a condition whose status stays, and the list when nothing changes', () => {
    const first = { type: 'Ready', status: 'True', lastTransitionTime: '2025-01-01T00:00:00Z' } as const;
    const list = [first];
    const later = { ...first, lastTransitionTime: '2026-01-01T00:00:00Z' };
    assert.equal(withPodCondition(list, later), list);
    assert.deepEqual(withPodCondition(list, { ...later, reason: 'X' }), [{ ...first, reason: 'X' }]);
    assert.deepEqual(withPodCondition(list, { ...later, status: 'False' }), [{ ...later, status: 'False' }]);
  });

  it('restarts containers by their own policy before the rules of the Pod', () => {
    const { spec } = pod({ restartPolicy: 'OnFailure' });
    const plain = spec.containers[0]!;
    assert.equal(shouldRestart(plain, spec, 1), true);
    assert.equal(shouldRestart(plain, spec, 0), false);
    assert.equal(shouldRestart({ ...plain, restartPolicy: 'Always' }, spec, 0), true);
    assert.equal(shouldRestart({ ...plain, restartPolicy: 'Never' }, spec, 1), false);
  });
});

describe('the name of an image', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const cases: readonly (readonly [text: string, repository: string, tag: string, digest: string])[] = [
    ['nginx', 'docker.io/library/nginx', '', ''],
    ['nginx:1.27', 'docker.io/library/nginx', '1.27', ''],
    ['team/app', 'docker.io/team/app', '', ''],
    ['localhost:5000/app', 'localhost:5000/app', '', ''],
    ['registry.k8s.io/pause:3.10', 'registry.k8s.io/pause', '3.10', ''],
    [`ghcr.io/a/b:1@${digest}`, 'ghcr.io/a/b', '1', digest],
  ];
  for (const [text, repository, tag, hash] of cases) {
    it(`${text} is ${repository}`, () =>
      assert.deepEqual(parseImageReference(text), { repository, tag, digest: hash }));
  }
  for (const text of ['', 'A', 'a:', 'a@b', '/a', 'a'.repeat(64).replaceAll('a', 'f')]) {
    it(`is not ${JSON.stringify(text)}`, () => assert.equal(parseImageReference(text), undefined));
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Binding, nodes, type Pod, pods } from '../../../api/gen/core-v1.ts';
import { type RuntimeClass, runtimeClasses } from '../../../api/gen/node-v1.ts';
import { type PriorityClass, priorityClasses } from '../../../api/gen/scheduling-v1.ts';
import { attributesOf, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import { alwaysPullImages } from './always-pull-images.ts';
import { defaultTolerationSeconds, extendedResourceToleration } from './default-tolerations.ts';
import { limitPodHardAntiAffinityTopology, podTopologyLabels } from './pod-topology.ts';
import { priority } from './priority.ts';
import { runtimeClass } from './runtime-class.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';

const pod = (spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'a' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

async function admittedBy(plugin: Parameters<typeof run>[0], object: Pod, oldObject?: Pod): Promise<Pod> {
  const attributes = attributesOf({ type: pods, object, ...(oldObject ? { oldObject } : {}) });
  await run(plugin, attributes);
  return attributes.object as Pod;
}

describe('Priority', () => {
  const priorityClass = (name: string, value: number, rest: Partial<PriorityClass> = {}): PriorityClass => ({
    metadata: { name },
    value,
    preemptionPolicy: 'PreemptLowerPriority',
    ...rest,
  });
  const high = priorityClass('high', 1000, { preemptionPolicy: 'Never' });
  const cases: readonly {
    readonly name: string;
    readonly spec: Partial<Pod['spec']>;
    readonly classes: readonly PriorityClass[];
    readonly gives?: readonly [string | undefined, number, string];
    readonly refused?: string;
  }[] = [
    { name: '0 without a class', spec: {}, classes: [], gives: [undefined, 0, 'PreemptLowerPriority'] },
    { name: "the named class's", spec: { priorityClassName: 'high' }, classes: [high], gives: ['high', 1000, 'Never'] },
    {
      name: "the default class's",
      spec: {},
      classes: [high, priorityClass('std', 7, { globalDefault: true })],
      gives: ['std', 7, 'PreemptLowerPriority'],
    },
    {
      name: 'nothing for a class that is not there',
      spec: { priorityClassName: 'x' },
      classes: [],
      refused: 'no PriorityClass with name x was found',
    },
    {
      name: 'nothing for a number of the user',
      spec: { priorityClassName: 'high', priority: 5 },
      classes: [high],
      refused:
        'the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name',
    },
    {
      name: 'nothing for a policy of the user',
      spec: { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' },
      classes: [high],
      refused:
        'the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name',
    },
  ];
  for (const { name, spec, classes, gives, refused } of cases) {
    it(`gives a pod ${name}`, async () => {
      const { api, context } = pluginHarness();
      api.put(priorityClasses, ...classes);
      const attributes = attributesOf({ type: pods, object: pod(spec) });
      assert.equal(await refusalOf(priority(context), attributes), refused && `pods "web" is forbidden: ${refused}`);
      if (!gives) return;
      const { priorityClassName, priority: value, preemptionPolicy } = (attributes.object as Pod).spec;
      assert.deepEqual([priorityClassName, value, preemptionPolicy], gives);
    });
  }

  it('keeps the number in an update by a client that does not know it', async () => {
    const { context } = pluginHarness();
    const { spec } = await admittedBy(priority(context), pod(), pod({ priority: 9, preemptionPolicy: 'Never' }));
    assert.deepEqual([spec.priority, spec.preemptionPolicy], [9, 'Never']);
  });

  it('refuses a second default class', async () => {
    const { api, context } = pluginHarness();
    const first = priorityClass('std', 7, { globalDefault: true });
    api.put(priorityClasses, first);
    const second = attributesOf({ type: priorityClasses, object: priorityClass('two', 8, { globalDefault: true }) });
    assert.equal(
      await refusalOf(priority(context), second),
      'priorityclasses.scheduling.k8s.io "two" is forbidden: PriorityClass std is already marked as default. Only one default can exist',
    );
    const itself = attributesOf({ type: priorityClasses, object: first, oldObject: first });
    assert.equal(await refusalOf(priority(context), itself), undefined);
  });

  it('knows a class that the informer does not know yet', async () => {
    const { api, context, informers } = pluginHarness();
    const plugin = priority(context);
    informers.lag = true;
    api.put(priorityClasses, high);
    assert.equal((await admittedBy(plugin, pod({ priorityClassName: 'high' }))).spec.priority, 1000);
  });
});

describe('DefaultTolerationSeconds', () => {
  const notReady = {
    key: 'node.kubernetes.io/not-ready',
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  };
  const unreachable = { ...notReady, key: 'node.kubernetes.io/unreachable' };
  const cases: readonly (readonly [string, Pod['spec']['tolerations'], readonly object[]])[] = [
    ['adds both', undefined, [notReady, unreachable]],
    [
      'keeps what the pod says of one',
      [{ key: notReady.key, operator: 'Exists', effect: 'NoExecute' }],
      [{ key: notReady.key, operator: 'Exists', effect: 'NoExecute' }, unreachable],
    ],
    [
      'takes a toleration of any effect for an answer',
      [{ key: notReady.key, operator: 'Exists' }],
      [{ key: notReady.key, operator: 'Exists' }, unreachable],
    ],
    ['takes a toleration of everything for an answer to both', [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
    [
      'does not take NoSchedule for an answer',
      [{ key: notReady.key, effect: 'NoSchedule' }],
      [{ key: notReady.key, effect: 'NoSchedule' }, notReady, unreachable],
    ],
  ];
  for (const [name, tolerations, expected] of cases) {
    it(name, async () =>
      assert.deepEqual((await admittedBy(defaultTolerationSeconds(), pod({ tolerations }))).spec.tolerations, expected),
    );
  }
  it('takes other times from flags', async () => {
    const plugin = defaultTolerationSeconds({ notReadySeconds: 5, unreachableSeconds: 6 });
    const { tolerations } = (await admittedBy(plugin, pod())).spec;
    assert.deepEqual(
      tolerations?.map((t) => t.tolerationSeconds),
      [5, 6],
    );
  });
});

describe('ExtendedResourceToleration', () => {
  it('tolerates the taint named like a device, once', async () => {
    const requests = { 'example.com/gpu': '1', cpu: '1', 'hugepages-2Mi': '1Mi' };
    const twice = pod({
      containers: [
        { name: 'a', resources: { requests } },
        { name: 'b', resources: { requests } },
      ],
    });
    const { tolerations } = (await admittedBy(extendedResourceToleration(), twice)).spec;
    assert.deepEqual(tolerations, [{ key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule' }]);
  });
});

describe('RuntimeClass', () => {
  const runtime = (rest: Partial<RuntimeClass> = {}): RuntimeClass => ({
    metadata: { name: 'vm' },
    handler: 'kata',
    ...rest,
  });
  const overhead = { podFixed: { cpu: '100m' } };
  const withClass = async (object: Pod, ...classes: RuntimeClass[]) => {
    const { api, context } = pluginHarness();
    api.put(runtimeClasses, ...classes);
    const attributes = attributesOf({ type: pods, object });
    const refused = await refusalOf(runtimeClass(context), attributes);
    return { refused: refused?.replace('pods "web" is forbidden: ', ''), spec: (attributes.object as Pod).spec };
  };

  it('adds overhead, node selector and tolerations', async () => {
    const scheduling = { nodeSelector: { vm: 'yes' }, tolerations: [{ key: 'vm', operator: 'Exists' as const }] };
    const { spec } = await withClass(
      pod({ runtimeClassName: 'vm', nodeSelector: { disk: 'ssd' } }),
      runtime({ overhead, scheduling }),
    );
    assert.deepEqual(spec.overhead, { cpu: '100m' });
    assert.deepEqual(spec.nodeSelector, { disk: 'ssd', vm: 'yes' });
    assert.deepEqual(spec.tolerations, [{ key: 'vm', operator: 'Exists' }]);
  });

  const refusals: readonly (readonly [string, Pod, readonly RuntimeClass[], string])[] = [
    ['a class that is not there', pod({ runtimeClassName: 'x' }), [], 'pod rejected: RuntimeClass "x" not found'],
    [
      'another overhead',
      pod({ runtimeClassName: 'vm', overhead: { cpu: '1' } }),
      [runtime({ overhead })],
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      'an overhead without class',
      pod({ overhead: { cpu: '1' } }),
      [],
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ],
    [
      'a contradicting node selector',
      pod({ runtimeClassName: 'vm', nodeSelector: { vm: 'no' } }),
      [runtime({ scheduling: { nodeSelector: { vm: 'yes' } } })],
      'conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
    ],
  ];
  for (const [name, object, classes, message] of refusals) {
    it(`refuses ${name}`, async () => assert.equal((await withClass(object, ...classes)).refused, message));
  }
});

describe('Plugins that look at pods alone', () => {
  it('AlwaysPullImages makes every container pull', async () => {
    const object = pod({
      initContainers: [{ name: 'i', image: 'x', imagePullPolicy: 'Never' }],
      volumes: [{ name: 'v', image: { reference: 'r' } }],
    });
    const { spec } = await admittedBy(alwaysPullImages(), object);
    assert.deepEqual(
      [...spec.containers, ...spec.initContainers!].map((c) => c.imagePullPolicy),
      ['Always', 'Always'],
    );
    assert.equal(spec.volumes?.[0]?.image?.pullPolicy, 'Always');
  });

  it('AlwaysPullImages refuses what another plugin changed back', async () => {
    const attributes = attributesOf({
      type: pods,
      object: pod({ containers: [{ name: 'c', imagePullPolicy: 'Never' }] }),
    });
    assert.throws(() => alwaysPullImages().validate?.(attributes), {
      message:
        'pods "web" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"',
    });
  });

  it('LimitPodHardAntiAffinityTopology takes nothing wider than a node', async () => {
    const term = (topologyKey: string) => ({
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] },
    });
    const ask = (affinity: Pod['spec']['affinity']) =>
      refusalOf(limitPodHardAntiAffinityTopology(), attributesOf({ type: pods, object: pod({ affinity }) }));
    assert.equal(await ask(term('kubernetes.io/hostname')), undefined);
    assert.match(
      (await ask(term('topology.kubernetes.io/zone')))!,
      /has TopologyKey topology.kubernetes.io\/zone but only key kubernetes.io\/hostname is allowed$/,
    );
  });

  it('PodTopologyLabels copies zone and region of the node a pod is bound to', async () => {
    const { api, context } = pluginHarness();
    const labels = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r', other: 'o' };
    api.put(nodes, { metadata: { name: 'n1', labels }, spec: {} });
    const binding: Binding = { metadata: { name: 'web', namespace: 'a' }, target: { kind: 'Node', name: 'n1' } };
    const attributes = attributesOf({ type: pods, object: binding, subresource: 'binding' });
    await run(podTopologyLabels(context), attributes);
    assert.deepEqual(attributes.object?.metadata.labels, {
      'topology.kubernetes.io/zone': 'z',
      'topology.kubernetes.io/region': 'r',
    });
  });

  it('TaintNodesByCondition keeps pods off a new node', async () => {
    const attributes = attributesOf({ type: nodes, object: { metadata: { name: 'n' }, spec: {} } });
    await run(taintNodesByCondition(), attributes);
    await run(taintNodesByCondition(), attributes);
    assert.deepEqual(attributes.object, {
      metadata: { name: 'n' },
      spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
    });
  });
});

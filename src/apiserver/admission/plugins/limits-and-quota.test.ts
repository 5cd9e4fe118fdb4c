import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  configMaps,
  type LimitRangeItem,
  limitRanges,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  pods,
  type ResourceQuota,
  resourceQuotas,
  type Service,
  services,
} from '../../../api/gen/core-v1.ts';
import { conflict } from '../../../apimachinery/status.ts';
import { attributesOf, type PluginHarness, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import { inScope } from '../quota/usage.ts';
import { limitRanger } from './limit-ranger.ts';
import { resourceQuota } from './resource-quota.ts';

type Amounts = Record<string, string>;

const container = (name: string, requests?: Amounts, limits?: Amounts) => ({
  name,
  resources: { ...(requests ? { requests } : {}), ...(limits ? { limits } : {}) },
});
const pod = (spec: Partial<Pod['spec']>): Pod => ({
  metadata: { name: 'web', namespace: 'a' },
  spec: { containers: [], ...spec },
});
const claim = (storage: string, storageClassName?: string): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'a' },
  spec: { resources: { requests: { storage } }, ...(storageClassName ? { storageClassName } : {}) },
});

describe('LimitRanger', () => {
  const ranged = (...limits: LimitRangeItem[]) => {
    const harness = pluginHarness();
    harness.api.put(limitRanges, { metadata: { name: 'l', namespace: 'a' }, spec: { limits } });
    return limitRanger(harness.context);
  };

  it('gives containers default requests and limits, and says so', async () => {
    const plugin = ranged({ type: 'Container', default: { cpu: '1', memory: '1Gi' }, defaultRequest: { cpu: '100m' } });
    const object = pod({
      containers: [container('c'), container('d', { cpu: '2' })],
      initContainers: [container('i', {}, { memory: '2Gi' })],
    });
    const attributes = attributesOf({ type: pods, object });
    await run(plugin, attributes);
    const { spec, metadata } = attributes.object as Pod;
    assert.deepEqual(spec.containers[0]!.resources, { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } });
    assert.equal(spec.containers[1]!.resources?.requests?.cpu, '2');
    assert.equal(
      metadata.annotations?.['kubernetes.io/limit-ranger'],
      'LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c; cpu, memory limit for container d; cpu request for init container i; cpu limit for init container i',
    );
  });

  const cases: readonly (readonly [string, LimitRangeItem, Pod, string | undefined])[] = [
    [
      'a container within',
      { type: 'Container', min: { cpu: '100m' }, max: { cpu: '1' } },
      pod({ containers: [container('c', { cpu: '0.5' }, { cpu: '1000m' })] }),
      undefined,
    ],
    [
      'a request too small',
      { type: 'Container', min: { cpu: '100m' } },
      pod({ containers: [container('c', { cpu: '50m' })] }),
      'minimum cpu usage per Container is 100m, but request is 50m',
    ],
    [
      'no request',
      { type: 'Container', min: { cpu: '100m' } },
      pod({ containers: [container('c')] }),
      'minimum cpu usage per Container is 100m.  No request is specified',
    ],
    [
      'a limit too large',
      { type: 'Container', max: { memory: '1Gi' } },
      pod({ containers: [container('c', {}, { memory: '2Gi' })] }),
      'maximum memory usage per Container is 1Gi, but limit is 2Gi',
    ],
    [
      'no limit',
      { type: 'Container', max: { memory: '1Gi' } },
      pod({ containers: [container('c')] }),
      'maximum memory usage per Container is 1Gi.  No limit is specified',
    ],
    [
      'a ratio too large',
      { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
      pod({ containers: [container('c', { cpu: '1' }, { cpu: '3' })] }),
      'cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000',
    ],
    [
      'a sum of containers too large',
      { type: 'Pod', max: { cpu: '2' } },
      pod({ containers: [container('c', {}, { cpu: '1' }), container('d', {}, { cpu: '1500m' })] }),
      'maximum cpu usage per Pod is 2, but limit is 2500m',
    ],
    [
      'an init container that counts alone',
      { type: 'Pod', max: { cpu: '2' } },
      pod({ containers: [container('c', {}, { cpu: '1' })], initContainers: [container('i', {}, { cpu: '2' })] }),
      undefined,
    ],
    [
      'a sidecar that counts beside the rest',
      { type: 'Pod', max: { cpu: '2' } },
      pod({
        containers: [container('c', {}, { cpu: '1' })],
        initContainers: [{ ...container('s', {}, { cpu: '1500m' }), restartPolicy: 'Always' }],
      }),
      'maximum cpu usage per Pod is 2, but limit is 2500m',
    ],
    [
      'two problems',
      { type: 'Container', min: { cpu: '1' }, max: { memory: '1' } },
      pod({ containers: [container('c')] }),
      '[minimum cpu usage per Container is 1.  No request is specified, maximum memory usage per Container is 1.  No limit is specified]',
    ],
  ];
  for (const [name, item, object, refused] of cases) {
    it(`${refused ? 'refuses' : 'admits'} ${name}`, async () => {
      assert.equal(
        await refusalOf(ranged(item), attributesOf({ type: pods, object })),
        refused && `pods "web" is forbidden: ${refused}`,
      );
    });
  }

  it('holds claims to their bounds', async () => {
    const plugin = ranged({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '10Gi' } });
    const ask = (storage: string) =>
      refusalOf(plugin, attributesOf({ type: persistentVolumeClaims, object: claim(storage) }));
    assert.equal(await ask('5Gi'), undefined);
    assert.equal(
      await ask('20Gi'),
      'persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 20Gi',
    );
  });

  it('asks the server about a range just made', async () => {
    const { api, context, informers } = pluginHarness();
    const plugin = limitRanger(context);
    informers.lag = true;
    api.put(limitRanges, {
      metadata: { name: 'l', namespace: 'a' },
      spec: { limits: [{ type: 'Container', min: { cpu: '1' } }] },
    });
    assert.match(
      (await refusalOf(plugin, attributesOf({ type: pods, object: pod({ containers: [container('c')] }) })))!,
      /minimum cpu/,
    );
  });
});

describe('ResourceQuota', () => {
  const quota = (hard: Amounts, used: Amounts, spec: Partial<ResourceQuota['spec']> = {}): ResourceQuota => ({
    metadata: { name: 'q', namespace: 'a' },
    spec: { hard, ...spec },
    status: { hard, used },
  });
  const withQuota = (...quotas: ResourceQuota[]): PluginHarness => {
    const harness = pluginHarness();
    harness.api.put(resourceQuotas, ...quotas);
    return harness;
  };
  const used = ({ api }: PluginHarness, key = 'a/q') => api.find(resourceQuotas, key)?.status?.used;
  const web = pod({ containers: [container('c', { cpu: '500m', memory: '1Gi' }, { cpu: '1' })] });

  it('charges what a pod asks for', async () => {
    const hard = { pods: '2', 'requests.cpu': '1', 'limits.cpu': '2', memory: '2Gi', 'count/pods': '5', secrets: '1' };
    const zero = { pods: '0', 'requests.cpu': '0', 'limits.cpu': '0', memory: '0', 'count/pods': '0', secrets: '1' };
    const harness = withQuota(quota(hard, zero));
    assert.equal(await refusalOf(resourceQuota(harness.context), attributesOf({ type: pods, object: web })), undefined);
    assert.deepEqual(used(harness), {
      pods: '1',
      'requests.cpu': '500m',
      'limits.cpu': '1',
      memory: '1Gi',
      'count/pods': '1',
      secrets: '1',
    });
  });

  it('refuses what does not fit, with the numbers', async () => {
    const harness = withQuota(quota({ pods: '1', cpu: '1' }, { pods: '1', cpu: '600m' }));
    assert.equal(
      await refusalOf(resourceQuota(harness.context), attributesOf({ type: pods, object: web })),
      'pods "web" is forbidden: exceeded quota: q, requested: cpu=500m,pods=1, used: cpu=600m,pods=1, limited: cpu=1,pods=1',
    );
    assert.deepEqual(used(harness), { pods: '1', cpu: '600m' });
  });

  it('makes containers state what is limited', async () => {
    const harness = withQuota(
      quota({ 'limits.memory': '1Gi', 'requests.cpu': '1' }, { 'limits.memory': '0', 'requests.cpu': '0' }),
    );
    const object = pod({ containers: [container('b'), container('a', { cpu: '1' })] });
    assert.equal(
      await refusalOf(resourceQuota(harness.context), attributesOf({ type: pods, object })),
      'pods "web" is forbidden: failed quota: q: must specify limits.memory for: a,b; requests.cpu for: b',
    );
  });

  it('refuses while the quota has not been counted', async () => {
    const harness = withQuota(quota({ pods: '1' }, {}));
    assert.equal(
      await refusalOf(resourceQuota(harness.context), attributesOf({ type: pods, object: web })),
      'pods "web" is forbidden: status unknown for quota: q, resources: pods',
    );
  });

  it('charges nothing in a dry run, but refuses', async () => {
    const harness = withQuota(quota({ pods: '1' }, { pods: '0' }));
    const plugin = resourceQuota(harness.context);
    assert.equal(await refusalOf(plugin, attributesOf({ type: pods, object: web, dryRun: true })), undefined);
    assert.deepEqual(used(harness), { pods: '0' });
  });

  it('charges many at once, with one write, and never too much', async () => {
    const harness = withQuota(quota({ 'count/configmaps': '5' }, { 'count/configmaps': '0' }));
    const plugin = resourceQuota(harness.context);
    const ask = (i: number) =>
      refusalOf(plugin, attributesOf({ type: configMaps, object: { metadata: { name: `c${i}`, namespace: 'a' } } }));
    const outcomes = await Promise.all(Array.from({ length: 9 }, (_, i) => ask(i)));
    assert.equal(outcomes.filter((message) => message === undefined).length, 5);
    assert.deepEqual(used(harness), { 'count/configmaps': '5' });
    const writes = harness.api.requests.filter(({ path }) => path.endsWith('/status')).length;
    assert.ok(writes <= 2, `${writes} writes`);
  });

  it('reads again what another server charged meanwhile', async () => {
    const harness = withQuota(quota({ pods: '3' }, { pods: '0' }));
    const plugin = resourceQuota(harness.context);
    let conflicts = 0;
    harness.api.failWith(({ path }) => {
      if (!path.endsWith('/status') || conflicts++ > 0) return;
      harness.informers.lag = true;
      harness.api.put(resourceQuotas, quota({ pods: '3' }, { pods: '2' }));
      throw conflict(resourceQuotas, 'q');
    });
    assert.equal(await refusalOf(plugin, attributesOf({ type: pods, object: web })), undefined);
    assert.deepEqual(used(harness), { pods: '3' });
    assert.match(
      (await refusalOf(plugin, attributesOf({ type: pods, object: web })))!,
      /exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3/,
    );
  });

  const scoped: readonly (readonly [string, Partial<ResourceQuota['spec']>, Partial<Pod['spec']>, boolean])[] = [
    ['BestEffort takes a pod without requests', { scopes: ['BestEffort'] }, { containers: [container('c')] }, true],
    [
      'BestEffort leaves out one with',
      { scopes: ['BestEffort'] },
      { containers: [container('c', { cpu: '1' })] },
      false,
    ],
    [
      'NotBestEffort the other way round',
      { scopes: ['NotBestEffort'] },
      { containers: [container('c', { cpu: '1' })] },
      true,
    ],
    [
      'Terminating takes a pod with a deadline',
      { scopes: ['Terminating'] },
      { activeDeadlineSeconds: 5, containers: [container('c')] },
      true,
    ],
    [
      'NotTerminating leaves it out',
      { scopes: ['NotTerminating'] },
      { activeDeadlineSeconds: 5, containers: [container('c')] },
      false,
    ],
    [
      'PriorityClass takes its class',
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] } },
      { priorityClassName: 'high', containers: [container('c')] },
      true,
    ],
    [
      'PriorityClass leaves out others',
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] } },
      { priorityClassName: 'low', containers: [container('c')] },
      false,
    ],
  ];
  it('scope VolumeAttributesClass takes claims by every class they have, had or are to have', () => {
    const claims = { group: '', version: 'v1', resource: 'persistentvolumeclaims' };
    const inClass = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', claim: object, ...values: string[]) =>
      inScope({ scopeName: 'VolumeAttributesClass', operator, values }, claims, { spec: {}, ...claim });
    const gold = { spec: { volumeAttributesClassName: 'gold' } };
    assert.equal(inClass('In', gold, 'gold'), true);
    assert.equal(inClass('In', gold, 'silver'), false);
    assert.equal(inClass('In', { status: { currentVolumeAttributesClassName: 'silver' } }, 'silver'), true);
    const turning = { ...gold, status: { modifyVolumeStatus: { targetVolumeAttributesClassName: 'silver' } } };
    assert.equal(inClass('In', turning, 'silver'), true);
    assert.equal(inClass('NotIn', turning, 'gold'), true, 'one of them is another');
    assert.equal(inClass('NotIn', {}, 'gold'), true);
    assert.equal(inClass('Exists', gold), true);
    assert.equal(inClass('Exists', {}), false);
    assert.equal(inClass('DoesNotExist', {}), true);
    assert.equal(inScope({ scopeName: 'PriorityClass', operator: 'Exists' }, claims, gold), false);
  });

  for (const [name, spec, podSpec, charged] of scoped) {
    it(`scope ${name}`, async () => {
      const harness = withQuota(quota({ pods: '5' }, { pods: '0' }, spec));
      await run(resourceQuota(harness.context), attributesOf({ type: pods, object: pod(podSpec) }));
      assert.deepEqual(used(harness), { pods: charged ? '1' : '0' });
    });
  }

  it('charges an update only the difference', async () => {
    const service = (type: 'ClusterIP' | 'LoadBalancer'): Service => ({
      metadata: { name: 's', namespace: 'a', resourceVersion: '1' },
      spec: { type, ports: [{ port: 80 }, { port: 81 }] },
    });
    const names = { services: '5', 'services.loadbalancers': '1', 'services.nodeports': '2' };
    const harness = withQuota(
      quota(names, { services: '1', 'services.loadbalancers': '0', 'services.nodeports': '0' }),
    );
    const plugin = resourceQuota(harness.context);
    await run(
      plugin,
      attributesOf({ type: services, object: service('LoadBalancer'), oldObject: service('ClusterIP') }),
    );
    assert.deepEqual(used(harness), { services: '1', 'services.loadbalancers': '1', 'services.nodeports': '2' });
  });

  it('counts claims by their class', async () => {
    const hard = { 'requests.storage': '10Gi', 'fast.storageclass.storage.k8s.io/requests.storage': '5Gi' };
    const harness = withQuota(
      quota(hard, { 'requests.storage': '0', 'fast.storageclass.storage.k8s.io/requests.storage': '0' }),
    );
    const plugin = resourceQuota(harness.context);
    await run(plugin, attributesOf({ type: persistentVolumeClaims, object: claim('4Gi', 'fast') }));
    assert.deepEqual(used(harness), {
      'requests.storage': '4Gi',
      'fast.storageclass.storage.k8s.io/requests.storage': '4Gi',
    });
    assert.match(
      (await refusalOf(plugin, attributesOf({ type: persistentVolumeClaims, object: claim('4Gi', 'fast') })))!,
      /exceeded quota: q, requested: fast\.storageclass/,
    );
  });
});

describe('ResourceQuota with limited resources', () => {
  const configured = (...limitedResources: object[]) => ({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'ResourceQuotaConfiguration',
    limitedResources,
  });
  const asked = async (
    quotas: readonly ResourceQuota[],
    limited: object,
    { object = web, oldObject }: { object?: Pod; oldObject?: Pod } = {},
  ) => {
    const { context, api } = pluginHarness();
    api.put(resourceQuotas, ...quotas);
    const attributes = attributesOf({ type: pods, object, ...(oldObject ? { oldObject } : {}) });
    return refusalOf(resourceQuota(context, configured(limited)), attributes);
  };
  const web = pod({ containers: [container('c', { cpu: '500m' })], priorityClassName: 'cluster-services' });
  const quota = (hard: Amounts, spec: Partial<ResourceQuota['spec']> = {}): ResourceQuota => ({
    metadata: { name: 'q', namespace: 'a' },
    spec: { hard, ...spec },
    status: { hard, used: Object.fromEntries(Object.keys(hard).map((name) => [name, '0'])) },
  });
  const cpu = { resource: 'pods', matchContains: ['cpu'] };
  const scope = { scopeName: 'PriorityClass', operator: 'In', values: ['cluster-services'] } as const;

  it('refuses what no quota covers, naming all of it', async () => {
    const all = 'pods "web" is forbidden: insufficient quota to consume: cpu,requests.cpu';
    assert.equal(await asked([], cpu), all);
    assert.equal(await asked([quota({ pods: '5' })], cpu), all);
    assert.equal(
      await asked([quota({ 'requests.cpu': '5' })], cpu),
      'pods "web" is forbidden: insufficient quota to consume: cpu',
    );
    assert.equal(await asked([quota({ 'requests.cpu': '5', cpu: '5' })], cpu), undefined);
  });

  it('lets alone other resources, what is not used, and updates that take no more', async () => {
    assert.equal(await asked([], { ...cpu, apiGroup: 'apps' }), undefined);
    assert.equal(await asked([], { ...cpu, matchContains: ['memory'] }), undefined);
    const stored = (seconds?: number): Pod => ({
      ...web,
      metadata: { ...web.metadata, resourceVersion: '1' },
      spec: { ...web.spec, ...(seconds === undefined ? {} : { activeDeadlineSeconds: seconds }) },
    });
    assert.equal(await asked([], cpu, { object: stored(5), oldObject: stored() }), undefined);
  });

  it('refuses an object in a limited scope where no quota has that scope', async () => {
    const limited = { resource: 'pods', matchScopes: [scope] };
    const message = 'insufficient quota to match these scopes: [{PriorityClass In [cluster-services]}]';
    assert.equal(await asked([], limited), message);
    assert.equal(await asked([quota({ pods: '5' })], limited), message);
    const covering = quota({ pods: '5' }, { scopeSelector: { matchExpressions: [scope] } });
    assert.equal(await asked([covering], limited), undefined);
    assert.equal(await asked([], limited, { object: pod({ containers: [] }) }), undefined);
  });

  it('asks for cover once, not of the quotas alone that were charged by others meanwhile', async () => {
    const { context, api } = pluginHarness();
    const named = (name: string, hard: Amounts) => ({ ...quota(hard), metadata: { name, namespace: 'a' } });
    api.put(resourceQuotas, named('whole', { cpu: '5' }), named('requests', { 'requests.cpu': '5' }));
    let conflicts = 0;
    api.failWith(({ path }) =>
      path.endsWith('/status') && conflicts++ === 0 ? conflict(resourceQuotas, 'whole') : undefined,
    );
    const plugin = resourceQuota(context, configured(cpu));
    assert.equal(await refusalOf(plugin, attributesOf({ type: pods, object: web })), undefined);
    const spent = (key: string) => api.find(resourceQuotas, key)?.status?.used;
    assert.deepEqual([spent('a/whole'), spent('a/requests')], [{ cpu: '500m' }, { 'requests.cpu': '500m' }]);
  });

  it('does not start on a configuration that is none', () => {
    const { context } = pluginHarness();
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [{ kind: 'Other' }, /no kind "Other" is registered for version ""/],
      [configured({ resource: 'pods' }, {}), /limitedResources\[1\]\.resource: Required value/],
      [configured({ resource: 'pods', match: [] }), /unknown field "limitedResources\[0\]\.match"/],
      [{ ...configured(), limitedResources: {} }, /limitedResources is not a list/],
    ];
    for (const [configuration, message] of cases) assert.throws(() => resourceQuota(context, configuration), message);
  });
});

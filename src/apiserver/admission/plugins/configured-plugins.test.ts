/** Plugins that do what their configuration says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterTrustBundles } from '../../../api/gen/certificates-v1beta1.ts';
import { events, namespaces, nodes, type Pod, pods, type Toleration } from '../../../api/gen/core-v1.ts';
import type { StatusError } from '../../../apimachinery/status.ts';
import { attributesOf, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import { clusterTrustBundleAttest } from './certificates.ts';
import { eventRateLimit } from './event-rate-limit.ts';
import { podNodeSelector } from './pod-node-selector.ts';
import { podSecurity } from './pod-security.ts';
import { podTolerationRestriction } from './pod-toleration-restriction.ts';
import { nodeDeclaredFeatureValidator, podResizeValidator } from './pod-update-validators.ts';

const pod = (spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'a', ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

async function inNamespace(annotations: Readonly<Record<string, string>>, labels = {}) {
  const harness = pluginHarness();
  await harness.api.client.create(namespaces, { metadata: { name: 'a', annotations, labels }, spec: {} });
  return harness;
}

describe('PodNodeSelector', () => {
  const key = 'scheduler.alpha.kubernetes.io/node-selector';
  const configuration = { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'zone=1', a: 'zone=1,disk=ssd' } };

  it("adds the namespace's labels, or the cluster's where it says nothing", async () => {
    for (const [annotations, expected] of [
      [{ [key]: 'disk=ssd' }, { disk: 'ssd' }],
      [{}, { zone: '1' }],
    ] as const) {
      const { context } = await inNamespace(annotations);
      const attributes = attributesOf({ type: pods, object: pod() });
      await run(podNodeSelector(context, configuration), attributes);
      assert.deepEqual((attributes.object as Pod).spec.nodeSelector, expected);
    }
  });

  it('refuses what contradicts them, and what is not allowed', async () => {
    const { context } = await inNamespace({ [key]: 'zone=1' });
    const refused = (nodeSelector: Record<string, string>) =>
      refusalOf(podNodeSelector(context, configuration), attributesOf({ type: pods, object: pod({ nodeSelector }) }));
    assert.equal(
      await refused({ zone: '2' }),
      'pods "web" is forbidden: pod node label selector conflicts with its namespace node label selector',
    );
    assert.equal(
      await refused({ gpu: 'yes' }),
      'pods "web" is forbidden: pod node label selector labels conflict with its namespace whitelist',
    );
    assert.equal(await refused({ disk: 'ssd' }), undefined);
  });
});

describe('PodTolerationRestriction', () => {
  const defaults = 'scheduler.alpha.kubernetes.io/defaultTolerations';
  const allowed = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';
  const batch: Toleration = { key: 'batch', operator: 'Exists', effect: 'NoSchedule' };
  const memory: Toleration = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' };

  it("adds the namespace's tolerations, and one for memory to who asks for some", async () => {
    const { context } = await inNamespace({ [defaults]: JSON.stringify([batch]) });
    const admitted = async (object: Pod) => {
      const attributes = attributesOf({ type: pods, object });
      await run(podTolerationRestriction(context, { default: [{ key: 'x', operator: 'Exists' }] }), attributes);
      return (attributes.object as Pod).spec.tolerations;
    };
    assert.deepEqual(await admitted(pod()), [batch]);
    const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }];
    assert.deepEqual(await admitted(pod({ containers })), [batch, memory]);
  });

  it('refuses what neither the namespace nor the cluster allows', async () => {
    const wanted = pod({ tolerations: [{ key: 'gpu', operator: 'Exists' }] });
    for (const [annotations, scope] of [
      [{ [allowed]: JSON.stringify([batch]) }, 'namespace'],
      [{}, 'cluster'],
    ] as const) {
      const { context } = await inNamespace(annotations);
      const plugin = podTolerationRestriction(context, { whitelist: [batch] });
      assert.equal(
        await refusalOf(plugin, attributesOf({ type: pods, object: wanted })),
        `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`,
      );
    }
    const { context } = await inNamespace({ [allowed]: '' });
    const plugin = podTolerationRestriction(context, { whitelist: [batch] });
    assert.equal(await refusalOf(plugin, attributesOf({ type: pods, object: wanted })), undefined);
  });
});

describe('EventRateLimit', () => {
  const event = (namespace: string) => ({
    metadata: { name: 'e', namespace },
    involvedObject: { kind: 'Pod', namespace, name: 'web' },
  });
  const limits = [
    { type: 'Namespace', qps: 1, burst: 2 },
    { type: 'SourceAndObject', qps: 100, burst: 100, cacheSize: 1 },
  ];

  it('lets a burst through, then so many a second, each namespace by itself', async () => {
    const { context, clock } = pluginHarness();
    const plugin = eventRateLimit(context, { limits });
    const sent = (namespace: string, dryRun = false) =>
      refusalOf(plugin, attributesOf({ type: events, object: event(namespace), dryRun }));
    assert.equal(await sent('a'), undefined);
    assert.equal(await sent('a'), undefined);
    assert.equal(await sent('a'), 'limit reached on type Namespace for key a');
    assert.equal(await sent('a', true), undefined);
    assert.equal(await sent('b'), undefined);
    await clock.advance(1000);
    assert.equal(await sent('a'), undefined);
  });

  it('does not start on a configuration that is none', () => {
    const { context } = pluginHarness();
    assert.throws(() => eventRateLimit(context), /limits: Invalid value: null: must not be empty/);
    const wrong = { limits: [{ type: 'Server', qps: 0, burst: 1 }] };
    assert.throws(() => eventRateLimit(context, wrong), /limits\[0\]\.qps: Invalid value: 0: must be positive/);
  });
});

describe('PodResizeValidator', () => {
  const cases: readonly { name: string; os?: string; cpu: string; message?: string; cause?: string }[] = [
    { name: 'what the node has', cpu: '2', os: 'linux' },
    {
      name: 'more than the node has',
      cpu: '5',
      message:
        'pods "web" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 5000, allocatable: 4000',
      cause: 'NodeCapacity',
    },
    {
      name: 'anything on Windows',
      cpu: '1',
      os: 'windows',
      message: 'pods "web" is forbidden: pod resize is only supported on linux nodes, node "n" is "windows"',
      cause: 'UnsupportedPlatform',
    },
  ];
  for (const { name, os, cpu, message, cause } of cases) {
    it(`${message ? 'refuses' : 'allows'} ${name}`, async () => {
      const { api, context } = pluginHarness();
      const labels: Record<string, string> = os ? { 'kubernetes.io/os': os } : {};
      api.put(nodes, {
        metadata: { name: 'n', labels },
        spec: {},
        status: { allocatable: { cpu: '4' } },
      });
      const sized = (generation: number, requests: Record<string, string>) =>
        pod({ nodeName: 'n', containers: [{ name: 'c', image: 'i', resources: { requests } }] }, { generation });
      const object = sized(2, { cpu });
      const attributes = attributesOf({ type: pods, subresource: 'resize', object, oldObject: sized(1, {}) });
      const refused = await run(podResizeValidator(context), attributes).then(
        () => undefined,
        (error: StatusError) => error,
      );
      assert.equal(refused?.message, message);
      assert.deepEqual(refused?.status.details?.causes, cause && [{ reason: cause }]);
    });
  }
});

describe('NodeDeclaredFeatureValidator', () => {
  const sized = (generation: number, spec: Partial<Pod['spec']>) => pod({ nodeName: 'n', ...spec }, { generation });
  const initial = (cpu: string, sidecar = false) => ({
    initContainers: [
      { name: 'i', resources: { requests: { cpu } }, ...(sidecar ? { restartPolicy: 'Always' as const } : {}) },
    ],
  });
  const resized = async (declaredFeatures: readonly string[], object: Pod, oldObject: Pod, subresource = 'resize') => {
    const { api, context } = pluginHarness();
    api.put(nodes, { metadata: { name: 'n' }, spec: {}, status: { declaredFeatures } });
    const attributes = attributesOf({ type: pods, subresource, object, oldObject });
    return refusalOf(nodeDeclaredFeatureValidator(context), attributes);
  };
  const podLevel = 'InPlacePodLevelResourcesVerticalScaling';
  const init = 'InPlacePodVerticalScalingInitContainers';
  const larger = { resources: { requests: { cpu: '2' } } };

  it('refuses an update that the node does not know how to follow, naming all that is missing', async () => {
    const stored = sized(1, initial('1'));
    const object = sized(2, { ...initial('2'), ...larger });
    const refused = (missing: string) =>
      `pods "web" is forbidden: pod update requires features ${missing} which are not available on node "n"`;
    assert.equal(await resized([], object, stored), refused(`${podLevel}, ${init}`));
    assert.equal(await resized([podLevel], object, stored), refused(init));
    assert.equal(await resized([podLevel, init], object, stored), undefined);
    const elsewhere = { ...object, spec: { ...object.spec, nodeName: 'm' } };
    assert.equal(await resized([], elsewhere, stored), 'pods "web" is forbidden: node "m" not found');
  });

  it('lets alone what every node can follow, Pods without a node, and other updates', async () => {
    assert.equal(await resized([], sized(2, initial('2', true)), sized(1, initial('1', true))), undefined);
    assert.equal(await resized([], sized(2, { activeDeadlineSeconds: 5 }), sized(1, {}), ''), undefined);
    assert.equal(await resized([], sized(1, larger), sized(1, {})), undefined);
    assert.equal(await resized([], sized(2, initial('1000m')), sized(1, initial('1'))), undefined, 'the same amount');
    assert.equal(await resized([], sized(2, larger), sized(1, {}), 'status'), undefined);
    assert.equal(await resized([], pod(larger, { generation: 2 }), pod({}, { generation: 1 })), undefined);
  });
});

describe('ClusterTrustBundleAttest', () => {
  const bundle = (finalizers: readonly string[] = [], trustBundle = 'x') => ({
    metadata: { name: 'b', finalizers },
    spec: { signerName: 'example.com/s', trustBundle },
  });
  const message =
    'clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to attest for signerName "example.com/s"';

  it('asks for the right to speak for the signer', async () => {
    const { context, allowed } = pluginHarness();
    const attributes = () => attributesOf({ type: clusterTrustBundles, object: bundle() });
    assert.equal(await refusalOf(clusterTrustBundleAttest(context), attributes()), message);
    allowed.add('attest signers/example.com/*');
    assert.equal(await refusalOf(clusterTrustBundleAttest(context), attributes()), undefined);
  });

  it('lets anyone who may update take part in garbage collection', async () => {
    const { context } = pluginHarness();
    const update = (object: ReturnType<typeof bundle>) =>
      refusalOf(
        clusterTrustBundleAttest(context),
        attributesOf({ type: clusterTrustBundles, object, oldObject: bundle() }),
      );
    assert.equal(await update(bundle(['f'])), undefined);
    assert.equal(await update(bundle([], 'y')), message);
  });
});

describe('PodSecurity by configuration', () => {
  const configuration = (more: object) => ({
    apiVersion: 'pod-security.admission.config.k8s.io/v1',
    kind: 'PodSecurityConfiguration',
    ...more,
  });
  const bold = (spec: Partial<Pod['spec']> = {}) => pod({ hostNetwork: true, ...spec });
  const enforced = { defaults: { enforce: 'baseline', 'enforce-version': 'v1.30', audit: 'restricted' } };

  it('enforces its defaults where a namespace says nothing, and tells the audit log', async () => {
    const { context } = await inNamespace({});
    const told: Record<string, string> = {};
    const attributes = {
      ...attributesOf({ type: pods, object: bold() }),
      annotate: (key: string, value: string) => void Object.assign(told, { [key]: value }),
    };
    assert.equal(
      await refusalOf(podSecurity(context, configuration(enforced)), attributes),
      'pods "web" is forbidden: violates PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)',
    );
    assert.equal(told['pod-security.kubernetes.io/enforce-policy'], 'baseline:v1.30');
    assert.match(
      told['pod-security.kubernetes.io/audit-violations'] ?? '',
      /^would violate PodSecurity "restricted:latest": host namespaces \(hostNetwork=true\), allowPrivilegeEscalation/,
    );
  });

  it('lets alone whom it exempts', async () => {
    for (const [exemptions, spec, kind] of [
      [{ namespaces: ['a'] }, {}, 'namespace'],
      [{ usernames: ['alice'] }, {}, 'user'],
      [{ runtimeClasses: ['kata'] }, { runtimeClassName: 'kata' }, 'runtimeClass'],
    ] as const) {
      const { context } = await inNamespace({});
      const told: string[] = [];
      const attributes = {
        ...attributesOf({ type: pods, object: bold(spec) }),
        annotate: (key: string, value: string) => void told.push(`${key}=${value}`),
      };
      assert.equal(
        await refusalOf(podSecurity(context, configuration({ ...enforced, exemptions })), attributes),
        undefined,
      );
      assert.deepEqual(told, [`pod-security.kubernetes.io/exempt=${kind}`]);
    }
  });

  it('warns of labels that an exempt namespace has in vain', async () => {
    const { context } = pluginHarness();
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const object = { metadata: { name: 'a', labels }, spec: {} };
    const attributes = attributesOf({ type: namespaces, object });
    await run(podSecurity(context, configuration({ exemptions: { namespaces: ['a'] } })), attributes);
    assert.deepEqual(attributes.warnings, [
      'namespace "a" is exempt from Pod Security, and the policy (enforce=restricted:latest) will be ignored',
    ]);
  });

  it('does not start on a configuration that is none', () => {
    const { context } = pluginHarness();
    const wrong = configuration({ defaults: { warn: 'strict' }, exemptions: { usernames: ['', 'a', 'a'] } });
    assert.throws(
      () => podSecurity(context, wrong),
      /defaults\.warn: Invalid value: "strict": must be one of privileged, baseline, restricted.*usernames\[0\].*username must not be empty.*usernames\[2\]: Duplicate value: "a"/,
    );
  });
});

/** Flags and configuration file of the kubelet. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseFlags } from '../serving/flags.ts';
import { defaultConfiguration } from './configuration.ts';
import { kubeletFlags, kubeletSettings } from './options.ts';

const file = (fields: object) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  ...fields,
});
const settings = (words: readonly string[], content?: object) =>
  kubeletSettings(parseFlags(kubeletFlags, words), content && file(content));

it("gives upstream's defaults without any flag", () => {
  const { configuration, server, runtimeEndpoint } = settings([]);
  assert.deepEqual({ ...configuration, maxParallelImagePulls: 1 }, defaultConfiguration);
  assert.equal(runtimeEndpoint, 'unix:///run/containerd/containerd.sock');
  assert.equal(server.anonymousAuthentication, true);
  assert.equal(server.authorizationMode, 'AlwaysAllow');
});

it('is stricter where a configuration file is used', () => {
  const { server } = settings([], {});
  assert.deepEqual(
    [server.anonymousAuthentication, server.webhookAuthentication, server.authorizationMode, server.readOnlyPort],
    [false, true, 'Webhook', 0],
  );
});

it('lets a flag win over the file, and the file over the default', () => {
  const { configuration } = settings(['--max-pods=5'], {
    maxPods: 7,
    clusterDNS: ['10.0.0.10'],
    nodeStatusReportFrequency: '1m',
  });
  assert.equal(configuration.maxPods, 5);
  assert.deepEqual(configuration.clusterDns, ['10.0.0.10']);
  assert.equal(configuration.nodeStatusReportFrequencyMs, 60_000);
});

it('reads taints, labels and address pairs', () => {
  const { configuration } = settings([
    '--register-with-taints=a=b:NoSchedule,c:NoExecute',
    '--node-labels=x=y',
    '--node-ip=10.0.0.1,fd00::1',
  ]);
  assert.deepEqual(configuration.registerWithTaints, [
    { key: 'a', value: 'b', effect: 'NoSchedule' },
    { key: 'c', effect: 'NoExecute' },
  ]);
  assert.deepEqual(configuration.nodeLabels, { x: 'y' });
  assert.deepEqual(configuration.nodeIps, ['10.0.0.1', 'fd00::1']);
});

it('lets nobody ask for what a gate is closed for, nor for shutdown periods that contradict one another', () => {
  const problems = (gates: Readonly<Record<string, boolean>>, fields: object) => {
    try {
      settings([], { featureGates: gates, ...fields });
    } catch (error) {
      return (error as Error).message.replace('failed to validate kubelet configuration, error: ', '');
    }
    return undefined;
  };
  const periods = { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' };
  const table = { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 60 }] };
  assert.equal(problems({}, periods), undefined);
  assert.equal(problems({}, table), undefined);
  assert.equal(
    problems({ GracefulNodeShutdown: false }, periods),
    'invalid configuration: specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
  );
  assert.equal(
    problems({ GracefulNodeShutdownBasedOnPodPriority: false }, table),
    'invalid configuration: Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
  );
  assert.equal(
    problems({}, { ...periods, ...table }),
    'invalid configuration: Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
  );
  assert.equal(
    problems({}, { shutdownGracePeriod: '1s', shutdownGracePeriodCriticalPods: '2s' }),
    'invalid configuration: shutdownGracePeriodCriticalPods {2s} must be <= shutdownGracePeriod {1s}',
  );
  assert.match(
    problems({}, { shutdownGracePeriod: '1ms' }) ?? '',
    /shutdownGracePeriod \{1ms\} must be either zero or/,
  );
  assert.equal(
    problems({ NodeSwap: false }, { memorySwap: { swapBehavior: 'LimitedSwap' } }),
    'invalid configuration: memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled',
  );
  assert.equal(
    problems({}, { memoryReservationPolicy: 'TieredReservation' }),
    'invalid configuration: memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
  );
  assert.equal(problems({ MemoryQoS: true }, { memoryReservationPolicy: 'TieredReservation' }), undefined);
});

it('does without swap and without hints about memory nodes where their gates are closed', () => {
  const words = ['--topology-manager-policy=restricted'];
  const { configuration } = settings([...words, '--feature-gates=TopologyManager=false,NodeSwap=false']);
  assert.deepEqual([configuration.topologyManagerPolicy, configuration.swapBehavior], ['none', 'NoSwap']);
  const open = settings(words).configuration;
  assert.deepEqual([open.topologyManagerPolicy, open.swapBehavior], ['restricted', 'LimitedSwap']);
});

it('refuses what it does not know, by name', () => {
  assert.throws(() => settings([], { maxPodz: 3 }), /unknown field "maxPodz"/);
  assert.throws(() => settings([], { maxPods: 'many' }), /cannot unmarshal string/);
  assert.throws(() => kubeletSettings(parseFlags(kubeletFlags, []), { kind: 'Pod' }), /no kind "Pod"/);
  assert.throws(() => settings(['--register-with-taints=nonsense']), /invalid taint spec: nonsense/);
});

it('shares ids out in units of 16 bits', () => {
  const ids = (idsPerPod: number) =>
    settings([], { userNamespaces: { idsPerPod } }).configuration.userNamespaceIdsPerPod;
  assert.equal(ids(131_072), 131_072);
  for (const [wrong, rule] of [
    [0, 'not be less than 65536'],
    [65_537, 'be a multiple of 65536'],
    [2 ** 32, 'not be more than 4294967295'],
  ] as const)
    assert.throws(() => ids(wrong), { message: `invalid configuration: userNamespaces.idsPerPod must ${rule}` });
});

it('runs with cgroup v1 unless it is told not to', () => {
  const fails = (words: readonly string[], content?: object) => settings(words, content).failCgroupV1;
  assert.deepEqual(
    [fails([]), fails([], { failCgroupV1: true }), fails(['--fail-cgroupv1']), fails(['--fail-cgroupv1=false'])],
    [false, true, true, false],
  );
});

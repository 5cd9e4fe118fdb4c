/** What nodes and Pods use: from a kubelet's page to `kubectl top` and an autoscaler. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { apiServices } from '../../api/gen/apiregistration-v1.ts';
import { deployments } from '../../api/gen/apps-v1.ts';
import { horizontalPodAutoscalers } from '../../api/gen/autoscaling-v2.ts';
import { nodes, pods } from '../../api/gen/core-v1.ts';
import { nodeMetrics, podMetrics } from '../../api/gen/metrics-v1beta1.ts';
import { clusterRoleBindings } from '../../api/gen/rbac-v1.ts';
import { findCondition, isConditionTrue } from '../../apimachinery/conditions.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { isForbidden, isNotFound } from '../../apimachinery/status.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { keysInMemory } from '../../cluster/certificates/cluster-pki.ts';
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane/control-plane.ts';
import { type KubeletServer, startKubeletServer } from '../../kubelet/server/kubelet-server.ts';
import { viewOf } from '../../kubelet/server/kubelet-view.ts';
import { startSimulatedKubelet } from '../../kubelet/simulated-kubelet.ts';
import { systemKeys } from '../../pki/keys.ts';
import { componentContext } from '../../reconcile/component.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import { eventually } from '../../testing/eventually.ts';
import { kubectlReleases } from '../../testing/kubectl.ts';
import { needs } from '../../testing/needs.ts';
import { parseResourcePage, usageBetween } from './samples.ts';

const page = (cpu: number, atMs: number) => `# HELP node_cpu_usage_seconds_total ...
node_cpu_usage_seconds_total ${cpu * 10} ${atMs}
node_memory_working_set_bytes 2097152 ${atMs}
container_cpu_usage_seconds_total{container="c",namespace="n",pod="p"} ${cpu} ${atMs}
container_memory_working_set_bytes{container="c",namespace="n",pod="p"} 1048576 ${atMs}
container_start_time_seconds{container="c",namespace="n",pod="p"} 1
`;

test('the use of CPU is what was used between two pages, memory what is used now', () => {
  const [first, second] = [parseResourcePage(page(1, 10_000), 0), parseResourcePage(page(1.5, 20_000), 0)];
  assert.deepEqual(usageBetween(first.node, second.node), {
    usage: { cpu: '500000000n', memory: '2048Ki' },
    atMs: 20_000,
    windowMs: 10_000,
  });
  const container = ({ pods: all }: typeof first) => all.get('n/p')?.get('c');
  assert.equal(usageBetween(container(first), container(second))?.usage.cpu, '50000000n');
});

test('a container that started anew, or was not there before, has no use yet', () => {
  const [first, second] = [parseResourcePage(page(5, 10_000), 0), parseResourcePage(page(1, 20_000), 0)];
  assert.equal(usageBetween(first.node, second.node), undefined);
  assert.equal(usageBetween(undefined, second.node), undefined);
  assert.equal(usageBetween(first.node, first.node), undefined);
});

/** The kubelet says in its Node where it will listen. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen({ host: '127.0.0.1', port: 0 }, () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

describe('a cluster that tells what is used', () => {
  let controlPlane: ControlPlane;
  let server: KubeletServer;
  let ending: AsyncDisposableStack;
  let kubeconfig: string;
  const kubectl = kubectlReleases().at(-1);
  const labels = { app: 'web' };

  before(async () => {
    ending = new AsyncDisposableStack();
    const [clock, random, log] = [systemClock, systemRandom, silentLog];
    const store = memoryStore<KubeObject>({ clock });
    ending.defer(() => store.close());
    controlPlane = await startControlPlane({
      store: { kind: 'objects', store },
      ...{ clock, random, log, keys: systemKeys, keyFiles: keysInMemory() },
      listen: [{ host: '127.0.0.1', port: 0 }],
      serviceCidrs: ['10.96.0.0/16'],
      clusterCidrs: ['10.244.0.0/16'],
      controllerManager: { autoscaling: { syncPeriodMs: 300 } },
    });
    ending.defer(() => controlPlane.close());
    const { pki } = controlPlane;
    const client = controlPlane.client({ name: 'system:node:a', groups: ['system:nodes', 'system:authenticated'] });
    const stop = new AbortController();
    const context = componentContext({ client, clock, random, log, signal: stop.signal });
    const { certificatePem: certificate, keyPem: key } = pki.kubeletServer('a', ['127.0.0.1']);
    const port = await freePort();
    const configuration = { nodeIps: ['127.0.0.1'], port };
    const kubelet = await startSimulatedKubelet(context, { nodeName: 'a', addresses: ['127.0.0.1'], configuration });
    server = await startKubeletServer(viewOf(kubelet, { clock }), {
      listen: { host: '127.0.0.1', port },
      tls: { certificate, key },
      authenticate: async () => ({ name: 'server', groups: [] }),
      authorize: async () => ({ allowed: true, reason: '' }),
      clock,
      log,
    });
    ending.defer(() => server.close());
    ending.defer(async () => {
      stop.abort();
      await kubelet.done;
    });
    const folder = mkdtempSync(join(tmpdir(), 'coracle-metrics-'));
    ending.defer(() => rmSync(folder, { recursive: true }));
    kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, controlPlane.adminKubeconfig(), { mode: 0o600 });
    const template = { metadata: { labels }, spec: { containers: [requesting] } };
    await controlPlane.admin.create(deployments, {
      metadata: { namespace: 'default', name: 'web' },
      spec: { replicas: 1, selector: { matchLabels: labels }, template },
    });
    await eventually(async () =>
      (await controlPlane.admin.list(pods)).items.some((pod) => pod.status?.phase === 'Running'),
    );
  });
  after(() => ending.disposeAsync());

  const requesting = { name: 'web', image: 'i', resources: { requests: { cpu: '100m', memory: '10Mi' } } };

  test('tells it of nodes and of Pods, one by one and all together', async () => {
    const { admin } = controlPlane;
    await eventually(async () => (await admin.list(podMetrics)).items.length === 1);
    const [pod] = (await admin.list(podMetrics, { namespace: 'default', labelSelector: 'app=web' })).items;
    assert.deepEqual(pod?.metadata.labels?.app, 'web');
    assert.deepEqual(
      pod.containers.map(({ name }) => name),
      ['web'],
    );
    assert.match(pod.containers[0]?.usage.cpu ?? '', /^\d+n$/);
    assert.equal(pod.containers[0]?.usage.memory, '12288Ki');
    assert.deepEqual((await admin.list(podMetrics, { labelSelector: 'app=other' })).items, []);
    const node = await admin.get(nodeMetrics, { name: 'a' });
    assert.equal(node.kind, 'NodeMetrics');
    assert.match(node.usage.memory ?? '', /^\d+Ki$/);
    const one = await admin.get(podMetrics, { namespace: 'default', name: pod.metadata.name! });
    assert.equal(one.containers.length, 1);
    await assert.rejects(admin.get(nodeMetrics, { name: 'b' }), isNotFound);
    await assert.rejects(admin.get(podMetrics, { namespace: 'default', name: 'b' }), {
      message: 'pods.metrics.k8s.io "default/b" not found',
    });
  });

  test('an APIService stands for it, and those may read it who may view', async () => {
    const { admin } = controlPlane;
    await eventually(async () =>
      (await admin.list(apiServices)).items.some((one) => one.metadata.name === 'v1beta1.metrics.k8s.io'),
    );
    const service = await admin.get(apiServices, { name: 'v1beta1.metrics.k8s.io' });
    assert.equal(findCondition(service.status?.conditions, 'Available')?.reason, 'Local');
    const jane = controlPlane.client({ name: 'jane', groups: ['system:authenticated'] });
    await assert.rejects(jane.list(podMetrics), isForbidden);
    const apiGroup = 'rbac.authorization.k8s.io';
    await admin.create(clusterRoleBindings, {
      metadata: { name: 'jane' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', apiGroup, name: 'jane' }],
    });
    await eventually(() => jane.list(podMetrics));
  });

  test('kubectl top shows it', needs('kubectl'), async () => {
    const top = async (...args: string[]) =>
      (await promisify(execFile)(kubectl!.path, ['--kubeconfig', kubeconfig, 'top', ...args])).stdout;
    assert.match(await top('nodes'), /^NAME +CPU\(cores\) +CPU(?:\(|%)[^\n]*\na +\d+m +\d+% +\d+Mi +\d+%/);
    assert.match(
      await top('pods', '-A'),
      /^NAMESPACE +NAME +CPU\(cores\) +MEMORY\(bytes\)[^\n]*\ndefault +web-\S+ +\d+m +12Mi/,
    );
  });

  test('an autoscaler acts on it', async () => {
    const { admin } = controlPlane;
    const memory = { name: 'memory', target: { type: 'Utilization', averageUtilization: 60 } } as const;
    await admin.create(horizontalPodAutoscalers, {
      metadata: { namespace: 'default', name: 'web' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 1,
        maxReplicas: 5,
        metrics: [{ type: 'Resource', resource: memory }],
      },
    });
    // 12 of 10 MiB are twice of what is wanted.
    await eventually(
      async () => (await admin.get(deployments, { namespace: 'default', name: 'web' })).spec?.replicas === 2,
    );
    const { status } = await admin.get(horizontalPodAutoscalers, { namespace: 'default', name: 'web' });
    assert.ok(isConditionTrue(status?.conditions, 'ScalingActive'));
    assert.equal((await admin.list(nodes)).items.length, 1);
  });
});

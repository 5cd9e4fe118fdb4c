/**
 * All controllers together against the real API server, each with only its own rights: what one of them may not do shows here as a
 * warning, and no warning is allowed. Nodes and kubelets are played by the test.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daemonSets, deployments, replicaSets, statefulSets } from '../api/gen/apps-v1.ts';
import { jobs } from '../api/gen/batch-v1.ts';
import { certificateSigningRequests } from '../api/gen/certificates-v1.ts';
import {
  configMaps,
  endpoints,
  namespaces,
  nodes,
  type PodTemplateSpec,
  pods,
  replicationControllers,
  secrets,
  serviceAccounts,
  services,
} from '../api/gen/core-v1.ts';
import { endpointSlices } from '../api/gen/discovery-v1.ts';
import { podDisruptionBudgets } from '../api/gen/policy-v1.ts';
import { clusterRoleBindings, clusterRoles } from '../api/gen/rbac-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import type { ResourceType } from '../apimachinery/resource.ts';
import { formatTime } from '../apimachinery/time.ts';
import { systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { Client } from '../client/client.ts';
import { createCertificateRequest } from '../pki/certificate-request.ts';
import { systemKeys } from '../pki/keys.ts';
import { eventually } from '../testing/eventually.ts';
import { startControlPlane } from '../testing/index.ts';
import { signerNames } from './certificatesigningrequest/requests.ts';
import { nodeCertificateBindings, servingApproverRole } from './certificatesigningrequest/rights.ts';
import { targetNodeOf } from './daemonset/placement.ts';

const namespace = 'default';

/** What was logged at warn and error. */
function listeningLog(): { readonly log: Log; readonly complaints: string[] } {
  const complaints: string[] = [];
  const complain = (message: string, fields?: Readonly<Record<string, unknown>>) => {
    complaints.push(`${message} ${JSON.stringify(fields ?? {})}`);
  };
  const log: Log = { ...silentLog, warn: complain, error: complain, child: () => log };
  return { log, complaints };
}

const isGone = async <T extends KubeObject>(client: Client, type: ResourceType<T>, name: string) =>
  !(await client.list(type)).items.some(({ metadata }) => metadata.name === name);

async function addNode(client: Client, name: string): Promise<void> {
  await client.create(nodes, { metadata: { name, labels: { 'kubernetes.io/os': 'linux' } }, spec: {} });
  const now = formatTime(systemClock.now());
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'm',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  const body = { status: { conditions: [ready], addresses: [{ type: 'InternalIP', address: '10.9.0.1' }] } };
  await client.patch(nodes, { name }, { type: 'strategic', body }, { subresource: 'status' });
}

/** Binds, runs and readies every Pod as scheduler and kubelet would; Pods of Jobs succeed at once; deleted ones end. */
async function playKubelets(client: Client): Promise<void> {
  let number = 0;
  for (const pod of (await client.list(pods, { namespace })).items) {
    const { name = '', deletionTimestamp, labels } = pod.metadata;
    const at = { namespace, name };
    number++;
    if (deletionTimestamp) await client.delete(pods, at, { gracePeriodSeconds: 0 }).catch(() => {});
    if (deletionTimestamp || pod.status?.phase !== 'Pending') continue;
    if (!pod.spec.nodeName) {
      const target = { kind: 'Node', name: targetNodeOf(pod) ?? 'n1' };
      await client.createSubresource(pods, at, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name },
        target,
      });
    }
    const done = labels?.['batch.kubernetes.io/job-name'] !== undefined;
    const ip = `10.244.0.${number}`;
    const ready = { type: 'Ready', status: done ? 'False' : 'True', lastTransitionTime: formatTime(systemClock.now()) };
    const status = { phase: done ? 'Succeeded' : 'Running', podIP: ip, podIPs: [{ ip }], conditions: [ready] };
    await client.patch(pods, at, { type: 'strategic', body: { status } }, { subresource: 'status' });
  }
}

const template = (app: string): PodTemplateSpec => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image: 'one', ports: [{ containerPort: 80 }] }] },
});
const selector = (app: string) => ({ matchLabels: { app } });

test('workloads run, roll out and end; endpoints follow; nothing is left behind and nobody oversteps', async () => {
  const { log, complaints } = listeningLog();
  await using cluster = await startControlPlane({ log, scheduler: false });
  const { client } = cluster;
  for (const name of ['n1', 'n2']) await addNode(client, name);
  await eventually(async () => (await client.list(nodes)).items.every(({ spec }) => spec.podCIDR));

  const at = (name: string) => ({ namespace, name });
  await client.create(deployments, {
    metadata: at('web'),
    spec: { replicas: 2, selector: selector('web'), template: template('web') },
  });
  await client.create(daemonSets, {
    metadata: at('agent'),
    spec: { selector: selector('agent'), template: template('agent') },
  });
  await client.create(statefulSets, {
    metadata: at('db'),
    spec: { replicas: 2, serviceName: 'db', selector: selector('db'), template: template('db') },
  });
  await client.create(replicationControllers, {
    metadata: at('rc'),
    spec: { replicas: 1, selector: { app: 'rc' }, template: template('rc') },
  });
  const task = { spec: { restartPolicy: 'Never' as const, containers: [{ name: 'c', image: 'one' }] } };
  await client.create(jobs, { metadata: at('once'), spec: { template: task, ttlSecondsAfterFinished: 0 } });
  await client.create(jobs, {
    metadata: at('parts'),
    spec: { template: task, completions: 3, parallelism: 2, completionMode: 'Indexed' },
  });
  await client.create(services, { metadata: at('web'), spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } });
  await client.create(podDisruptionBudgets, {
    metadata: at('web'),
    spec: { minAvailable: 1, selector: selector('web') },
  });

  await eventually(async () => {
    await playKubelets(client);
    const [web, agent, db, rc, parts] = await Promise.all([
      client.get(deployments, at('web')),
      client.get(daemonSets, at('agent')),
      client.get(statefulSets, at('db')),
      client.get(replicationControllers, at('rc')),
      client.get(jobs, at('parts')),
    ]);
    return (
      web.status?.availableReplicas === 2 &&
      agent.status?.numberReady === 2 &&
      db.status?.readyReplicas === 2 &&
      rc.status?.readyReplicas === 1 &&
      parts.status?.completedIndexes === '0-2' &&
      parts.status.conditions?.some(({ type }) => type === 'Complete') === true
    );
  });
  await eventually(() => isGone(client, jobs, 'once'));
  await eventually(async () => (await client.get(endpoints, at('web'))).subsets?.[0]?.addresses?.length === 2);
  await eventually(async () => {
    const labelSelector = 'kubernetes.io/service-name=web';
    const [slice] = (await client.list(endpointSlices, { namespace, labelSelector })).items;
    return slice?.endpoints?.filter(({ conditions }) => conditions?.ready).length === 2;
  });
  await eventually(async () => (await client.get(podDisruptionBudgets, at('web'))).status?.disruptionsAllowed === 1);

  const body = { spec: { template: { spec: { containers: [{ name: 'c', image: 'two' }] } } } };
  await client.patch(deployments, at('web'), { type: 'strategic', body });
  await eventually(async () => {
    await playKubelets(client);
    const { status } = await client.get(deployments, at('web'));
    return status?.updatedReplicas === 2 && status.replicas === 2 && status.availableReplicas === 2;
  });
  const revised = await client.get(deployments, at('web'));
  assert.equal(revised.metadata.annotations?.['deployment.kubernetes.io/revision'], '2');

  await client.delete(deployments, at('web'), { propagationPolicy: 'Foreground' });
  await eventually(async () => {
    await playKubelets(client);
    return (await isGone(client, deployments, 'web')) && (await client.list(replicaSets)).items.length === 0;
  });
  assert.deepEqual(complaints, []);
});

test('a Namespace has what Pods need, and goes with all that is in it', async () => {
  const { log, complaints } = listeningLog();
  await using cluster = await startControlPlane({ log });
  const { client } = cluster;
  await client.create(namespaces, { metadata: { name: 'tmp' }, spec: {} });
  await eventually(async () => {
    const [accounts, maps] = await Promise.all([
      client.list(serviceAccounts, { namespace: 'tmp' }),
      client.list(configMaps, { namespace: 'tmp' }),
    ]);
    return accounts.items.length === 1 && maps.items.some(({ metadata }) => metadata.name === 'kube-root-ca.crt');
  });
  const metadata = { namespace: 'tmp', name: 't', annotations: { 'kubernetes.io/service-account.name': 'default' } };
  await client.create(secrets, { metadata, type: 'kubernetes.io/service-account-token' });
  await eventually(async () => (await client.get(secrets, { namespace: 'tmp', name: 't' })).data?.token !== undefined);
  await client.create(deployments, {
    metadata: { namespace: 'tmp', name: 'web' },
    spec: { replicas: 2, selector: selector('web'), template: template('web') },
  });
  await eventually(async () => (await client.list(pods, { namespace: 'tmp' })).items.length === 2);
  await client.delete(namespaces, { name: 'tmp' });
  await eventually(() => isGone(client, namespaces, 'tmp'));
  assert.deepEqual((await client.list(pods)).items, []);
  await eventually(async () => ((await client.get(clusterRoles, { name: 'edit' })).rules ?? []).length > 5);
  assert.deepEqual(complaints, []);
});

test('a kubelet’s requests for certificates are approved and signed with no manual step', async () => {
  const { log, complaints } = listeningLog();
  await using cluster = await startControlPlane({ log, scheduler: false });
  await cluster.client.create(clusterRoles, servingApproverRole);
  for (const binding of nodeCertificateBindings) await cluster.client.create(clusterRoleBindings, binding);
  await addNode(cluster.client, 'n1');
  const kubelet = cluster.clientOf('system:node:n1', ['system:nodes']);
  const joining = cluster.clientOf('system:bootstrap:abcdef', ['system:bootstrappers']);
  const subject = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
  const ask = async (by: Client, name: string, signerName: string, purpose: 'client auth' | 'server auth') => {
    const names = purpose === 'client auth' ? subject : { ...subject, ipAddresses: ['10.9.0.1'] };
    const request = Buffer.from(createCertificateRequest(systemKeys.generate(), names)).toString('base64');
    const usages = ['digital signature' as const, purpose];
    await by.create(certificateSigningRequests, { metadata: { name }, spec: { request, signerName, usages } });
    await eventually(async () => {
      const { status } = await cluster.client.get(certificateSigningRequests, { name });
      return status?.certificate !== undefined;
    });
  };
  await ask(joining, 'joining', signerNames.kubeletClient, 'client auth');
  await ask(kubelet, 'renewing', signerNames.kubeletClient, 'client auth');
  await ask(kubelet, 'serving', signerNames.kubeletServing, 'server auth');
  assert.deepEqual(complaints, []);
});

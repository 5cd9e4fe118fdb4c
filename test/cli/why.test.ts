/**
 * `coracle why`, as a user types it, where controller manager and scheduler run in processes of their own: what they alone know reaches
 * the user from their ports. Nodes are played by the test, so that time can be short.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { deployments, statefulSets } from '../../src/api/gen/apps-v1.ts';
import {
  configMaps,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '../../src/api/gen/core-v1.ts';
import { clusterRoleBindings, clusterRoles } from '../../src/api/gen/rbac-v1.ts';
import { storageClasses } from '../../src/api/gen/storage-v1.ts';
import { formatTime } from '../../src/apimachinery/time.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';
import { freePort, launcher } from './coracle.fixture.ts';

const namespace = 'default';
const labels = { app: 'web' };
const containers = [{ name: 'c', image: 'one' }];
const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 600, containers } };

describe('coracle why, beside components in processes of their own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-why-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const processes: ChildProcess[] = [];
  let controlPlane: EmbeddedControlPlane;
  let client: Client;

  const start = async (name: string, ...words: string[]) => {
    const flags = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
      (flag) => `--${flag}=${kubeconfig}`,
    );
    const port = `--secure-port=${await freePort()}`;
    const all = [name, ...flags, port, '--bind-address=127.0.0.1', `--cert-dir=${join(folder, name)}`, ...words];
    processes.push(spawn(launcher, all, { stdio: ['ignore', 'ignore', 'inherit'] }));
  };
  // Never waited for in one go: the API server is in this process.
  const why = (words: readonly string[], as = kubeconfig) =>
    new Promise<{ readonly stdout: string; readonly stderr: string }>((done) => {
      execFile(launcher, ['why', ...words, '--kubeconfig', as], (_, stdout, stderr) => done({ stdout, stderr }));
    });

  /** As a kubelet says that it is well. */
  async function beat(name: string): Promise<void> {
    const now = formatTime(systemClock.now());
    const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: now, lastTransitionTime: now };
    const body = { status: { conditions: [ready] } };
    await client.patch(nodes, { name }, { type: 'strategic', body }, { subresource: 'status' });
  }

  /** Asks until the answer is right: components tell in their own time. */
  async function assertTold(words: readonly string[], right: RegExp): Promise<void> {
    await eventually(
      () => why(words),
      ({ stdout }) => right.test(stdout),
    );
  }

  before(async () => {
    controlPlane = await startControlPlane({ controllers: ['serviceaccount-controller'], scheduler: false });
    ({ client } = controlPlane);
    writeFileSync(kubeconfig, controlPlane.kubeconfig, { mode: 0o600 });
    await start(
      'kube-controller-manager',
      '--controllers=*,-serviceaccount-controller',
      '--node-monitor-period=500ms',
      '--node-monitor-grace-period=5s',
      '--node-startup-grace-period=5s',
    );
    await start('kube-scheduler');
  });

  after(async () => {
    const ended = processes.map((child) => new Promise((done) => child.once('exit', done)));
    for (const child of processes) child.kill('SIGTERM');
    await Promise.all(ended);
    await controlPlane.stop();
    rmSync(folder, { recursive: true });
  });

  it('Pending: the scheduler says it, and the claim that it waits for is unbound for want of room', async () => {
    await client.create(storageClasses, { metadata: { name: 'by-hand' }, provisioner: 'kubernetes.io/no-provisioner' });
    const accessModes = ['ReadWriteOnce' as const];
    await client.create(persistentVolumes, {
      metadata: { name: 'small' },
      spec: { capacity: { storage: '1Gi' }, accessModes, storageClassName: 'by-hand', hostPath: { path: '/x' } },
    });
    const resources = { requests: { storage: '5Gi' } };
    await client.create(persistentVolumeClaims, {
      metadata: { namespace, name: 'data' },
      spec: { accessModes, resources, storageClassName: 'by-hand' },
    });
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    await client.create(pods, { metadata: { namespace, name: 'db' }, spec: { containers, volumes } });
    await assertTold(
      ['pod/db'],
      /^pod\/db in default is Pending: it has no node\n[\s\S]*persistentvolumeclaim\/data in default is Pending\n[\s\S]*volume small does not fit: requested PV is too small \[persistentvolume-binder-controller/,
    );
  });

  it('a stuck rollout: which Pods stay, and for which ReplicaSet they wait', async () => {
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    await client.create(deployments, { metadata: { namespace, name: 'web' }, spec });
    const setSpec = { ...spec, replicas: 2, serviceName: 'set' };
    await client.create(statefulSets, { metadata: { namespace, name: 'set' }, spec: setSpec });
    await assertTold(
      ['deploy', 'web'],
      /^deployment\/web in default is not rolled out\n[\s\S]*before its deadline, the rollout is told to have failed \[deployment-controller/,
    );
    await assertTold(['sts/set'], /Pod set-0 is not Ready; the next step waits for it \[statefulset-controller/);
  });

  it('NotReady, and evictions that a rate holds back', async () => {
    for (const name of ['sound', 'ghost-1', 'ghost-2', 'ghost-3']) {
      await client.create(nodes, { metadata: { name }, spec: {} });
      await beat(name);
    }
    let isOver = false;
    const beating = (async () => {
      while (!isOver) {
        await beat('sound');
        await pause(500);
      }
    })();
    await assertTold(
      ['node/ghost-3'],
      /^node\/ghost-3 is not heard of\n[\s\S]*(too many nodes of its zone are unhealthy|nodes a second in its zone)[^\n]*\[node-lifecycle-controller/,
    ).finally(() => {
      isOver = true;
    });
    await beating;
  });

  it('Terminating: the claim whose Pod still uses it, and the Pod whose node does not answer', async () => {
    const accessModes = ['ReadWriteOnce' as const];
    await client.create(persistentVolumeClaims, {
      metadata: { namespace, name: 'used' },
      spec: { accessModes, resources: { requests: { storage: '1Gi' } }, storageClassName: '', volumeName: 'none' },
    });
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'used' } }];
    await client.create(pods, {
      metadata: { namespace, name: 'user' },
      spec: { nodeName: 'ghost-1', containers, volumes, tolerations: [{ operator: 'Exists' }] },
    });
    await assertTold(['pod/user'], /^pod\/user in default is Pending on node ghost-1/);
    await client.delete(persistentVolumeClaims, { namespace, name: 'used' });
    await client.delete(pods, { namespace, name: 'user' });
    await assertTold(
      ['pvc/used'],
      /is Terminating\n[\s\S]*used by a Pod and goes when they have ended \[persistentvolumeclaim-protection-controller[\s\S]*\n {2}pod\/user in default is Terminating\n[\s\S]*node ghost-1 does not answer/,
    );
  });

  it('an unbound claim: whose the volume is that it names', async () => {
    const accessModes = ['ReadWriteOnce' as const];
    const resources = { requests: { storage: '1Gi' } };
    const spec = { accessModes, resources, storageClassName: 'by-hand', volumeName: 'small' };
    await client.create(persistentVolumeClaims, { metadata: { namespace, name: 'first' }, spec });
    await assertTold(['pvc/first'], /^persistentvolumeclaim\/first in default is bound to small/);
    await client.create(persistentVolumeClaims, { metadata: { namespace, name: 'second' }, spec });
    await assertTold(
      ['pvc/second'],
      /is Pending\n[\s\S]*volume small belongs to claim default\/first \[persistentvolume-binder/,
    );
  });

  it('a namespace that will not go: what is left in it, by name', async () => {
    await client.create(namespaces, { metadata: { name: 'leaving' }, spec: {} });
    await client.create(configMaps, {
      metadata: { namespace: 'leaving', name: 'kept', finalizers: ['example.com/mine'] },
    });
    await client.delete(namespaces, { name: 'leaving' });
    await assertTold(
      ['ns/leaving'],
      /is Terminating\n[\s\S]*an object is left in it; it is looked at again then \[namespace-controller[\s\S]*\n {2}configmap\/kept in leaving is Terminating\n[\s\S]*example\.com\/mine/,
    );
  });

  it('tells who refused to be asked, and explains with what is left', async () => {
    const { metadata } = await client.create(clusterRoles, {
      metadata: { name: 'looker' },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }],
    });
    await client.create(clusterRoleBindings, {
      metadata: { name: 'looker' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name ?? '' },
      subjects: [{ kind: 'ServiceAccount', namespace, name: 'default' }],
    });
    const token = await client.createSubresource<{ readonly status: { readonly token: string } }>(
      { ...pods, resource: 'serviceaccounts' },
      { namespace, name: 'default' },
      'token',
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } },
    );
    const path = join(folder, 'looker');
    const config = controlPlane.kubeconfig.replace(
      /^( *)client-certificate-data:.*$/m,
      `$1token: ${token.status.token}`,
    );
    writeFileSync(path, config.replace(/^ *client-key-data:.*\n/m, ''), { mode: 0o600 });
    const { stdout, stderr } = await why(['pvc/second'], path);
    assert.match(stdout, /^persistentvolumeclaim\/second in default is Pending\n/);
    assert.doesNotMatch(stdout, /belongs to claim/);
    assert.match(
      stderr,
      /kube-controller-manager at https:\S+ was not heard: forbidden: User "system:serviceaccount:default:default" cannot get path "\/debug\/causes"/,
    );
  });
});

/** Three nodes on one machine, each with a runtime and a network of its own; one is cut off, one loses its power. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { layOut } from '../../src/cluster/data/data-directory.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { ClusterMachine } from './cluster-machine.fixture.ts';

describe('three nodes on one machine', needs('containers'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-nodes-'));
  const data = join(folder, 'data');
  let network: TestNetwork;
  let machine: ClusterMachine;

  const coracle = (...words: string[]) => machine.coracle(...words);
  const kubectl = (...words: string[]) => machine.kubectl(...words);
  const ready = (name: string) => () => machine.readiness(name);
  const namespaces = () =>
    readdirSync('/run/netns').filter((name) => name.startsWith(layOut(data).state.slice('/run/'.length)));

  before(() => {
    network = testNetwork();
    machine = new ClusterMachine(network.host(['192.168.81.1/24']), { data, folder });
    const patience = '--kube-controller-manager-flag=node-monitor-grace-period=12s';
    const start = ['up', '--detach', '--no-install', '--node-name', 'a', '--nodes', '3', patience];
    coracle(...start);
    machine.loadBusybox();
  });
  after(() => {
    try {
      coracle('down', '--purge');
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('are all Ready, and Pods on any of them reach each other, Services, names and the API server', async () => {
    for (const name of ['a', 'a-2', 'a-3']) assert.equal(ready(name)(), 'True');
    const spread = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'web' },
      spec: {
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [{ name: 'web', image: 'busybox:1.36', command: ['httpd', '-f', '-p', '8080'] }],
          },
        },
      },
    };
    writeFileSync(join(folder, 'web.json'), JSON.stringify(spread));
    kubectl('apply', '-f', join(folder, 'web.json'));
    kubectl('rollout', 'status', 'daemonset/web', '--timeout=120s');
    kubectl('create', 'service', 'clusterip', 'web', '--tcp=80:8080');
    const pods = kubectl('get', 'pods', '-o', 'jsonpath={range .items[*]}{.metadata.name} {.status.podIP}{"\\n"}{end}')
      .split('\n')
      .map((line) => line.split(' '));
    assert.equal(pods.length, 3);
    const addresses = pods.map(([, ip = '']) => ip);
    for (const [pod = ''] of pods) {
      const script = `${addresses.map((ip) => `ping -c1 -W2 ${ip} >/dev/null &&`).join(' ')} wget -q -O- http://web.default.svc.cluster.local/ 2>&1; true`;
      await eventually(() => kubectl('exec', pod, '--', 'sh', '-c', script), /404/);
    }
  });

  it('a node port of any of them reaches every Pod from every Pod, those that it has to come back to as well', async () => {
    kubectl('patch', 'service', 'web', '-p', '{"spec":{"type":"NodePort"}}');
    const port = kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.ports[0].nodePort}');
    const nodes = kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].status.addresses[0].address}').split(' ');
    const pods = kubectl('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}').split(' ');
    assert.deepEqual([nodes.length, pods.length], [3, 3]);
    // Not wget, which Debian's static busybox ends by a fault where it is given an address.
    const get = "printf 'GET / HTTP/1.0\\r\\n\\r\\n'";
    // Twenty tries on each way miss one of three Pods once in some thousand times; what misses one always, fails.
    const tries = nodes
      .map((ip) => `for i in $(seq 20); do ${get} | nc -w 2 ${ip} ${port} | grep -q 404 || echo ${ip}; done`)
      .join('; ');
    for (const pod of pods) await eventually(() => kubectl('exec', pod, '--', 'sh', '-c', tries), /^$/);
  });

  it('a further node has volumes of the default class', async () => {
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'kept' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
    };
    const writer = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'writer' },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': 'a-2' },
        restartPolicy: 'Never',
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sh', '-c', 'echo kept > /data/file && cat /data/file'],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'kept' } }],
      },
    };
    writeFileSync(
      join(folder, 'claim.json'),
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [claim, writer] }),
    );
    kubectl('apply', '-f', join(folder, 'claim.json'));
    await eventually(() => kubectl('get', 'pod', 'writer', '-o', 'jsonpath={.status.phase}'), /^Succeeded$/);
    assert.equal(kubectl('logs', 'writer'), 'kept');
    kubectl('delete', '-f', join(folder, 'claim.json'));
    await eventually(() => kubectl('get', 'persistentvolumes', '-o', 'name'), /^$/);
  });

  it('one of them cut off becomes NotReady, and Ready again when it is healed, with the same Pod', async () => {
    const containerId = () =>
      kubectl(
        'get',
        'pods',
        '--field-selector=spec.nodeName=a-2',
        '-o',
        'jsonpath={.items[0].status.containerStatuses[0].containerID}',
      );
    const before = containerId();
    coracle('node', 'partition', 'a-2');
    assert.match(coracle('node', 'list'), /^a-2 +10\.245\.0\.2 +cut off$/m);
    await eventually(ready('a-2'), /^Unknown$/);
    coracle('node', 'heal', 'a-2');
    await eventually(ready('a-2'), /^True$/);
    assert.equal(containerId(), before);
  });

  it('one that lost its power comes back with its Pods started anew', async () => {
    const pod = () =>
      kubectl(
        'get',
        'pods',
        '--field-selector=spec.nodeName=a-3',
        '-o',
        'jsonpath={.items[0].status.containerStatuses[0].restartCount}:{.items[0].status.conditions[?(@.type=="Ready")].status}',
      );
    assert.equal(pod(), '0:True');
    coracle('node', 'crash', 'a-3');
    assert.match(coracle('node', 'list'), /^a-3 +10\.245\.0\.3 +stopped$/m);
    await eventually(ready('a-3'), /^Unknown$/);
    coracle('node', 'start', 'a-3');
    await eventually(ready('a-3'), /^True$/);
    await eventually(pod, /^1:True$/);
  });

  it('tells what there is, and what cannot be done', () => {
    assert.match(machine.refusal('node', 'stop', 'a'), /is the machine that the control plane runs on/);
    assert.match(
      machine.refusal('node', 'stop', 'b'),
      /there is no node b on this machine.\nThose that there are: a-2, a-3/,
    );
    assert.match(machine.refusal('up', '--nodes', '0'), /at least 1/);
  });

  it('a stopped node leaves nothing behind but its data', async () => {
    coracle('node', 'stop', 'a-3');
    assert.deepEqual(
      namespaces().map((name) => name.slice(-2)),
      ['-2'],
    );
    coracle('node', 'start', 'a-3');
    await eventually(ready('a-3'), /^True$/);
  });

  it('all go with the cluster, and come back with it', async () => {
    coracle('down');
    assert.deepEqual(namespaces(), []);
    assert.doesNotMatch(machine.run('ip', '-o', 'link'), /cor[0-9a-f]{8}/);
    assert.doesNotMatch(machine.run('nft', 'list', 'tables'), /coracle/);
    coracle('up', '--detach', '--no-install');
    for (const name of ['a', 'a-2', 'a-3']) await eventually(ready(name), /^True$/);
    coracle('down', '--purge');
    assert.ok(!existsSync(data));
  });
});

/**
 * What of upstream's conformance suite needs real containers and the Service proxy, on a cluster in a network namespace of its own. Tests
 * bear upstream's names, so that `npm run conformance` counts them.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { ClusterMachine } from './cluster-machine.fixture.ts';

describe('the proxy, on a cluster of real containers', needs('containers'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-node-conformance-'));
  let network: TestNetwork;
  let machine: ClusterMachine;

  const kubectl = (namespace: string, ...words: string[]) => machine.kubectl('--namespace', namespace, ...words);
  const create = (namespace: string, object: object) => {
    const file = join(folder, 'object.json');
    writeFileSync(file, JSON.stringify(object));
    return kubectl(namespace, 'create', '-f', file, '-o', 'name').split('/')[1]!;
  };

  /** A Pod with a web server on each of the ports, which tells the Pod's name; its address. */
  const runServer = (namespace: string, name: string, ports: readonly number[]) => {
    const containers = ports.map((port) => ({
      name: `port-${port}`,
      image: 'busybox:1.36',
      command: ['sh', '-c', `mkdir /www && hostname >/www/hostname && exec httpd -f -p ${port} -h /www`],
      ports: [{ containerPort: port }],
      readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    }));
    const spec = { containers, terminationGracePeriodSeconds: 1 };
    create(namespace, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
    kubectl(namespace, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=120s');
    return kubectl(namespace, 'get', 'pod', name, '-o', 'jsonpath={.status.podIP}');
  };

  const createSlice = (namespace: string, address: string, port: { readonly name: string; readonly port: number }) =>
    create(namespace, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        generateName: 'custom-slice',
        labels: {
          'kubernetes.io/service-name': 'custom-endpoints',
          'endpointslice.kubernetes.io/managed-by': namespace,
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ ...port, protocol: 'TCP' }],
    });

  /** A Service without selector, on the ports 80 and 81; its address. */
  const createService = (namespace: string) => {
    machine.kubectl('create', 'namespace', namespace);
    const ports = [80, 81].map((port) => ({ name: `port${port}`, port, protocol: 'TCP' }));
    create(namespace, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'custom-endpoints' }, spec: { ports } });
    return kubectl(namespace, 'get', 'service', 'custom-endpoints', '-o', 'jsonpath={.spec.clusterIP}');
  };

  const assertAnswers = async (namespace: string, address: string, names: readonly string[]) => {
    runServer(namespace, 'client', [8080]);
    for (const [index, name] of names.entries()) {
      const url = `http://${address}:${80 + index}/hostname`;
      // Without -T: Debian's busybox dies of it.
      await eventually(
        () => kubectl(namespace, 'exec', 'client', '--', 'wget', '-q', '-O', '-', url),
        new RegExp(`^${name}$`),
      );
    }
    const others = kubectl(namespace, 'get', 'endpoints', '-o', 'name');
    assert.equal(others, '', 'nobody made Endpoints for a Service without selector');
  };

  before(() => {
    network = testNetwork();
    const data = join(folder, 'data');
    machine = new ClusterMachine(network.host(['192.168.79.1/24']), { data, folder });
    machine.coracle('up', '--detach', '--no-install');
    machine.loadBusybox();
  });
  after(() => {
    try {
      machine.coracle('down', '--purge');
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('[sig-network] EndpointSlice should support a Service with multiple ports specified in multiple EndpointSlices [Conformance]', async () => {
    const address = createService('one-pod');
    const pod = runServer('one-pod', 'server', [8090, 9090]);
    createSlice('one-pod', pod, { name: 'port80', port: 8090 });
    createSlice('one-pod', pod, { name: 'port81', port: 9090 });
    await assertAnswers('one-pod', address, ['server', 'server']);
  });

  test('[sig-network] EndpointSlice should support a Service with multiple endpoint IPs specified in multiple EndpointSlices [Conformance]', async () => {
    const address = createService('two-pods');
    for (const [index, name] of ['first', 'second'].entries()) {
      const pod = runServer('two-pods', name, [8090]);
      createSlice('two-pods', pod, { name: `port${80 + index}`, port: 8090 });
    }
    await assertAnswers('two-pods', address, ['first', 'second']);
  });
});

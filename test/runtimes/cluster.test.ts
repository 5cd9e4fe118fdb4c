/**
 * `coracle up` on the runtime under test, and on its node what a runtime has most to do with: a Pod's life with its probes, sessions, the
 * runtime's death. The cluster lives in a network namespace of its own.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { layOut } from '../../src/cluster/data/data-directory.ts';
import { mountsBelow } from '../../src/cluster/node/node-teardown.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { ClusterMachine } from '../node/cluster-machine.fixture.ts';

const release = process.env.CORACLE_TEST_CONTAINERD ?? '';
const image = 'busybox:1.36';
/** As patient as a slow machine needs. */
const check = (command: string) => ({ exec: { command: ['sh', '-c', command] }, periodSeconds: 1, timeoutSeconds: 30 });

/** Serves a page and echoes a file that its probes ask for. */
const web = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: {
    terminationGracePeriodSeconds: 1,
    initContainers: [
      {
        name: 'prepare',
        image,
        command: ['sh', '-c', 'echo a page > /www/index.html'],
        volumeMounts: [{ name: 'www', mountPath: '/www' }],
      },
    ],
    containers: [
      {
        name: 'main',
        image,
        command: ['sh', '-c', 'touch /alive; echo started; exec httpd -f -p 8080 -h /www'],
        securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
        resources: { limits: { memory: '32Mi' } },
        startupProbe: { ...check('cat /alive'), failureThreshold: 100 },
        livenessProbe: check('cat /alive'),
        readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
        volumeMounts: [{ name: 'www', mountPath: '/www' }],
      },
    ],
    volumes: [{ name: 'www', emptyDir: {} }],
  },
};

/** Ends with the first line that it reads. */
const reader = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'reader' },
  spec: {
    restartPolicy: 'Never',
    containers: [
      {
        name: 'main',
        image,
        stdin: true,
        stdinOnce: true,
        command: ['sh', '-c', 'read line; echo "got $line"; exit 3'],
      },
    ],
  },
};

describe(`a cluster on containerd ${release}`, needs('containers', 'kubectl'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-runtime-'));
  const directory = layOut(join(folder, 'data'));
  let network: TestNetwork;
  let machine: ClusterMachine;

  const kubectl = (...words: string[]) => machine.kubectl(...words);
  const apply = (object: { readonly metadata: { readonly name: string } }) => {
    const file = join(folder, `${object.metadata.name}.json`);
    writeFileSync(file, JSON.stringify(object));
    kubectl('apply', '-f', file);
  };
  const restarts = (name: string) =>
    kubectl('get', 'pod', name, '-o', 'jsonpath={.status.containerStatuses[0].restartCount}');
  const isReady = (name: string) => kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
  const pidOfRuntime = () => Number(readFileSync(join(directory.run, 'containerd.pid'), 'utf8').split(' ')[0]);

  before(() => {
    network = testNetwork();
    machine = new ClusterMachine(network.host(['192.168.79.1/24']), { data: directory.root, folder });
    machine.coracle('up', '--detach', '--no-install');
    machine.loadBusybox();
    apply(web);
    apply(reader);
  });
  after(() => {
    try {
      machine?.coracle('down', '--purge');
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('has a node of it, with the images that were loaded', () => {
    const info = kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}');
    assert.ok(info.startsWith(`containerd://${release}.`), info);
    assert.match(machine.coracle('image', 'ls'), /docker\.io\/library\/busybox:1\.36 /);
  });

  it('runs a Pod, and restarts what its probe finds dead', async () => {
    isReady('web');
    assert.match(kubectl('exec', 'web', '--', 'grep', 'Seccomp:', '/proc/self/status'), /2$/);
    kubectl('exec', 'web', '--', 'rm', '/alive');
    await eventually(() => restarts('web'), /^1$/);
    isReady('web');
    assert.match(kubectl('describe', 'pod', 'web'), /Liveness probe failed: cat: can't open '\/alive'/);
    assert.equal(kubectl('logs', 'web', '--previous'), 'started');
  });

  it('has sessions: exec, attach, port-forward', async () => {
    isReady('web');
    const shell = (script: string) => machine.run('sh', '-c', script);
    assert.equal(shell('echo some input | kubectl exec -qi web -- tr a-z A-Z'), 'SOME INPUT');
    assert.match(
      shell('kubectl exec -q web -- sh -c "echo problem >&2; exit 3" 2>&1 || echo "code $?"'),
      /problem[\s\S]*code 3$/,
    );
    await eventually(() => kubectl('get', 'pod', 'reader'), / Running /);
    assert.equal(shell('echo a line | kubectl attach -i -q reader'), 'got a line');
    await eventually(
      () => kubectl('get', 'pod', 'reader', '-o', 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}'),
      /^3$/,
    );
    machine.host.start(
      'kubectl',
      '--kubeconfig',
      join(directory.root, 'kubeconfig'),
      'port-forward',
      'web',
      '8081:8080',
    );
    await eventually(() => machine.run('curl', '-s', '-m', '5', 'http://127.0.0.1:8081/'), /^a page$/);
  });

  it('starts its runtime again when that dies, and the Pods live on', async () => {
    const before = pidOfRuntime();
    const restarted = restarts('web');
    process.kill(before, 'SIGKILL');
    await eventually(() => pidOfRuntime() !== before);
    apply({ ...web, metadata: { name: 'later' } });
    isReady('later');
    assert.equal(restarts('web'), restarted);
    kubectl('delete', 'pod', 'web', 'later');
  });

  it('is gone after down', () => {
    machine.coracle('down');
    assert.deepEqual(mountsBelow([directory.root, directory.state]), []);
    assert.ok(!existsSync(directory.state));
  });
});

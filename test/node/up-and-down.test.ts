/**
 * `coracle up` and `down` with real containers, where it is about what is left on the machine: by a runtime that dies, by processes that
 * are killed, by a cluster that is taken down. The cluster lives in a network namespace of its own.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { layOut } from '../../src/cluster/data/data-directory.ts';
import { mountsBelow } from '../../src/cluster/node/node-teardown.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { ClusterMachine } from './cluster-machine.fixture.ts';

describe('a cluster of real containers leaves nothing behind', needs('containers'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-down-'));
  const directory = layOut(join(folder, 'data'));
  const cgroup = directory.state.replace('/run/', '');
  let network: TestNetwork;
  let machine: ClusterMachine;

  const run = (program: string, ...words: string[]) => machine.run(program, ...words);
  const coracle = (...words: string[]) => machine.coracle(...words);
  const kubectl = (...words: string[]) => machine.kubectl(...words);
  const pidOf = (name: string) => Number(readFileSync(join(directory.run, `${name}.pid`), 'utf8').split(' ')[0]);
  const kill = (name: string) => process.kill(pidOf(name), 'SIGKILL');
  const cgroups = () => readdirSync('/sys/fs/cgroup').filter((name) => existsSync(`/sys/fs/cgroup/${name}/${cgroup}`));
  const shims = () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${directory.state}/containerd/`);
        } catch {
          return false;
        }
      });
  const runPod = (name: string) => {
    const overrides = `--overrides=${JSON.stringify({ spec: { terminationGracePeriodSeconds: 1 } })}`;
    const command = ['--', 'httpd', '-f', '-p', '8080'];
    kubectl('run', name, '--image=busybox:1.36', overrides, ...command);
    kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
  };
  const assertNothingLeft = () => {
    assert.deepEqual(mountsBelow([directory.root, directory.state]), []);
    assert.deepEqual(shims(), []);
    assert.deepEqual(cgroups(), []);
    assert.doesNotMatch(run('nft', 'list', 'tables'), /kube-proxy|coracle/);
    assert.doesNotMatch(run('iptables-save'), /CNI/);
    assert.equal(run('iptables', '-S', 'FORWARD'), '-P FORWARD DROP');
    assert.ok(!existsSync(directory.state));
    assert.doesNotMatch(run('ip', '-o', 'link'), /veth/);
  };

  before(() => {
    network = testNetwork();
    machine = new ClusterMachine(network.host(['192.168.78.1/24']), { data: directory.root, folder });
    // As Docker leaves a machine.
    machine.run('iptables', '-P', 'FORWARD', 'DROP');
    coracle('up', '--detach', '--no-install');
    machine.loadBusybox();
    runPod('first');
  });
  after(() => {
    try {
      coracle('down', '--purge');
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('has mounts, cgroups, tables and links while it runs', () => {
    assert.ok(mountsBelow([directory.root, directory.state]).length > 0);
    assert.ok(cgroups().length > 0);
    assert.match(run('nft', 'list', 'tables'), /coracle-pods[\s\S]*kube-proxy|kube-proxy[\s\S]*coracle-pods/);
    assert.match(run('ip', '-o', 'link'), /veth/);
  });

  it('tells its health where kubelets do', () => {
    assert.equal(run('curl', '-s', '-m', '5', 'http://127.0.0.1:10248/healthz'), 'ok');
  });

  it('starts its runtime again when that dies, and the Pods live on', async () => {
    const before = pidOf('containerd');
    kill('containerd');
    await eventually(() => pidOf('containerd') !== before);
    runPod('second');
    assert.equal(kubectl('get', 'pod', 'first', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}'), '0');
  });

  it('lets Pods reach one another though the machine passes nothing on by itself', () => {
    const ip = kubectl('get', 'pod', 'first', '-o', 'jsonpath={.status.podIP}');
    kubectl('exec', 'second', '--', 'ping', '-c', '1', '-W', '2', ip);
  });

  it('answers on host ports', () => {
    const status = (host: string) =>
      run('curl', '-s', '-m', '5', '-o', '/dev/null', '-w', '%{http_code}', `http://${host}:8088/`);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'port' },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'web',
            image: 'busybox:1.36',
            command: ['httpd', '-f', '-p', '8080'],
            ports: [{ containerPort: 8080, hostPort: 8088 }],
          },
        ],
      },
    };
    writeFileSync(join(folder, 'port.json'), JSON.stringify(pod));
    kubectl('apply', '-f', join(folder, 'port.json'));
    kubectl('wait', '--for=condition=Ready', 'pod/port', '--timeout=60s');
    assert.deepEqual(['192.168.78.1', '127.0.0.1'].map(status), ['404', '404']);
  });

  it('is taken down by the SIGTERM of its control plane with its Pods left running', async () => {
    const pid = pidOf('control-plane');
    const containers = shims().length;
    process.kill(pid, 'SIGTERM');
    await eventually(() => !existsSync(`/proc/${pid}`));
    assert.equal(shims().length, containers);
    coracle('up', '--detach');
    assert.equal(kubectl('get', 'pod', 'first', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}'), '0');
  });

  it('keeps others off its network while its runtime runs, though all else was killed', () => {
    for (const name of ['control-plane', 'node']) kill(name);
    const other = join(folder, 'other');
    assert.throws(
      () => run('./coracle', 'up', '--detach', '--no-install', '--data-dir', other),
      ({ stderr }) => stderr.includes(`are still on this machine's network: those of ${directory.root}.`),
    );
    coracle('up', '--detach');
  });

  it('is gone after down, though all its processes were killed before', () => {
    for (const name of ['control-plane', 'node', 'containerd']) kill(name);
    coracle('down');
    assertNothingLeft();
  });

  it('comes up with its Pods again, and is gone after down', () => {
    coracle('up', '--detach');
    kubectl('wait', '--for=condition=Ready', 'pod/first', 'pod/second', '--timeout=60s');
    coracle('down');
    assertNothingLeft();
    assert.ok(existsSync(directory.store));
  });

  it('takes its containers down when its node becomes a simulated one', () => {
    coracle('up', '--detach');
    process.kill(pidOf('control-plane'), 'SIGKILL');
    coracle('up', '--detach', '--runtime', 'simulated');
    assert.deepEqual(shims(), []);
    assert.match(coracle('status'), /containerd +-/);
    coracle('down');
    assertNothingLeft();
  });

  it('is gone with its data after down --purge', () => {
    coracle('up', '--detach', '--runtime', 'containerd');
    coracle('down', '--purge');
    assertNothingLeft();
    assert.ok(!existsSync(directory.root));
  });
});

/** Two machines, each a network namespace on one link: a cluster on the first, and the second joins it with a token. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { layOut } from '../../src/cluster/data/data-directory.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { ClusterMachine } from './cluster-machine.fixture.ts';

describe('a second machine joins a cluster', needs('containers'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-join-'));
  const [firstData, secondData] = [join(folder, 'first'), join(folder, 'second')];
  let network: TestNetwork;
  let first: ClusterMachine;
  let second: ClusterMachine;

  const kubectl = (...words: string[]) => first.kubectl(...words);
  const joinWords = () => first.coracle('token', 'create', '--print-join-command').split(' ').slice(1);
  const joining = ['--detach', '--no-install', '--node-name', 'second'];

  before(() => {
    network = testNetwork();
    first = new ClusterMachine(network.host(['192.168.80.1/24']), { data: firstData, folder });
    second = new ClusterMachine(network.host([]), { data: secondData, folder });
    first.run('ip', 'link', 'add', 'port2', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', second.host.namespace);
    first.run('ip', 'link', 'set', 'port2', 'master', 'uplink', 'up');
    second.run('ip', 'route', 'del', 'default');
    second.run('ip', 'link', 'del', 'uplink');
    second.run('ip', 'link', 'set', 'eth0', 'up');
    second.run('ip', 'addr', 'add', '192.168.80.2/24', 'dev', 'eth0');
    second.run('ip', 'route', 'add', 'default', 'dev', 'eth0');
    first.coracle('up', '--detach', '--no-install', '--node-name', 'first');
    first.loadBusybox();
  });
  after(() => {
    try {
      second.coracle('down', '--purge');
      first.coracle('down', '--purge');
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('is refused with a wrong token, a token that has ended, and a wrong authority', () => {
    const [, server = '', , token = '', , hash = ''] = joinWords();
    const attempt = (...words: string[]) => second.refusal('join', server, ...words, ...joining);
    const wrongSecret = `${token.split('.')[0]}.0000000000000000`;
    assert.match(attempt('--token', 'nonsense'), /was not of the form/);
    assert.match(attempt('--token', wrongSecret), /does not know the token´s secret/);
    const flag = '--discovery-token-ca-cert-hash';
    assert.match(attempt('--token', token, flag, `sha256:${'0'.repeat(64)}`), /public keys \["sha256:.*"\] are pinned/);
    first.coracle('token', 'delete', token);
    assert.match(attempt('--token', token, flag, hash), /does not know the token/);
    assert.ok(!existsSync(join(secondData, 'pki/kubelet-client-current.pem')));
    assert.match(second.refusal('join', ...joining), /needs the cluster´s address and a token/);
  });

  it('becomes a node with certificates of its own, and needs the token no more', async () => {
    second.coracle(...joinWords(), ...joining);
    assert.equal(first.readiness('second'), 'True');
    assert.match(readFileSync(join(secondData, 'kubeconfig'), 'utf8'), /kubelet-client-current.pem/);
    assert.doesNotMatch(readFileSync(layOut(secondData).kubeconfig, 'utf8'), /token/);
    const tokens = first.coracle('token', 'list');
    assert.match(tokens, /^TOKEN +TTL\n[a-z0-9]{6}\.[a-z0-9]{16} +23h59m$/);
    assert.match(second.coracle('status'), /node\/second +Ready/);
  });

  it('runs Pods that reach those of the other node, Services and names', async () => {
    second.loadBusybox();
    const pod = (name: string, nodeName: string, ...command: string[]) => {
      const spec = { nodeName, terminationGracePeriodSeconds: 1 };
      kubectl('run', name, '--image=busybox:1.36', `--overrides=${JSON.stringify({ spec })}`, '--', ...command);
      kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
    };
    pod('web', 'first', 'httpd', '-f', '-p', '8080');
    pod('caller', 'second', 'sleep', '10000');
    kubectl('expose', 'pod', 'web', '--port=80', '--target-port=8080');
    const ip = kubectl('get', 'pod', 'web', '-o', 'jsonpath={.status.podIP}');
    await eventually(() => kubectl('exec', 'caller', '--', 'ping', '-c', '1', '-W', '2', ip), / 0% packet loss/);
    const page = (host: string) => () =>
      kubectl('exec', 'caller', '--', 'sh', '-c', `wget -q -O- http://${host}/ 2>&1 || true`);
    await eventually(page('web.default.svc.cluster.local'), /404/);
  });

  it('is taken up again by the same command without address or token, Pods and all', async () => {
    const containerId = () =>
      kubectl('get', 'pod', 'caller', '-o', 'jsonpath={.status.containerStatuses[0].containerID}');
    const before = containerId();
    const { run } = layOut(secondData);
    for (const name of ['join', 'node'])
      process.kill(Number(readFileSync(join(run, `${name}.pid`), 'utf8').split(' ')[0]), 'SIGKILL');
    second.coracle('join', ...joining);
    assert.equal(first.readiness('second'), 'True');
    assert.equal(containerId(), before);
    assert.equal(kubectl('exec', 'caller', '--', 'echo', 'still here'), 'still here');
  });

  it('keeps its name', () => {
    second.coracle('down');
    const words = ['--detach', '--no-install', '--node-name', 'other'];
    assert.match(second.refusal('join', ...words), /joined as second, and a node keeps its name/);
    assert.doesNotMatch(second.run('ip', 'route'), /10\.244/);
  });
});

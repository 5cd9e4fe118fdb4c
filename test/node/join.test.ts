/** Two machines, each a network namespace on one link: a cluster on the first, and the second joins it with a token. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { layOut } from '../../src/cluster/data-directory.ts';
import { containerdMissing } from '../../src/testing/containerd.ts';
import { type TestHost, type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { busyboxImageArchive } from '../../src/testing/oci-image.ts';

const root = resolve(import.meta.dirname, '../..');
const missing = containerdMissing();
if (missing && process.env.CI) throw new Error(`real containers cannot run here: ${missing}`);

describe('a second machine joins a cluster', { skip: missing ?? false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-join-'));
  const [firstData, secondData] = [join(folder, 'first'), join(folder, 'second')];
  let network: TestNetwork;
  let first: TestHost;
  let second: TestHost;

  const on = (host: TestHost, program: string, ...words: string[]) =>
    execFileSync('nsenter', [`--net=/run/netns/${host.namespace}`, program, ...words], {
      encoding: 'utf8',
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 90_000,
      env: { ...process.env, KUBECONFIG: join(firstData, 'kubeconfig'), HOME: folder },
    }).trim();
  const kubectl = (...words: string[]) => on(first, 'kubectl', ...words);
  const refused = (work: () => string): string => {
    try {
      work();
    } catch (error) {
      return String((error as { readonly stderr?: string }).stderr);
    }
    return 'it was not refused';
  };
  const eventually = async (ask: () => string, expected: RegExp) => {
    let last = '';
    for (let attempt = 0; attempt < 150; attempt++) {
      try {
        last = ask();
        if (expected.test(last)) return;
      } catch (error) {
        last = String(error);
      }
      await pause(200);
    }
    assert.match(last, expected);
  };
  const ready = (name: string) => () =>
    kubectl('get', 'node', name, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}');
  const joinWords = () =>
    on(first, './coracle', 'token', 'create', '--print-join-command', '--data-dir', firstData).split(' ').slice(1);
  const joining = ['--detach', '--no-install', '--node-name', 'second', '--data-dir', secondData];

  before(() => {
    network = testNetwork();
    first = network.host(['192.168.80.1/24']);
    second = network.host([]);
    first.run('ip', 'link', 'add', 'port2', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', second.namespace);
    first.run('ip', 'link', 'set', 'port2', 'master', 'uplink', 'up');
    second.run('ip', 'route', 'del', 'default');
    second.run('ip', 'link', 'del', 'uplink');
    second.run('ip', 'link', 'set', 'eth0', 'up');
    second.run('ip', 'addr', 'add', '192.168.80.2/24', 'dev', 'eth0');
    second.run('ip', 'route', 'add', 'default', 'dev', 'eth0');
    on(first, './coracle', 'up', '--detach', '--no-install', '--node-name', 'first', '--data-dir', firstData);
    const archive = join(folder, 'busybox.tar');
    writeFileSync(archive, busyboxImageArchive('docker.io/library/busybox:1.36'));
    on(first, './coracle', 'image', 'load', archive, '--data-dir', firstData);
  });
  after(() => {
    try {
      on(second, './coracle', 'down', '--purge', '--data-dir', secondData);
      on(first, './coracle', 'down', '--purge', '--data-dir', firstData);
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('is refused with a wrong token, a token that has ended, and a wrong authority', () => {
    const [, server = '', , token = '', , hash = ''] = joinWords();
    const attempt = (...words: string[]) =>
      refused(() => on(second, './coracle', 'join', server, ...words, ...joining));
    const wrongSecret = `${token.split('.')[0]}.0000000000000000`;
    assert.match(attempt('--token', 'nonsense'), /was not of the form/);
    assert.match(attempt('--token', wrongSecret), /does not know the token´s secret/);
    const flag = '--discovery-token-ca-cert-hash';
    assert.match(attempt('--token', token, flag, `sha256:${'0'.repeat(64)}`), /public keys \["sha256:.*"\] are pinned/);
    on(first, './coracle', 'token', 'delete', token, '--data-dir', firstData);
    assert.match(attempt('--token', token, flag, hash), /does not know the token/);
    assert.ok(!existsSync(join(secondData, 'pki/kubelet-client-current.pem')));
    assert.match(
      refused(() => on(second, './coracle', 'join', ...joining)),
      /needs the cluster´s address and a token/,
    );
  });

  it('becomes a node with certificates of its own, and needs the token no more', async () => {
    on(second, './coracle', ...joinWords(), ...joining);
    assert.equal(ready('second')(), 'True');
    assert.match(readFileSync(join(secondData, 'kubeconfig'), 'utf8'), /kubelet-client-current.pem/);
    assert.doesNotMatch(readFileSync(layOut(secondData).kubeconfig, 'utf8'), /token/);
    const tokens = on(first, './coracle', 'token', 'list', '--data-dir', firstData);
    assert.match(tokens, /^TOKEN +TTL\n[a-z0-9]{6}\.[a-z0-9]{16} +23h59m$/);
    assert.match(on(second, './coracle', 'status', '--data-dir', secondData), /node\/second +Ready/);
  });

  it('runs Pods that reach those of the other node, Services and names', async () => {
    const archive = join(folder, 'busybox.tar');
    on(second, './coracle', 'image', 'load', archive, '--data-dir', secondData);
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
    on(second, './coracle', 'join', ...joining);
    assert.equal(ready('second')(), 'True');
    assert.equal(containerId(), before);
    assert.equal(kubectl('exec', 'caller', '--', 'echo', 'still here'), 'still here');
  });

  it('keeps its name', () => {
    on(second, './coracle', 'down', '--data-dir', secondData);
    const words = ['--detach', '--no-install', '--node-name', 'other', '--data-dir', secondData];
    assert.match(
      refused(() => on(second, './coracle', 'join', ...words)),
      /joined as second, and a node keeps its name/,
    );
    assert.doesNotMatch(second.run('ip', 'route'), /10\.244/);
  });
});

/** `coracle up`, `status` and `down` with a simulated node: the processes, their deaths and their return, as a user sees them. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { eventually } from '../../src/testing/eventually.ts';
import { isAlive, TestCluster } from './coracle.fixture.ts';

describe('a cluster with a simulated node', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.create();
  });
  after(() => cluster.remove());

  it('is Ready when up --detach returns, and says what to type next', () => {
    const { status, stdout, stderr } = cluster.up('--node-name', 'first');
    assert.equal(status, 0, stderr);
    assert.match(stdout, /✓ control plane at https:\/\/127\.0\.0\.1:\d+ \(\d+\.\d s\)/);
    assert.match(stdout, /✓ node first Ready \(\d+\.\d s\)/);
    assert.ok(stdout.includes(`export KUBECONFIG=${cluster.data}/kubeconfig`), stdout);
    assert.match(cluster.kubectl('get', 'nodes', '--no-headers'), /^first +Ready /);
  });

  it('keeps its kubeconfig and keys from others', () => {
    for (const file of ['kubeconfig', 'pki/ca.key', 'pki/admin.key'])
      assert.equal(statSync(join(cluster.data, file)).mode & 0o077, 0, file);
  });

  it('runs Pods, and answers for their logs', () => {
    cluster.kubectl('create', 'deployment', 'web', '--image=web', '--replicas=2');
    cluster.kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=20s');
    cluster.kubectl('run', 'talker', '--image=talker', '--', 'echo', 'hello');
    cluster.kubectl('wait', '--for=jsonpath={.status.phase}=Running', 'pod/talker', '--timeout=20s');
    assert.equal(cluster.kubectl('logs', 'talker'), 'hello');
  });

  it('is shown by status', () => {
    const { status, stdout } = cluster.coracle('status');
    assert.equal(status, 0);
    assert.ok(stdout.includes(`running at https://${cluster.listen}`), stdout);
    assert.ok(stdout.includes(`pid ${cluster.pid('control-plane')}, up `), stdout);
    assert.match(stdout, /node\/first +Ready/);
  });

  it('is refused a second start, with the process that runs', () => {
    const { status, stderr } = cluster.up();
    assert.equal(status, 1);
    assert.ok(
      stderr.startsWith(
        `coracle: a cluster already runs on ${cluster.data} (process ${cluster.pid('control-plane')}).`,
      ),
      stderr,
    );
  });

  it('starts a node process again that was killed', async () => {
    const before = cluster.pid('node');
    await cluster.crash('node');
    await eventually(() => cluster.pid('node') !== before);
    cluster.kubectl('wait', '--for=condition=Ready', 'node/first', '--timeout=20s');
  });

  it('takes the running node over after the control plane was killed, with nothing lost', async () => {
    const node = cluster.pid('node');
    const uid = cluster.kubectl('get', 'deployment', 'web', '-o', 'jsonpath={.metadata.uid}');
    await cluster.crash('control-plane');
    assert.ok(isAlive(node));
    assert.equal(cluster.coracle('status').status, 1);
    // Neither the address nor the runtime nor the name are said again: they are remembered.
    const { status, stderr } = cluster.coracle('up', '--detach');
    assert.equal(status, 0, stderr);
    assert.equal(cluster.pid('node'), node);
    assert.equal(cluster.kubectl('get', 'deployment', 'web', '-o', 'jsonpath={.metadata.uid}'), uid);
    assert.equal(cluster.kubectl('get', 'nodes', '-o', 'name'), 'node/first');
  });

  it('comes back after both were killed', async () => {
    await cluster.crash('control-plane');
    await cluster.crash('node');
    assert.equal(cluster.coracle('up', '--detach').status, 0);
    cluster.kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=30s');
    assert.match(cluster.kubectl('get', 'pods', '-l', 'app=web', '--no-headers'), /1\/1 +Running[\s\S]*1\/1 +Running/);
  });

  it('stops, keeps its data, and is safe to stop again', () => {
    const pids = [cluster.pid('control-plane'), cluster.pid('node')];
    assert.equal(cluster.coracle('down').status, 0);
    assert.deepEqual(pids.map(isAlive), [false, false]);
    const { status, stdout } = cluster.coracle('status');
    assert.equal(status, 1);
    assert.match(stdout, /^cluster +not running/);
    assert.equal(cluster.coracle('down').status, 0);
    assert.ok(existsSync(join(cluster.data, 'store')));
  });

  it('audits and encrypts when asked with the API server´s own flags, which are remembered, and forgotten when asked', () => {
    const file = (name: string, content: string) => {
      writeFileSync(join(cluster.folder, name), content);
      return join(cluster.folder, name);
    };
    const log = join(cluster.folder, 'audit.log');
    const key = Buffer.alloc(32, 7).toString('base64');
    const flags = {
      'audit-policy-file': file(
        'audit.yaml',
        'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n',
      ),
      'audit-log-path': log,
      'encryption-provider-config': file(
        'encryption.yaml',
        `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{ resources: [secrets], providers: [{ secretbox: { keys: [{ name: a, secret: ${key} }] } }, { identity: {} }] }]\n`,
      ),
    };
    const words = Object.entries(flags).flatMap(([name, value]) => ['--kube-apiserver-flag', `${name}=${value}`]);
    const { status, stderr } = cluster.up(...words);
    assert.equal(status, 0, stderr);
    const audited = (name: string) => readFileSync(log, 'utf8').includes(`/secrets/${name}`);
    const secret = (name: string) => {
      cluster.kubectl('create', 'secret', 'generic', name, '--from-literal=word=swordfish');
      return cluster.kubectl('get', 'secret', name, '-o', 'jsonpath={.data.word}');
    };
    assert.equal(secret('first'), Buffer.from('swordfish').toString('base64'));
    assert.ok(audited('first'));
    cluster.coracle('down');
    assert.equal(cluster.up().status, 0);
    secret('second');
    assert.ok(audited('second'));
    cluster.coracle('down');
    assert.equal(
      cluster.up('--kube-apiserver-flag', `encryption-provider-config=${flags['encryption-provider-config']}`).status,
      0,
    );
    assert.equal(secret('third'), Buffer.from('swordfish').toString('base64'));
    assert.ok(!audited('third'));
    cluster.kubectl('delete', 'secret', 'first', 'second', 'third');
    cluster.coracle('down');
    assert.equal(cluster.up('--kube-apiserver-flag=').status, 0);
    cluster.coracle('down');
  });

  it('stays in the foreground until SIGTERM, and is the same cluster', async () => {
    const { child, waitFor } = cluster.foreground();
    await waitFor('The cluster is ready');
    assert.equal(cluster.kubectl('get', 'deployment', '-o', 'name'), 'deployment.apps/web');
    child.kill('SIGTERM');
    const [code] = await new Promise<[number | null]>((done) => child.once('exit', (status) => done([status])));
    assert.equal(code, 0);
  });

  it('ends with its node on Ctrl-C', async () => {
    const { child, waitFor } = cluster.foreground();
    await waitFor('The cluster is ready');
    const node = cluster.pid('node');
    child.kill('SIGINT');
    await new Promise((done) => child.once('exit', done));
    assert.ok(!isAlive(node));
  });

  it('is given up by Ctrl-C while it starts in the background, and nothing of it runs', async () => {
    const { child } = cluster.foreground('--detach');
    await new Promise((done) => child.stdout?.once('data', done));
    child.kill('SIGINT');
    const code = await new Promise((done) => child.once('exit', done));
    // Its first line is that of the control plane; the node is Ready soon after, and then it is too late to give up.
    assert.ok(code === 130 || code === 0, String(code));
    if (code === 0) return;
    assert.equal(cluster.coracle('status').status, 1);
    assert.ok(!existsSync(join(cluster.data, 'run', 'node.pid')));
  });

  it('purges its data, twice if asked', () => {
    assert.equal(cluster.coracle('down', '--purge').status, 0);
    assert.ok(!existsSync(cluster.data));
    assert.equal(cluster.coracle('down', '--purge').status, 0);
  });
});

describe('kubeconfig files', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.create();
  });
  after(() => cluster.remove());

  it('are written where asked, and merged into the user´s own only when asked', () => {
    const own = join(cluster.folder, 'own');
    const other = { name: 'other', context: { cluster: 'other', user: 'other' } };
    writeFileSync(
      own,
      JSON.stringify({ apiVersion: 'v1', kind: 'Config', contexts: [other], 'current-context': 'other' }),
    );
    const target = join(cluster.folder, 'target');
    process.env.KUBECONFIG = own;
    assert.equal(cluster.up('--kubeconfig', target).status, 0);
    assert.equal(parse(readFileSync(own, 'utf8')).contexts.length, 1);
    assert.equal(parse(readFileSync(target, 'utf8'))['current-context'], 'coracle');
    cluster.coracle('down');
    const { stdout } = cluster.up('--merge-kubeconfig');
    assert.ok(!stdout.includes('export KUBECONFIG'), stdout);
    const merged = parse(readFileSync(own, 'utf8'));
    assert.deepEqual(
      merged.contexts.map(({ name }: { name: string }) => name),
      ['other', 'coracle'],
    );
    assert.equal(merged['current-context'], 'coracle');
    const down = cluster.coracle('down', '--purge');
    assert.ok(down.stdout.startsWith(`Took context coracle out of ${own}.\n`), down.stdout + down.stderr);
    assert.deepEqual(parse(readFileSync(own, 'utf8')).contexts, [other]);
    const { status, stderr } = cluster.up('--kubeconfig', own);
    assert.equal(status, 1);
    assert.match(stderr, /holds another cluster's context \(other\) and will not be overwritten/);
  });
});

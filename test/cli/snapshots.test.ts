/** `coracle snapshot` as a user types it: taken of a cluster at work, restored into another folder, started there. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../src/testing/eventually.ts';
import { coracle, TestCluster } from './coracle.fixture.ts';

describe('a snapshot of a cluster at work', () => {
  let old: TestCluster;
  let fresh: TestCluster;
  let file = '';
  let uids = '';
  before(async () => {
    old = await TestCluster.create();
    fresh = await TestCluster.create();
    file = join(old.folder, 'cluster.snapshot');
    assert.equal(old.up('--node-name', 'first').status, 0);
    old.kubectl('create', 'deployment', 'web', '--image=web', '--replicas=2');
    old.kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=20s');
    old.kubectl('create', 'secret', 'generic', 'password', '--from-literal=word=secret');
    uids = uidsIn(old);
  });
  after(() => {
    old.remove();
    fresh.remove();
  });

  it('is taken while objects are being written', async () => {
    const environment = { ...process.env, KUBECONFIG: join(old.data, 'kubeconfig') };
    const loop =
      'i=0; while :; do i=$((i+1)); kubectl create configmap "during-$i" --from-literal=a=b >/dev/null; done';
    const writer = spawn('sh', ['-c', loop], { env: environment, stdio: 'ignore', detached: true });
    try {
      await eventually(() => old.kubectl('get', 'configmaps', '-o', 'name'), /during-/);
      const { status, stdout, stderr } = old.coracle('snapshot', 'save', file);
      assert.equal(status, 0, stderr);
      assert.match(stdout, /✓ saved to .*\n.*✓ read again and found whole .*\n\d+ objects at revision \d+, /);
    } finally {
      process.kill(-writer.pid!, 'SIGKILL');
    }
  });

  it('is proved whole by verify, and not when a byte of it was changed', () => {
    const { status, stdout } = coracle(['snapshot', 'verify', file]);
    assert.equal(status, 0);
    assert.match(stdout, /is whole: \d+ objects at revision \d+,\ntaken 20\d\d-.* by coracle .* from lmdb:/);
    const content = readFileSync(file);
    content[content.length >> 1]! ^= 1;
    const bad = `${file}.bad`;
    writeFileSync(bad, content);
    const refused = coracle(['snapshot', 'verify', bad]);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /is damaged: what begins at byte \d+ is not what was written/);
  });

  it('is never written over, nor restored over a cluster', () => {
    const again = old.coracle('snapshot', 'save', file);
    assert.equal(again.status, 1);
    assert.equal(again.stderr, `coracle: ${file} is there already.\nChoose another name, or give --replace.\n`);
    assert.match(old.coracle('snapshot', 'restore', file).stderr, /is in use by process \d+\.\nStop the cluster first/);
  });

  it('makes the same cluster in another folder, which goes on above all revisions of before', () => {
    const version = newestVersion(old);
    old.coracle('down');
    const { status, stdout, stderr } = fresh.coracle('snapshot', 'restore', file);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /the store goes on at revision 1000\d{6}\.\nKeys and certificates are not in a snapshot/);
    cpSync(join(old.data, 'pki'), join(fresh.data, 'pki'), { recursive: true });
    const up = fresh.up('--node-name', 'first');
    assert.equal(up.status, 0, up.stderr);
    assert.equal(uidsIn(fresh), uids);
    assert.equal(fresh.kubectl('get', 'secret', 'password', '-o', 'jsonpath={.data.word}'), 'c2VjcmV0');
    fresh.kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=30s');
    assert.ok(newestVersion(fresh) > version);
    const watch = `/api/v1/configmaps?watch=1&resourceVersion=${version}`;
    assert.match(fresh.kubectl('get', '--raw', watch), /"code":410/);
  });
});

describe('a cluster whose store was damaged', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.create();
    assert.equal(cluster.up('--node-name', 'first').status, 0);
    cluster.kubectl('create', 'configmap', 'kept', '--from-literal=a=b');
    cluster.kubectl('create', 'configmap', 'lost', '--from-literal=a=b');
    cluster.coracle('down');
    const store = join(cluster.data, 'store', 'data.mdb');
    const content = readFileSync(store);
    // Pages that LMDB has given up hold older copies of a record: whichever is in use is among them.
    for (let at = content.indexOf('"name":"lost"'); at >= 0; at = content.indexOf('"name":"lost"', at)) {
      content[at]! ^= 1;
    }
    writeFileSync(store, content);
  });
  after(() => cluster.remove());

  it('is not started, and says which commands help; they do', () => {
    const { status, stderr } = cluster.up();
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^coracle: the data directory \S+ is damaged: the record of revision \d+ is not what was written/,
    );
    const save = /\(coracle (snapshot save FILE --salvage --from lmdb:\S+)\)/.exec(stderr)?.[1] ?? assert.fail(stderr);
    const file = join(cluster.folder, 'rest.snapshot');
    const saved = coracle(save.replace('FILE', file).split(' '));
    assert.match(saved.stdout, /\n1 pages or records were lost: /);
    const restored = cluster.coracle('snapshot', 'restore', file, '--replace');
    assert.match(restored.stdout, /\nWhat was there is in store\.before-\S+, beside /);
    assert.equal(cluster.up().status, 0);
    const names = cluster.kubectl('get', 'configmaps', '-o', 'name').split('\n');
    assert.ok(names.includes('configmap/kept') && !names.includes('configmap/lost'), names.join());
  });
});

function uidsIn(cluster: TestCluster): string {
  const path = 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{"\\n"}{end}';
  return cluster.kubectl('get', 'namespaces,deployments,replicasets,secrets,nodes', '-o', path);
}

function newestVersion(cluster: TestCluster): number {
  return Number(JSON.parse(cluster.kubectl('get', '--raw', '/api/v1/configmaps')).metadata.resourceVersion);
}

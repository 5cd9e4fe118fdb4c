/** `coracle history`, `get --at` and `diff` on a cluster that was changed with kubectl. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TestCluster } from './coracle.fixture.ts';

describe('the past of a cluster', () => {
  let cluster: TestCluster;
  let created = '';
  let auditLog = '';
  before(async () => {
    cluster = await TestCluster.create();
    const policy = join(cluster.folder, 'policy.json');
    const rules = [{ level: 'Metadata', verbs: ['create', 'patch', 'delete'] }];
    writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
    auditLog = join(cluster.folder, 'audit.log');
    const flags = { 'audit-policy-file': policy, 'audit-log-path': auditLog, 'audit-log-mode': 'blocking' };
    const words = Object.entries(flags).flatMap(([name, value]) => ['--kube-apiserver-flag', `${name}=${value}`]);
    assert.equal(cluster.up('--node-name', 'first', ...words).status, 0);
    cluster.kubectl('create', 'configmap', 'a', '--from-literal=key=one');
    created = cluster.kubectl('get', 'configmap', 'a', '-o', 'jsonpath={.metadata.resourceVersion}');
    cluster.kubectl('patch', 'configmap', 'a', '--type=merge', '-p', '{"data":{"key":"two"}}', '--field-manager=me');
    cluster.kubectl('delete', 'configmap', 'a');
  });
  after(() => cluster.remove());

  const told = (...words: string[]) => {
    const { status, stdout, stderr } = cluster.coracle(...words);
    assert.equal(status, 0, stderr);
    return stdout;
  };

  it('tells every change of an object with when, by whom and what', () => {
    const text = told('history', 'configmap/a');
    assert.match(text, /^REVISION +TIME +BY +CHANGE\n/);
    assert.match(text, new RegExp(`\\n${created} +20\\d\\d-\\S+Z +kubectl-create \\(Update\\) +created\\n`));
    assert.match(text, /me \(Update\) +1 field\n {4}data\.key: "one" -> "two"\n/);
    assert.match(text, /\n\d+ +20\d\d-\S+Z +- +deleted\n$/);
    assert.match(
      told('history'),
      /^From revision \d+ \(20.*\) to \d+, \d+ changes that take .*; the whole store takes /,
    );
  });

  it('tells the users too who asked, by the audit log', () => {
    const text = told('history', 'configmap/a', '--audit-log', auditLog);
    assert.match(text, /^REVISION +TIME +USER +BY +CHANGE\n/);
    for (const change of ['kubectl-create \\(Update\\) +created', 'me \\(Update\\) +1 field', '- +deleted'])
      assert.match(text, new RegExp(`Z +kubernetes-admin +${change}\n`));
  });

  it('shows objects as they were, by revision and by time', () => {
    assert.match(told('get', 'cm', 'a', '--at', created), /^NAME +DATA +AGE\na +1 +/);
    assert.match(told('get', 'configmaps', '--at', created, '-o', 'yaml', '-A'), /key: one/);
    const { items } = JSON.parse(told('history', 'cm/a', '-o', 'json'));
    const time = items[1].time as string;
    assert.match(told('get', 'nodes', '--at', '0s', '-o', 'name'), /^nodes\/first\n$/);
    assert.match(told('get', 'ConfigMap', '-A', '--at', time), /^NAMESPACE +NAME/);
    const gone = cluster.coracle('get', 'cm', 'a', '--at', '0s');
    assert.equal(gone.status, 1);
    assert.equal(gone.stderr, 'Error from server (NotFound): configmaps "a" not found\n');
  });

  it('tells what differs between two states, and who did it', () => {
    const second = String(Number(created) + 1);
    const changed = JSON.parse(told('history', 'cm/a', '-o', 'json')).items[1].revision as string;
    assert.ok(Number(changed) >= Number(second));
    const text = told('diff', 'cm/a', '--from', created, '--to', changed);
    assert.match(text, /\n {2}data\.key: "one" -> "two" {2}# me \(Update\) 20/);
    assert.match(told('diff', 'cm/a', '--from', created), /It was deleted\./);
  });

  it('refuses what nobody remembers and what is no time', () => {
    const early = cluster.coracle('get', 'cm', '--at', '2020-01-01T00:00:00Z');
    assert.match(early.stderr, /^Error from server \(Expired\): 2020-01-01T00:00:00Z lies before what is remembered/);
    const never = cluster.coracle('get', 'cm', '--at', 'yesterday');
    assert.match(never.stderr, /^coracle: "yesterday" is neither a revision nor a time\.\nGive a resourceVersion/);
    const nothing = cluster.coracle('history', 'cm/never');
    assert.equal(nothing.stderr, 'Error from server (NotFound): configmaps "never" not found\n');
  });

  it('is a right of its own', () => {
    cluster.kubectl('create', 'role', 'reader', '--verb=get,list', '--resource=configmaps');
    cluster.kubectl('create', 'rolebinding', 'reader', '--role=reader', '--user=ann');
    const path = '/api/v1/namespaces/default/configmaps/a/history';
    assert.throws(
      () => cluster.kubectl('get', '--raw', path, '--as', 'ann'),
      /cannot get resource "configmaps\/history"/,
    );
    cluster.kubectl('create', 'role', 'historian', '--verb=get', '--resource=configmaps/history');
    cluster.kubectl('create', 'rolebinding', 'historian', '--role=historian', '--user=ann');
    assert.match(cluster.kubectl('get', '--raw', path, '--as', 'ann'), /"kind":"ObjectHistory"/);
  });
});

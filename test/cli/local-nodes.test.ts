/** `coracle up --nodes N` where nodes only pretend to run containers: more processes, no networks of their own, no rights needed. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestCluster } from './coracle.fixture.ts';

describe('several simulated nodes', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.create();
  });
  after(() => cluster.remove());

  const names = () => cluster.kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}');
  const states = () =>
    cluster
      .coracle('node', 'list')
      .stdout.trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ +/).join(' '));

  it('are all Ready when up returns', () => {
    const { status, stdout, stderr } = cluster.up('--node-name', 'n', '--nodes', '3');
    assert.equal(status, 0, stderr);
    for (const name of ['n', 'n-2', 'n-3']) assert.match(stdout, new RegExp(`✓ node ${name} Ready`));
    assert.equal(names(), 'n n-2 n-3');
    assert.deepEqual(states(), ['n-2 - running', 'n-3 - running']);
  });

  it('can be crashed and started, but not cut off', () => {
    assert.equal(cluster.coracle('node', 'crash', 'n-2').stdout, 'crash n-2: done\n');
    assert.deepEqual(states(), ['n-2 - stopped', 'n-3 - running']);
    assert.equal(cluster.coracle('node', 'start', 'n-2').status, 0);
    assert.deepEqual(states(), ['n-2 - running', 'n-3 - running']);
    const { status, stderr } = cluster.coracle('node', 'partition', 'n-2');
    assert.equal(status, 1);
    assert.match(stderr, /a simulated node has no network of its own to be cut from/);
  });

  it('are fewer when fewer are asked for, and what is asked for is remembered', () => {
    cluster.coracle('down');
    assert.deepEqual(states(), ['n-2 - stopped', 'n-3 - stopped']);
    assert.equal(cluster.up('--nodes', '2').status, 0);
    assert.deepEqual(states(), ['n-2 - running']);
    assert.equal(names(), 'n n-2');
    cluster.coracle('down');
    assert.equal(cluster.up().status, 0);
    assert.deepEqual(states(), ['n-2 - running']);
  });
});

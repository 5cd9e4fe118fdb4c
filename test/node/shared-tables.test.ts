/** Tables that iptables makes by the way: ours go when nothing is in them any more, others' and full ones stay. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { removeEmptyPortMappings } from '../../src/cluster/node/pod-network.ts';
import { noteAbsentTables, removeEmptyTables } from '../../src/cluster/node/shared-tables.ts';
import { type TestHost, type TestNetwork, testNetwork } from '../../src/testing/network.ts';

let network: TestNetwork;
let host: TestHost;
let folder: string;
let note: string;
beforeEach(() => {
  network = testNetwork();
  host = network.host(['192.168.78.1/24']);
  folder = mkdtempSync(join(tmpdir(), 'coracle-tables-'));
  note = join(folder, 'note');
});
afterEach(() => {
  network.close();
  rmSync(folder, { recursive: true });
});

const tables = () => host.run('nft', 'list', 'tables').split('\n').filter(Boolean).sort();

test('a table that the node brought about goes once it is empty', () => {
  noteAbsentTables(host.wrapper('nft'), note);
  host.run('iptables', '-t', 'nat', '-A', 'POSTROUTING', '-j', 'MASQUERADE');
  host.run('ip6tables', '-t', 'nat', '-N', 'CNI-HOSTPORT-DNAT');
  host.run('iptables', '-t', 'nat', '-F');
  removeEmptyTables(host.wrapper('nft'), note);
  assert.deepEqual(tables(), []);
});

test('what a plugin that was killed had made of the port mappings goes too, one in use stays', () => {
  const chains = () => host.run('iptables', '-t', 'nat', '-S').match(/CNI-HOSTPORT-\w+/g) ?? [];
  for (const chain of ['SETMARK', 'MASQ']) host.run('iptables', '-t', 'nat', '-N', `CNI-HOSTPORT-${chain}`);
  removeEmptyPortMappings(host.wrapper('iptables'));
  assert.deepEqual(chains(), []);
  host.run('iptables', '-t', 'nat', '-N', 'CNI-HOSTPORT-DNAT');
  host.run('iptables', '-t', 'nat', '-A', 'CNI-HOSTPORT-DNAT', '-j', 'RETURN');
  removeEmptyPortMappings(host.wrapper('iptables'));
  assert.notDeepEqual(chains(), []);
});

test('one with a rule in it stays, and one that was there before', () => {
  host.run('nft', 'add', 'table', 'ip6', 'nat');
  noteAbsentTables(host.wrapper('nft'), note);
  host.run('iptables', '-t', 'nat', '-A', 'POSTROUTING', '-j', 'MASQUERADE');
  noteAbsentTables(host.wrapper('nft'), note);
  removeEmptyTables(host.wrapper('nft'), note);
  assert.deepEqual(tables(), ['table ip nat', 'table ip6 nat']);
});

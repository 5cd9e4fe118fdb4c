import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { NftJson } from '../../proxy/ruleset.ts';
import {
  configuredPodCidrs,
  hasForeignNetwork,
  masquerade,
  podNetworkConfiguration,
  removeMasquerade,
  removePodNetwork,
  writePodNetwork,
} from './pod-network.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-cni-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const recorder = () => {
  const transactions: (readonly NftJson[])[] = [];
  const kernel = {
    apply: async (commands: readonly NftJson[]) => void transactions.push(commands),
    countRules: async () => 1,
    forgetFlows: async () => {},
  };
  return { kernel, transactions };
};

test('Pods hang on point-to-point links with addresses of the node´s range and a route to everywhere', () => {
  const { plugins } = JSON.parse(podNetworkConfiguration(['10.244.3.0/24'], '/addresses'));
  assert.deepEqual(plugins[0], {
    type: 'ptp',
    ipMasq: false,
    ipam: {
      type: 'host-local',
      dataDir: '/addresses',
      ranges: [[{ subnet: '10.244.3.0/24' }]],
      routes: [{ dst: '0.0.0.0/0' }],
    },
  });
  assert.equal(plugins[1].type, 'portmap');
});

test('two families have a range and a route each', () => {
  const { plugins } = JSON.parse(podNetworkConfiguration(['10.244.3.0/24', 'fd00:1::/64'], '/addresses'));
  assert.equal(plugins[0].ipam.ranges.length, 2);
  assert.deepEqual(plugins[0].ipam.routes, [{ dst: '0.0.0.0/0' }, { dst: '::/0' }]);
});

test('the configuration is written once, whole, and only when it changes', () => {
  const options = { folder: join(folder, 'cni'), addressFolder: '/addresses' };
  assert.equal(writePodNetwork(['10.244.0.0/24'], options), true);
  assert.equal(writePodNetwork(['10.244.0.0/24'], options), false);
  assert.equal(writePodNetwork(['10.244.1.0/24'], options), true);
  assert.deepEqual(readdirSync(options.folder), ['10-coracle.conflist']);
  assert.deepEqual(configuredPodCidrs(options.folder), ['10.244.1.0/24']);
});

test('a network that somebody else set up is told from our own', () => {
  assert.equal(hasForeignNetwork(join(folder, 'missing')), false);
  writePodNetwork(['10.244.0.0/24'], { folder, addressFolder: '/addresses' });
  assert.equal(hasForeignNetwork(folder), false);
  writeFileSync(join(folder, '05-cilium.conflist'), '{}');
  assert.equal(hasForeignNetwork(folder), true);
  removePodNetwork(folder);
  assert.deepEqual(readdirSync(folder), ['05-cilium.conflist']);
});

test('what leaves the cluster is masqueraded, and what stays is not', async () => {
  const { kernel, transactions } = recorder();
  await masquerade(kernel, ['10.244.3.0/24'], { inside: ['10.244.0.0/16'] });
  assert.equal(transactions.length, 1, 'one family, one transaction');
  const rules = transactions[0]!.filter((command) => 'rule' in ((command.add ?? {}) as object));
  const text = JSON.stringify(rules);
  assert.equal(rules.length, 1);
  assert.match(text, /"op":"==","left":\{"payload":\{"protocol":"ip","field":"saddr"\}\}.*"10\.244\.3\.0","len":24/);
  assert.match(text, /"op":"!=","left":\{"payload":\{"protocol":"ip","field":"daddr"\}\}.*"10\.244\.0\.0","len":16/);
  assert.match(text, /\{"masquerade":null\}/);
});

test('the table is taken away whether it is there or not', async () => {
  const { kernel, transactions } = recorder();
  await removeMasquerade(kernel);
  for (const commands of transactions) assert.deepEqual(commands.map(Object.keys), [['add'], ['delete']]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandError } from '../../command-error.ts';
import { decodeConfiguration } from './configuration-file.ts';

const proxy = { apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', kind: 'KubeProxyConfiguration' };
const decode = (fields: object) => decodeConfiguration('file', { ...proxy, ...fields }, proxy);

test('what is not said has upstream´s default, in nested objects too', () => {
  const file = decode({ clusterCIDR: '10.244.0.0/16', nftables: { masqueradeAll: true } });
  assert.equal(file.clusterCIDR, '10.244.0.0/16');
  assert.equal(file.healthzBindAddress, '0.0.0.0:10256');
  assert.deepEqual(file.nftables, { masqueradeAll: true, masqueradeBit: 14, syncPeriod: '30s', minSyncPeriod: '1s' });
});

test('every unknown field and wrong type is named at once', () => {
  const wrong = {
    clusterCidr: 'x',
    mode: 'fast',
    nftables: { masqueradeBit: 'x', depth: 1 },
    nodePortAddresses: 'primary',
    featureGates: { A: 'yes' },
    configSyncPeriod: 'soon',
  };
  assert.throws(
    () => decode(wrong),
    (error) => {
      assert.ok(error instanceof CommandError);
      for (const part of [
        'unknown field "clusterCidr"',
        'mode: Unsupported value: "fast"',
        'nftables.masqueradeBit: "x" is not a number',
        'unknown field "nftables.depth"',
        'nodePortAddresses: "primary" is not a list',
        'featureGates.A: "yes" is not true or false',
        'configSyncPeriod: "soon" is not a duration',
      ])
        assert.ok(error.message.includes(part), `${part} in ${error.message}`);
      return true;
    },
  );
});

test('another kind or version is refused', () => {
  for (const document of [{ ...proxy, apiVersion: 'kubeproxy.config.k8s.io/v2' }, { ...proxy, kind: 'Pod' }, null, 'x'])
    assert.throws(() => decodeConfiguration('file', document, proxy), /no kind .* is registered for version/);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { DraDriver } from './dra-driver.ts';
import { DraMetrics } from './dra-metrics.ts';

it('a driver that is closed is not called any more', async () => {
  const driver = new DraDriver({
    name: 'gpu.example.com',
    endpoint: '/nowhere/gpu.sock',
    service: 'k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin',
    clock: new FakeClock(),
    metrics: new DraMetrics(),
  });
  driver.close();
  const gone = /^Error: endpoint \/nowhere\/gpu\.sock of DRA driver gpu\.example\.com is gone$/;
  await assert.rejects(driver.call('NodePrepareResources', { claims: [] }), gone);
  await assert.rejects(driver.health(new AbortController().signal).next(), gone);
});

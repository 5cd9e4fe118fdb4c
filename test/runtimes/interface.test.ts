/** What the runtime under test speaks: that it is the one that was asked for, and that all it offers is used. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { CriConnection } from '../../src/kubelet/runtime/cri/connection.ts';
import { RuntimeError } from '../../src/kubelet/runtime/runtime.ts';
import { type RealRuntime, startRealRuntime } from '../../src/kubelet/server/containerd-pod.fixture.ts';
import { needs } from '../../src/testing/needs.ts';

const release = process.env.CORACLE_TEST_CONTAINERD ?? '';
const isOld = release === '1.4';

describe(`the interface of containerd ${release}`, needs('containers'), () => {
  let real: RealRuntime;
  before(async () => {
    real = await startRealRuntime();
  });
  after(() => real?.stop());

  it('is spoken in the latest version that both sides know', async () => {
    const { runtimeVersion, apiVersion } = await real.runtime.version();
    assert.equal(apiVersion, isOld ? 'v1alpha2' : 'v1');
    assert.ok(runtimeVersion.startsWith(`${release}.`), runtimeVersion);
  });

  it('tells of containers by events of its own from 1.7 on', async () => {
    const { endpoint } = real.containerd;
    const connection = await CriConnection.open({ clock: systemClock, endpoint, requestTimeoutMs: 10_000 });
    connection.use(isOld ? 'v1alpha2' : 'v1');
    const enough = new AbortController();
    try {
      const events = connection.serverStream('RuntimeService', 'GetContainerEvents', {}, enough.signal);
      const first = events[Symbol.asyncIterator]().next();
      if (isOld) {
        await assert.rejects(first, (error) => error instanceof RuntimeError && error.code === 'unimplemented');
      } else {
        await real.startPod('seen', [{ name: 'main', command: ['sleep', '1000'] }]);
        assert.equal((await first).value?.podSandboxStatus?.metadata?.uid, 'uid-seen');
      }
    } finally {
      enough.abort();
      connection.close();
    }
  });
});

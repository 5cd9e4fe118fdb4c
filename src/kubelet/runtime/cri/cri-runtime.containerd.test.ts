/** The CRI client against a real containerd. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { startContainerd } from '../../../testing/containerd.ts';
import { needs } from '../../../testing/needs.ts';
import { busyboxImageArchive } from '../../../testing/oci-image.ts';
import { runtimeContract } from '../runtime.contract.ts';
import { connectRuntime } from './cri-runtime.ts';
import { wire } from './gen/cri-v1.ts';

const image = 'contract.test/shell:1';

runtimeContract(
  'containerd',
  async () => {
    const containerd = await startContainerd();
    const connect = async () => {
      await containerd.importImage(busyboxImageArchive(image));
      return connectRuntime({ clock: systemClock, endpoint: containerd.endpoint });
    };
    const runtime = await connect().catch(async (error) => {
      await containerd.stop();
      throw error;
    });
    const stop = async () => {
      runtime.close();
      await containerd.stop();
    };
    return {
      runtime,
      clock: systemClock,
      image,
      directory: join(containerd.directory, 'logs'),
      cgroupParent: containerd.cgroupRoot,
      stop,
    };
  },
  needs('containers'),
);

describe('messages', () => {
  it('come back as they were sent', () => {
    const sent = {
      config: {
        metadata: { name: 'a', attempt: 2 },
        envs: [{ key: 'K', value: Buffer.from('ü') }],
        labels: { x: 'y' },
        linux: {
          resources: { cpuQuota: -1, memoryLimitInBytes: 2 ** 40 },
          securityContext: { supplementalGroups: [1, 2], runAsUser: { value: 0 } },
        },
      },
    };
    const { decode, encode } = wire.codec('CreateContainerRequest');
    const got = decode(encode(sent)).config;
    assert.deepEqual(got?.metadata, { name: 'a', attempt: 2 });
    assert.equal(Buffer.from(got?.envs[0]?.value ?? []).toString(), 'ü');
    assert.equal(got?.linux?.resources?.cpuQuota, -1n);
    assert.equal(got?.linux?.resources?.memoryLimitInBytes, 2n ** 40n);
    assert.deepEqual(got?.linux?.securityContext?.supplementalGroups, [1n, 2n]);
    assert.equal(got?.linux?.securityContext?.runAsUser?.value, 0n, 'an empty message is a message');
    assert.equal(got?.linux?.securityContext?.runAsGroup, undefined);
  });

  it('may hold fields that are not known', () => {
    const { decode, encode } = wire.codec('VersionResponse');
    const bytes = Buffer.concat([encode({ runtimeName: 'x' }), Buffer.from([0xf8, 0x07, 0x01])]);
    assert.equal(decode(bytes).runtimeName, 'x');
  });
});

/** The CRI client against a real containerd, and against servers that speak another version or none. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { systemClock } from '../../../base/clock.ts';
import { containerdMissing, startContainerd } from '../../../testing/containerd.ts';
import { busyboxImageArchive } from '../../../testing/oci-image.ts';
import { decodeMessage, encodeMessage } from '../../grpc/codec.ts';
import { runtimeContract } from '../runtime.contract.ts';
import { RuntimeError } from '../runtime.ts';
import { connectRuntime, NoCommonRuntimeVersion } from './cri-runtime.ts';
import { wire } from './gen/cri-v1.ts';

const image = 'contract.test/shell:1';
const missing = containerdMissing();

runtimeContract(
  'containerd',
  async () => {
    const containerd = await startContainerd();
    await containerd.importImage(busyboxImageArchive(image));
    const runtime = await connectRuntime({ clock: systemClock, endpoint: containerd.endpoint });
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
  { skip: process.env.CI === 'true' ? undefined : missing },
);

describe('the version of the interface', () => {
  const serve = async (packages: readonly string[]) => {
    const directory = await mkdtemp(join(tmpdir(), 'coracle-cri-'));
    const endpoint = `unix://${join(directory, 'cri.sock')}`;
    const server = new Server();
    const codec = {
      requestSerialize: (b: Buffer) => b,
      requestDeserialize: (b: Buffer) => b,
      responseSerialize: (b: Buffer) => b,
      responseDeserialize: (b: Buffer) => b,
    };
    for (const name of packages) {
      const path = `/runtime.${name}.RuntimeService/Version`;
      const answer = encodeMessage(wire, 'VersionResponse', {
        runtimeName: 'fake',
        runtimeVersion: '9',
        runtimeApiVersion: name,
      });
      server.addService(
        { Version: { path, requestStream: false, responseStream: false, ...codec } },
        { Version: (_: unknown, reply: (error: null, value: Buffer) => void) => reply(null, answer) },
      );
    }
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())),
    );
    const stop = async () => {
      server.forceShutdown();
      await rm(directory, { recursive: true });
    };
    return { endpoint, stop };
  };

  for (const { packages, chosen } of [
    { packages: ['v1', 'v1alpha2'], chosen: 'v1' },
    { packages: ['v1'], chosen: 'v1' },
    { packages: ['v1alpha2'], chosen: 'v1alpha2' },
  ]) {
    it(`is ${chosen} where the runtime has ${packages.join(' and ')}`, async () => {
      const server = await serve(packages);
      const runtime = await connectRuntime({ clock: systemClock, endpoint: server.endpoint });
      assert.deepEqual(await runtime.version(), { runtimeName: 'fake', runtimeVersion: '9', apiVersion: chosen });
      runtime.close();
      await server.stop();
    });
  }

  it('is an error where the runtime has neither', async () => {
    const server = await serve([]);
    await assert.rejects(connectRuntime({ clock: systemClock, endpoint: server.endpoint }), NoCommonRuntimeVersion);
    await server.stop();
  });

  it('is asked for in vain where nothing listens', async () => {
    const connecting = connectRuntime({ clock: systemClock, endpoint: 'unix:///nowhere/cri.sock' });
    await assert.rejects(connecting, (error) => error instanceof RuntimeError && error.code === 'unavailable');
  });
});

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
    const got = decodeMessage(
      wire,
      'CreateContainerRequest',
      encodeMessage(wire, 'CreateContainerRequest', sent),
    ).config;
    assert.deepEqual(got?.metadata, { name: 'a', attempt: 2 });
    assert.equal(Buffer.from(got?.envs[0]?.value ?? []).toString(), 'ü');
    assert.equal(got?.linux?.resources?.cpuQuota, -1n);
    assert.equal(got?.linux?.resources?.memoryLimitInBytes, 2n ** 40n);
    assert.deepEqual(got?.linux?.securityContext?.supplementalGroups, [1n, 2n]);
    assert.equal(got?.linux?.securityContext?.runAsUser?.value, 0n, 'an empty message is a message');
    assert.equal(got?.linux?.securityContext?.runAsGroup, undefined);
  });

  it('may hold fields that are not known', () => {
    const bytes = Buffer.concat([
      encodeMessage(wire, 'VersionResponse', { runtimeName: 'x' }),
      Buffer.from([0xf8, 0x07, 0x01]),
    ]);
    assert.equal(decodeMessage(wire, 'VersionResponse', bytes).runtimeName, 'x');
  });
});

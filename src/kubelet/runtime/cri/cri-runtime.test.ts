/** The CRI client over a real socket, against a runtime that does as it is told: another version, errors, silence, crashes. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { type CriServerOptions, failing, hanging, startCriServer } from '../../../testing/cri-server.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { runtimeContract } from '../runtime.contract.ts';
import { type ContainerRuntime, RuntimeError, type RuntimeErrorCode } from '../runtime.ts';
import { connectRuntime, NoCommonRuntimeVersion } from './cri-runtime.ts';

for (const version of ['v1', 'v1alpha2'] as const)
  runtimeContract(`a scripted runtime over ${version}`, async () => {
    const server = await startCriServer({ versions: [version] });
    const runtime = await connectRuntime({ clock: systemClock, endpoint: server.endpoint });
    const stop = async () => {
      runtime.close();
      await server.stop();
    };
    return { runtime, clock: systemClock, image: 'contract/shell:1', directory: '/none', cgroupParent: '/none', stop };
  });

async function serve(t: TestContext, options?: CriServerOptions) {
  const server = await startCriServer(options);
  t.after(() => server.stop());
  return server;
}

const connect = async (
  t: TestContext,
  options: Omit<Parameters<typeof connectRuntime>[0], 'clock'>,
  clock = systemClock,
) => {
  const runtime = await connectRuntime({ clock, ...options });
  t.after(() => runtime.close());
  return runtime;
};

const isCode = (code: RuntimeErrorCode, message?: string) => (error: unknown) =>
  error instanceof RuntimeError && error.code === code && (message === undefined || error.message === message);

describe('the version of the interface', () => {
  for (const { versions, chosen } of [
    { versions: ['v1', 'v1alpha2'], chosen: 'v1' },
    { versions: ['v1'], chosen: 'v1' },
    { versions: ['v1alpha2'], chosen: 'v1alpha2' },
  ] as const) {
    it(`is ${chosen} where the runtime has ${versions.join(' and ')}`, async (t) => {
      const { endpoint } = await serve(t, { versions });
      const runtime = await connect(t, { endpoint });
      assert.deepEqual(await runtime.version(), { runtimeName: 'fake', runtimeVersion: '9', apiVersion: chosen });
    });
  }

  it('is an error where the runtime has neither', async (t) => {
    const { endpoint } = await serve(t, { versions: [] });
    await assert.rejects(connect(t, { endpoint }), NoCommonRuntimeVersion);
  });

  it('is asked for in vain where nothing listens', async (t) => {
    await assert.rejects(connect(t, { endpoint: 'unix:///nowhere/cri.sock' }), isCode('unavailable'));
  });

  it('is kept when the runtime comes back with another', async (t) => {
    const server = await serve(t);
    const runtime = await connect(t, { endpoint: server.endpoint });
    server.crash();
    await server.restart({ versions: ['v1alpha2'] });
    await assert.rejects(onceServing(runtime), isCode('unimplemented'));
  });
});

/** gRPC dials again by itself, a little later. */
async function onceServing(runtime: ContainerRuntime): ReturnType<ContainerRuntime['status']> {
  for (;;) {
    try {
      return await runtime.status();
    } catch (error) {
      if (!isCode('unavailable')(error)) throw error;
    }
  }
}

it('counts images as pinned that the kubelet cannot do without, whatever the runtime says', async (t) => {
  const { endpoint } = await serve(t);
  const runtime = await connect(t, { endpoint, pinnedImages: ['pause:1'] });
  for (const image of ['pause:1', 'team/app:1']) await runtime.pullImage({ image });
  assert.deepEqual(
    (await runtime.listImages()).map(({ repoTags, pinned }) => [...repoTags, pinned]),
    [
      ['pause:1', true],
      ['team/app:1', false],
    ],
  );
});

describe('images behind an endpoint of their own', () => {
  it('are asked for there, and containers at the other', async (t) => {
    const containers = await serve(t, { services: ['RuntimeService'] });
    const images = await serve(t, { services: ['ImageService'] });
    const runtime = await connect(t, { endpoint: containers.endpoint, imageEndpoint: images.endpoint });
    await runtime.pullImage({ image: 'team/app:1' });
    assert.deepEqual((await runtime.imageStatus({ image: 'team/app:1' }))?.repoTags, ['team/app:1']);
    await runtime.listContainers();
    const asked = (server: typeof images) => [...new Set(server.calls.map(({ method }) => method))];
    assert.deepEqual(asked(images), ['ImageFsInfo', 'PullImage', 'ImageStatus']);
    assert.deepEqual(asked(containers), ['Version', 'ListContainers']);
  });

  it('may speak another version of the interface', async (t) => {
    const containers = await serve(t, { services: ['RuntimeService'] });
    const images = await serve(t, { services: ['ImageService'], versions: ['v1alpha2'] });
    const runtime = await connect(t, { endpoint: containers.endpoint, imageEndpoint: images.endpoint });
    assert.equal((await runtime.version()).apiVersion, 'v1');
    assert.deepEqual(await runtime.listImages(), []);
  });

  it('are an error where that endpoint serves none', async (t) => {
    const containers = await serve(t);
    const images = await serve(t, { services: ['RuntimeService'] });
    const connecting = connect(t, { endpoint: containers.endpoint, imageEndpoint: images.endpoint });
    await assert.rejects(connecting, new RegExp(`container runtime at ${images.endpoint} speaks neither`));
  });
});

describe('a runtime that misbehaves', () => {
  it('has its errors told by their code and in its own words', async (t) => {
    const server = await serve(t);
    const runtime = await connect(t, { endpoint: server.endpoint });
    for (const code of ['invalidArgument', 'notFound', 'alreadyExists', 'unimplemented', 'unknown'] as const) {
      server.script('StartContainer', failing(code, 'the disk is on fire'));
      const name = code[0]!.toUpperCase() + code.slice(1);
      const message = `rpc error: code = ${name} desc = the disk is on fire`;
      await assert.rejects(runtime.startContainer('c'), isCode(code, message));
    }
    server.script('StopContainer', failing('notFound', 'no such container'));
    await runtime.stopContainer('c', 1);
  });

  it('is waited for no longer than a call may take', async (t) => {
    const server = await serve(t);
    const clock = new FakeClock();
    const runtime = await connect(t, { endpoint: server.endpoint, requestTimeoutMs: 60_000 }, clock);
    server.script('Status', hanging);
    const asking = runtime.status();
    await clock.advance(59_999);
    const outcome = assert.rejects(asking, isCode('deadlineExceeded', 'context deadline exceeded'));
    await clock.advance(1);
    await outcome;
  });

  it('is not waited for once the caller has gone', async (t) => {
    const server = await serve(t);
    const runtime = await connect(t, { endpoint: server.endpoint });
    server.script('PullImage', hanging);
    const stop = new AbortController();
    const pulling = runtime.pullImage({ image: 'team/app:1' }, { signal: stop.signal });
    stop.abort(new Error('the Pod is gone'));
    await assert.rejects(pulling, /the Pod is gone/);
  });

  it('answers again, with all that it had, after a crash', async (t) => {
    const server = await serve(t);
    const runtime = await connect(t, { endpoint: server.endpoint });
    await runtime.pullImage({ image: 'team/app:1' });
    server.crash();
    await assert.rejects(runtime.listImages(), isCode('unavailable'));
    await server.restart();
    await onceServing(runtime);
    assert.equal((await runtime.listImages()).length, 1);
  });

  it('that has no events says so', async (t) => {
    const server = await serve(t);
    server.script('GetContainerEvents', failing('unimplemented', 'not offered'));
    const runtime = await connect(t, { endpoint: server.endpoint });
    const first = runtime.containerEvents()[Symbol.asyncIterator]().next();
    await assert.rejects(first, isCode('unimplemented'));
  });
});

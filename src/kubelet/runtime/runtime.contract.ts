/**
 * What every `ContainerRuntime` must do, as one suite run on each of them. Images named `contract/shell:1` must be there or pullable;
 * commands used are those that the simulated runtime understands too.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Clock, sleep } from '../../base/clock.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Needs } from '../../testing/needs.ts';
import {
  type ContainerConfig,
  type ContainerRuntime,
  RuntimeError,
  runtimeLabels,
  type SandboxConfig,
} from './runtime.ts';
import { ordinarySecurity } from './security.fixture.ts';

export interface RuntimeUnderTest {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly image: string;
  /** A folder for logs. */
  readonly directory: string;
  readonly cgroupParent: string;
  stop(): Promise<void>;
}

export function runtimeContract(
  name: string,
  start: () => Promise<RuntimeUnderTest>,
  options: Partial<Needs> = {},
): void {
  describe(`container runtime contract: ${name}`, options, () => {
    let test: RuntimeUnderTest;
    let runtime: ContainerRuntime;
    before(async () => {
      test = await start();
      runtime = test.runtime;
    });
    after(async () => {
      await test.stop();
    });

    const until = (isSo: () => boolean | Promise<boolean>) =>
      eventually(isSo, Boolean, { pause: () => sleep(test.clock, 20) });

    it('names itself and says that it is ready', async () => {
      const version = await runtime.version();
      assert.notEqual(version.runtimeName, '');
      const { conditions } = await runtime.status();
      for (const type of ['RuntimeReady', 'NetworkReady'])
        assert.equal(conditions.find((one) => one.type === type)?.status, true, type);
    });

    it('knows the image after a pull, and nothing of one that nobody has', async () => {
      if (!(await runtime.imageStatus({ image: test.image }))) await runtime.pullImage({ image: test.image });
      const image = await runtime.imageStatus({ image: test.image });
      assert.match(image?.id ?? '', /^sha256:/);
      assert.ok((image?.sizeBytes ?? 0) > 0);
      assert.ok((await runtime.listImages()).some(({ repoTags }) => repoTags.includes(test.image)));
      assert.equal(await runtime.imageStatus({ image: 'contract/none:1' }), undefined);
      await runtime.removeImage({ image: 'contract/none:1' });
    });

    it('runs a sandbox with an address of its own, and gives it back', async () => {
      const id = await runtime.runPodSandbox(sandboxConfig(test, 'address'));
      const status = await runtime.podSandboxStatus(id);
      assert.equal(status.state, 'ready');
      assert.match(status.ips[0] ?? '', /^\d+\.\d+\.\d+\.\d+$/);
      assert.equal(status.namespaces.network, 'pod');
      assert.deepEqual(status.metadata, sandboxConfig(test, 'address').metadata);
      await runtime.stopPodSandbox(id);
      assert.equal((await runtime.podSandboxStatus(id)).state, 'notReady');
      await runtime.stopPodSandbox(id);
      await runtime.removePodSandbox(id);
      await assert.rejects(
        runtime.podSandboxStatus(id),
        (error) => error instanceof RuntimeError && error.code === 'notFound',
      );
      await runtime.removePodSandbox(id);
    });

    it('finds sandboxes and containers by label, sandbox and state', async () => {
      const pod = await startPod(test, 'filter', ['sleep', '1000']);
      const labels = { [runtimeLabels.podUid]: 'uid-filter' };
      assert.deepEqual(
        (await runtime.listPodSandboxes({ labels })).map(({ id }) => id),
        [pod.sandbox],
      );
      assert.deepEqual(
        (await runtime.listContainers({ labels, state: 'running' })).map(({ id }) => id),
        [pod.container],
      );
      assert.deepEqual(
        (await runtime.listContainers({ sandboxId: pod.sandbox })).map(({ id }) => id),
        [pod.container],
      );
      assert.deepEqual(await runtime.listContainers({ labels, state: 'exited' }), []);
      assert.deepEqual(await runtime.listPodSandboxes({ labels: { [runtimeLabels.podUid]: 'other' } }), []);
      await pod.remove();
    });

    it('takes a container through created, running and exited', async () => {
      const sandbox = await runtime.runPodSandbox(sandboxConfig(test, 'states'));
      const config = containerConfig(test, 'main', ['sh', '-c', 'echo hello; exit 3']);
      const id = await runtime.createContainer(sandbox, config, sandboxConfig(test, 'states'));
      assert.equal((await runtime.containerStatus(id)).state, 'created');
      await runtime.startContainer(id);
      await until(async () => (await runtime.containerStatus(id)).state === 'exited');
      const status = await runtime.containerStatus(id);
      assert.equal(status.exitCode, 3);
      assert.equal(status.reason, 'Error');
      assert.ok(status.startedAtMs > 0);
      // A runtime may note the start of a very short life only after its end.
      assert.ok(status.finishedAtMs >= status.startedAtMs - 1000);
      assert.equal(status.annotations.note, 'kept');
      assert.ok(status.logPath.endsWith('main/0.log'));
      await runtime.removeContainer(id);
      await runtime.removeContainer(id);
      await assert.rejects(
        runtime.containerStatus(id),
        (error) => error instanceof RuntimeError && error.code === 'notFound',
      );
      await runtime.stopPodSandbox(sandbox);
      await runtime.removePodSandbox(sandbox);
    });

    it('calls a container that ended well Completed', async () => {
      const pod = await startPod(test, 'well', ['true']);
      await until(async () => (await runtime.containerStatus(pod.container)).state === 'exited');
      const { exitCode, reason } = await runtime.containerStatus(pod.container);
      assert.deepEqual([exitCode, reason], [0, 'Completed']);
      await pod.remove();
    });

    it('stops a container, and does nothing when it has stopped or is gone', async () => {
      const pod = await startPod(test, 'stop', ['sleep', '1000']);
      await runtime.stopContainer(pod.container, 1);
      assert.equal((await runtime.containerStatus(pod.container)).state, 'exited');
      await runtime.stopContainer(pod.container, 1);
      await runtime.stopContainer('0123456789', 1);
      await pod.remove();
    });

    it('ends the containers of a sandbox that is stopped', async () => {
      const pod = await startPod(test, 'ends', ['sleep', '1000']);
      await runtime.stopPodSandbox(pod.sandbox);
      assert.equal((await runtime.containerStatus(pod.container)).state, 'exited');
      await pod.remove();
    });

    it('executes a command, and gives its output and exit code', async () => {
      const pod = await startPod(test, 'exec', ['sleep', '1000']);
      const good = await runtime.execSync(pod.container, ['sh', '-c', 'echo one']);
      assert.equal(Buffer.from(good.stdout).toString(), 'one\n');
      assert.equal(good.exitCode, 0);
      assert.equal((await runtime.execSync(pod.container, ['false'])).exitCode, 1);
      await assert.rejects(
        runtime.execSync(pod.container, ['sleep', '100'], { timeoutSeconds: 1 }),
        (error) => error instanceof RuntimeError && error.code === 'deadlineExceeded',
      );
      await pod.remove();
    });

    it('offers a place for sessions', async () => {
      const pod = await startPod(test, 'session', ['sleep', '1000']);
      const endpoint = await runtime.exec(pod.container, ['true'], {
        stdin: false,
        stdout: true,
        stderr: true,
        tty: false,
      });
      if (endpoint.kind === 'url') assert.match(endpoint.url, /^http:\/\/127\.0\.0\.1:\d+\/exec\//);
      assert.ok(await runtime.attach(pod.container, { stdin: false, stdout: true, stderr: true, tty: false }));
      assert.ok(await runtime.portForward(pod.sandbox, [80]));
      await pod.remove();
    });

    it('measures a running container', async () => {
      const pod = await startPod(test, 'stats', ['sleep', '1000']);
      const stats = await runtime.containerStats(pod.container);
      assert.equal(stats.id, pod.container);
      assert.ok((stats.memory?.workingSetBytes ?? 0) > 0);
      assert.equal(stats.labels[runtimeLabels.podUid], 'uid-stats');
      assert.ok((await runtime.listContainerStats({ sandboxId: pod.sandbox })).some(({ id }) => id === pod.container));
      // Runtimes of v1alpha2's day measure containers alone.
      const isOld = (await runtime.version()).apiVersion === 'v1alpha2';
      const whole = await runtime.podSandboxStats(pod.sandbox).catch((error) => {
        if (!isOld || !(error instanceof RuntimeError) || error.code !== 'unimplemented') throw error;
      });
      assert.ok(!whole || whole.containers.length <= 2);
      assert.ok((await runtime.imageFsInfo()).imageFilesystems.length > 0);
      await pod.remove();
    });

    it('changes the limits of a running container', async () => {
      const pod = await startPod(test, 'resize', ['sleep', '1000']);
      await runtime.updateContainerResources(pod.container, { cpuShares: 512, cpuQuota: 20_000, cpuPeriod: 100_000 });
      await runtime.reopenContainerLog(pod.container);
      assert.equal((await runtime.containerStatus(pod.container)).state, 'running');
      await pod.remove();
    });

    it('tells that a container has ended, when the status shows it', async () => {
      const stop = new AbortController();
      const events: string[] = [];
      const following = (async () => {
        for await (const event of runtime.containerEvents({ signal: stop.signal })) {
          if (event.type !== 'stopped') continue;
          const { state } = await runtime.containerStatus(event.containerId).catch(() => ({ state: 'gone' }));
          events.push(`${event.podUid} ${state}`);
        }
      })().catch((error) => assert.ok(stop.signal.aborted, String(error)));
      // The container lives long enough for the stream to have begun.
      const pod = await startPod(test, 'events', ['sh', '-c', 'sleep 1; exit 4']);
      await until(async () => events.includes('uid-events exited'));
      stop.abort(new Error('enough'));
      await following;
      await pod.remove();
    });

    it('says not found of what is not there, and refuses what is aborted', async () => {
      const isNotFound = (error: unknown) => error instanceof RuntimeError && error.code === 'notFound';
      await assert.rejects(runtime.containerStatus('none'), isNotFound);
      await assert.rejects(runtime.startContainer('none'), isNotFound);
      const aborted = AbortSignal.abort(new Error('too late'));
      await assert.rejects(runtime.runPodSandbox(sandboxConfig(test, 'aborted'), { signal: aborted }), /too late/);
    });
  });
}

function sandboxConfig(test: RuntimeUnderTest, name: string): SandboxConfig {
  return {
    metadata: { name, namespace: 'contract', uid: `uid-${name}`, attempt: 0 },
    hostname: name,
    logDirectory: `${test.directory}/contract_${name}_uid-${name}`,
    portMappings: [],
    labels: { [runtimeLabels.podUid]: `uid-${name}`, [runtimeLabels.podName]: name },
    annotations: {},
    cgroupParent: `${test.cgroupParent}/pod${name}`,
    sysctls: {},
    security: { namespaces: { network: 'pod', pid: 'container', ipc: 'pod' }, privileged: false },
  };
}

function containerConfig(test: RuntimeUnderTest, pod: string, command: readonly string[]): ContainerConfig {
  return {
    name: 'main',
    attempt: 0,
    image: { image: test.image },
    command,
    args: [],
    workingDirectory: '',
    environment: [{ name: 'GREETING', value: 'grüß' }],
    mounts: [],
    devices: [],
    labels: { [runtimeLabels.podUid]: `uid-${pod}`, [runtimeLabels.containerName]: 'main' },
    annotations: { note: 'kept' },
    logPath: 'main/0.log',
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: { cpuShares: 2 },
    security: ordinarySecurity,
  };
}

async function startPod(test: RuntimeUnderTest, name: string, command: readonly string[]) {
  const { runtime } = test;
  const config = sandboxConfig(test, name);
  const sandbox = await runtime.runPodSandbox(config);
  const container = await runtime.createContainer(sandbox, containerConfig(test, name, command), config);
  await runtime.startContainer(container);
  const remove = async () => {
    await runtime.stopPodSandbox(sandbox);
    await runtime.removePodSandbox(sandbox);
  };
  return { sandbox, container, remove };
}

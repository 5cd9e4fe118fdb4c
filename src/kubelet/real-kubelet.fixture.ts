/**
 * A kubelet on a containerd of its own, over a memory API: for what only real processes, files, mounts and cgroups can show. The containerd
 * is the first on the PATH.
 */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { events, type Pod, type PodSpec, pods } from '../api/gen/core-v1.ts';
import { systemClock } from '../base/clock.ts';
import { startContainerd, type TestContainerd } from '../testing/containerd.ts';
import { eventually } from '../testing/eventually.ts';
import { busyboxImageArchive } from '../testing/oci-image.ts';
import { defaultConfiguration, type KubeletConfiguration } from './configuration.ts';
import { linuxHost } from './host/linux-host.ts';
import { getPod, kubeletHarness, testPod } from './kubelet.fixture.ts';
import { type Kubelet, startKubelet } from './kubelet.ts';
import { connectRuntime } from './runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from './runtime/runtime.ts';

/** Of busybox; there from the start. */
export const image = 'local.test/busybox:1';

export const shell = (script: string) => ({ name: 'main', image, command: ['sh', '-c', script] });

/** Obeys SIGTERM at once, as a good program does. */
export const forever = (script = ':') => shell(`trap 'exit 0' TERM; ${script}; while true; do sleep 0.1; done`);

interface Started {
  readonly containerd: TestContainerd;
  readonly runtime: ContainerRuntime;
  readonly configuration: KubeletConfiguration;
  readonly kubelet: Kubelet;
  stop(): Promise<void>;
}

export class RealKubelet {
  readonly harness = kubeletHarness(systemClock);
  readonly client = this.harness.client;
  readonly #nodeName: string;
  readonly #path: string | undefined;
  #started: Started | undefined;

  /** `path`: where containerd is looked for instead of the PATH. */
  constructor(nodeName: string, path?: string) {
    this.#nodeName = nodeName;
    this.#path = path;
  }

  get containerd(): TestContainerd {
    return this.#running.containerd;
  }
  get runtime(): ContainerRuntime {
    return this.#running.runtime;
  }
  get configuration(): KubeletConfiguration {
    return this.#running.configuration;
  }
  get kubelet(): Kubelet {
    return this.#running.kubelet;
  }
  get #running(): Started {
    assert.ok(this.#started, 'the kubelet was started');
    return this.#started;
  }

  /** Resolves once the kubelet is ready. */
  async start(): Promise<void> {
    const containerd = await startContainerd(this.#path);
    try {
      this.#started = await this.#startOn(containerd);
    } catch (error) {
      await containerd.stop();
      throw error;
    }
    await eventually(() => this.kubelet.isReady);
  }

  async #startOn(containerd: TestContainerd): Promise<Started> {
    const { directory, cgroupRoot } = containerd;
    await containerd.importImage(busyboxImageArchive(image));
    const runtime = await connectRuntime({ clock: systemClock, endpoint: containerd.endpoint });
    const configuration = {
      ...defaultConfiguration,
      rootDirectory: join(directory, 'kubelet'),
      podLogsDirectory: join(directory, 'logs'),
      containerLogsDirectory: join(directory, 'links'),
      staticPodPath: join(directory, 'manifests'),
      clusterDns: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      cgroupRoot,
    };
    await mkdir(configuration.staticPodPath);
    const { random, log } = this.harness;
    const { stop: aborting, context } = this.harness.context();
    const host = linuxHost({ clock: systemClock, random, log, configuration });
    const kubelet = await startKubelet(context, { nodeName: this.#nodeName, runtime, host, configuration });
    const stop = async () => {
      aborting.abort(new Error('the test is over'));
      await kubelet.done;
      runtime.close();
      await containerd.stop();
    };
    return { containerd, runtime, configuration, kubelet, stop };
  }

  async stop(): Promise<void> {
    await this.#started?.stop();
  }

  create(name: string, spec: Partial<PodSpec> & Pick<PodSpec, 'containers'>, metadata?: Pod['metadata']) {
    return this.client.create(pods, testPod(name, this.#nodeName, spec, metadata));
  }

  pod(name: string): Promise<Pod | undefined> {
    return getPod(this.client, name);
  }

  async phase(name: string, wanted: string): Promise<void> {
    await eventually(
      async () => (await this.pod(name))?.status,
      (seen) => seen?.phase === wanted,
    );
  }

  /** Resolves when the Pod has gone. */
  async remove(name: string, gracePeriodSeconds?: number): Promise<void> {
    await this.client.delete(pods, { namespace: 'default', name }, { gracePeriodSeconds });
    await eventually(
      () => this.pod(name),
      (left) => left === undefined,
    );
  }

  async status(name: string, container = 'main') {
    const { containerStatuses = [], initContainerStatuses = [] } = (await this.pod(name))?.status ?? {};
    return [...containerStatuses, ...initContainerStatuses].find((one) => one.name === container);
  }

  /** What a shell in the Pod's container `main` says, on both outputs. */
  async exec(name: string, script: string): Promise<string> {
    const id = this.kubelet.runningContainer('default', name, 'main')!;
    const { stdout, stderr } = await this.runtime.execSync(id, ['sh', '-c', script]);
    return Buffer.concat([stdout, stderr]).toString();
  }

  async log(name: string, options = {}): Promise<string> {
    let text = '';
    for await (const bytes of await this.kubelet.containerLog({ namespace: 'default', name }, 'main', options))
      text += Buffer.from(bytes).toString();
    return text;
  }

  /** Messages of the events about the Pod. */
  async told(name: string): Promise<string[]> {
    return (await this.client.list(events)).items
      .filter((event) => event.involvedObject.name === name)
      .map(({ message }) => message ?? '');
  }
}

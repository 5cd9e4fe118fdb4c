/**
 * A kubelet as a process of its own, on a real runtime. It writes down what it asks of the runtime, so that the same calls can be made
 * again without a kubelet around them: that is the time the runtime itself takes.
 */
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createHttpTransport } from '../../src/client/http-transport.ts';
import { createClient } from '../../src/client/typed-client.ts';
import { defaultConfiguration } from '../../src/kubelet/configuration.ts';
import { linuxHost } from '../../src/kubelet/host/linux-host.ts';
import { startKubelet } from '../../src/kubelet/kubelet.ts';
import { connectRuntime } from '../../src/kubelet/runtime/cri/cri-runtime.ts';
import type { ContainerConfig, ContainerRuntime, SandboxConfig } from '../../src/kubelet/runtime/runtime.ts';
import { componentContext } from '../../src/reconcile/component.ts';
import { answer } from '../parts/child.ts';
import type { Access } from '../parts/https-client.ts';

export interface StartKubelet {
  readonly kind: 'start';
  readonly access: Access;
  readonly nodeName: string;
  readonly endpoint: string;
  readonly directory: string;
  readonly cgroupRoot: string;
}

/** Makes a Pod from the last one's configuration, by bare calls, and takes it away again. */
export interface BareStart {
  readonly kind: 'bare';
  readonly name: string;
}

export interface RuntimeTimes {
  /** Wall time when the first call began and when the last had ended. */
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly sandboxMs: number;
  readonly createMs: number;
  readonly startMs: number;
}

let runtime: ContainerRuntime;
let sandboxConfig: SandboxConfig;
let containerConfig: ContainerConfig;
let times: RuntimeTimes = { beganAtMs: 0, endedAtMs: 0, sandboxMs: 0, createMs: 0, startMs: 0 };
const wallMs = (monotonicMs: number) => performance.timeOrigin + monotonicMs;

answer({
  async start({ access, nodeName, endpoint, directory, cgroupRoot }: StartKubelet): Promise<void> {
    runtime = await connectRuntime({ clock: systemClock, endpoint });
    const configuration = {
      ...defaultConfiguration,
      rootDirectory: join(directory, 'kubelet'),
      podLogsDirectory: join(directory, 'logs'),
      containerLogsDirectory: '',
      cgroupRoot,
    };
    const { url, ca, certificate: cert, key } = access;
    const transport = createHttpTransport({ server: url, clock: systemClock, tls: { ca, cert, key } });
    const parts = { clock: systemClock, random: systemRandom, log: silentLog, configuration };
    const context = componentContext({
      ...parts,
      client: createClient(transport),
      signal: new AbortController().signal,
    });
    const host = linuxHost(parts);
    const kubelet = await startKubelet(context, { nodeName, runtime: recorded(runtime), host, configuration });
    while (!kubelet.isReady) await new Promise((resolve) => setTimeout(resolve, 20));
  },
  /** What the runtime took for the kubelet's last Pod. */
  last: (): RuntimeTimes => times,
  async bare({ name }: BareStart): Promise<RuntimeTimes> {
    const config: SandboxConfig = {
      ...sandboxConfig,
      metadata: { ...sandboxConfig.metadata, name, uid: name },
      logDirectory: `${sandboxConfig.logDirectory}-${name}`,
      // Without the labels by which the kubelet would take it for its own.
      labels: {},
    };
    const container = { ...containerConfig, labels: {} };
    const beganMs = performance.now();
    const sandbox = await runtime.runPodSandbox(config);
    const sandboxMs = performance.now();
    const id = await runtime.createContainer(sandbox, container, config);
    const createdMs = performance.now();
    await runtime.startContainer(id);
    const startedMs = performance.now();
    await runtime.stopContainer(id, 0);
    await runtime.stopPodSandbox(sandbox);
    await runtime.removePodSandbox(sandbox);
    return {
      beganAtMs: wallMs(beganMs),
      endedAtMs: wallMs(startedMs),
      sandboxMs: sandboxMs - beganMs,
      createMs: createdMs - sandboxMs,
      startMs: startedMs - createdMs,
    };
  },
});

function recorded(inner: ContainerRuntime): ContainerRuntime {
  const recording: Partial<ContainerRuntime> = {
    async runPodSandbox(config, options) {
      const beganMs = performance.now();
      const id = await inner.runPodSandbox(config, options);
      sandboxConfig = config;
      times = { ...times, beganAtMs: wallMs(beganMs), sandboxMs: performance.now() - beganMs };
      return id;
    },
    async createContainer(sandboxId, config, sandbox, options) {
      const beganMs = performance.now();
      const id = await inner.createContainer(sandboxId, config, sandbox, options);
      containerConfig = config;
      times = { ...times, createMs: performance.now() - beganMs };
      return id;
    },
    async startContainer(id, options) {
      const beganMs = performance.now();
      await inner.startContainer(id, options);
      times = { ...times, endedAtMs: wallMs(performance.now()), startMs: performance.now() - beganMs };
    },
  };
  return new Proxy(inner, {
    get(target, name) {
      const own = recording[name as keyof ContainerRuntime];
      if (own) return own;
      const value = target[name as keyof ContainerRuntime];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

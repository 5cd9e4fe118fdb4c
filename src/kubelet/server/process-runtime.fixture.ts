/**
 * A runtime whose containers are the test's own words: commands run as processes of this machine, ports lead to loopback, sessions are
 * served in this process. Enough of the contract for the kubelet's server.
 */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import type { Pod } from '../../api/gen/core-v1.ts';
import {
  type Container,
  type ContainerRuntime,
  type ContainerStats,
  RuntimeError,
  runtimeLabels,
  type Sandbox,
  type StreamingEndpoint,
} from '../runtime/runtime.ts';

export interface ProcessRuntimeOptions {
  readonly pods: () => readonly Pod[];
  /** Of a container, by its id. */
  readonly logPath?: ((id: string) => string) | undefined;
  readonly running?: ((id: string) => boolean) | undefined;
}

const createdAtMs = Date.UTC(2026, 0, 1);

/** Containers are named `POD-CONTAINER` and run as long as `running` says. */
export function processRuntime({ pods, logPath, running = () => true }: ProcessRuntimeOptions): ContainerRuntime {
  const labelsOf = (pod: Pod, container?: string) => ({
    [runtimeLabels.podUid]: pod.metadata.uid ?? '',
    [runtimeLabels.podName]: pod.metadata.name ?? '',
    [runtimeLabels.podNamespace]: pod.metadata.namespace ?? '',
    ...(container ? { [runtimeLabels.containerName]: container } : {}),
  });
  const containers = (): Container[] =>
    pods().flatMap((pod) =>
      pod.spec.containers.map((container) => ({
        id: `${pod.metadata.name}-${container.name}`,
        sandboxId: `sandbox-${pod.metadata.name}`,
        name: container.name,
        attempt: 0,
        image: container.image ?? '',
        imageRef: '',
        imageId: '',
        state: running(`${pod.metadata.name}-${container.name}`) ? ('running' as const) : ('exited' as const),
        createdAtMs,
        labels: labelsOf(pod, container.name),
        annotations: {},
      })),
    );
  const matches = (labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>> = {}) =>
    Object.entries(wanted).every(([name, value]) => labels[name] === value);
  const stats = (id: string): ContainerStats => ({
    id,
    name: id,
    labels: {},
    cpu: { timestampMs: createdAtMs, coreNanoSeconds: 2_500_000_000 },
    memory: { timestampMs: createdAtMs, workingSetBytes: 4096, rssBytes: 2048 },
    writableLayer: { timestampMs: createdAtMs, mountpoint: '/', usedBytes: 512, inodesUsed: 3 },
  });
  const runtime: Partial<ContainerRuntime> = {
    async listContainers(filter = {}) {
      return containers().filter(
        (one) => matches(one.labels, filter.labels) && (filter.state === undefined || one.state === filter.state),
      );
    },
    async listPodSandboxes(filter = {}) {
      const sandboxes = pods().map((pod): Sandbox => {
        const { name = '', namespace = '', uid = '' } = pod.metadata;
        return {
          id: `sandbox-${name}`,
          metadata: { name, namespace, uid, attempt: 0 },
          state: 'ready',
          createdAtMs,
          labels: labelsOf(pod),
          annotations: {},
          runtimeHandler: '',
        };
      });
      return sandboxes.filter((one) => matches(one.labels, filter.labels));
    },
    async containerStatus(id) {
      const found = containers().find((one) => one.id === id);
      if (!found) throw new RuntimeError('notFound', `no container ${id}`);
      const times = { startedAtMs: createdAtMs, finishedAtMs: 0, exitCode: 0, reason: '', message: '' };
      return { ...found, ...times, mounts: [], logPath: logPath?.(id) ?? '' };
    },
    listContainerStats: async () => containers().map(({ id }) => stats(id)),
    podSandboxStats: () => Promise.reject(new RuntimeError('unimplemented', 'no statistics of sandboxes')),
    exec: async (_id, command) => processEndpoint(command),
    attach: async () => processEndpoint(['cat']),
    portForward: async () => portEndpoint,
    async execSync(_id, command) {
      const { child, ended } = start(command);
      const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
      child.stdin.end();
      child.stdout.on('data', (chunk: Buffer) => output.stdout.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => output.stderr.push(chunk));
      const exitCode = await ended;
      return { stdout: Buffer.concat(output.stdout), stderr: Buffer.concat(output.stderr), exitCode };
    },
  };
  return runtime as ContainerRuntime;
}

function start([program = 'true', ...words]: readonly string[]) {
  const child = spawn(program, words, { stdio: 'pipe' });
  child.stdin.on('error', () => {});
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 137));
  });
  return { child, ended };
}

function processEndpoint(command: readonly string[]): StreamingEndpoint {
  return {
    kind: 'local',
    async run(streams, { signal }) {
      const { child, ended } = start(command);
      signal.addEventListener('abort', () => child.kill('SIGKILL'));
      child.stdout.on('data', (chunk: Buffer) => streams.stdout(chunk));
      child.stderr.on('data', (chunk: Buffer) => streams.stderr(chunk));
      const feed = async () => {
        for await (const chunk of streams.stdin) child.stdin.write(chunk);
        child.stdin.end();
      };
      void feed();
      return ended;
    },
  };
}

const portEndpoint: StreamingEndpoint = {
  kind: 'local',
  run: (streams, { port = 0 }) =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.on('data', (chunk: Buffer) => streams.stdout(chunk));
      socket.once('close', () => resolve(0));
      const feed = async () => {
        for await (const chunk of streams.stdin) socket.write(chunk);
        socket.end();
      };
      void feed();
    }),
};

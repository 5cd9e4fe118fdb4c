/**
 * A node for measurements: `coracle kubelet` as a process of its own, on a containerd of its own, under an API server in another process.
 * Its Pods are small web servers, each asked by a readiness probe at the default period.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ClientHttp2Session } from 'node:http2';
import { join, resolve } from 'node:path';
import { certificateUser, formatKubeconfig, kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { startContainerd, type TestContainerd } from '../../src/testing/containerd.ts';
import { busyboxImageArchive } from '../../src/testing/oci-image.ts';
import type { StartedServer, StartServer } from '../processes/server.ts';
import { Child } from './child.ts';
import { freePort } from './free-port.ts';
import { type Access, ask, openSession } from './https-client.ts';
import { type PodState, PodWatch } from './pod-watch.ts';
import type { Traffic } from './traffic.ts';

const root = resolve(import.meta.dirname, '../..');
const nodeName = 'bench-node';
const image = 'bench.test/web:1';
const podsPath = '/api/v1/namespaces/default/pods';
/** As many Pods are made at a time; more would only wait for the runtime. */
const startsAtATime = 8;

export class BenchNode implements AsyncDisposable {
  readonly #session: ClientHttp2Session;
  readonly #server: Child;
  readonly #containerd: TestContainerd;
  readonly #watch: PodWatch;
  readonly #words: readonly string[];
  readonly #folder: string;
  /** All but the kubelet, which ends before them. */
  readonly #resources: AsyncDisposableStack;
  #kubelet: ChildProcess;

  static async start(maxPods: number): Promise<BenchNode> {
    // Goes again, runtime and cgroups too, when any of it does not start.
    await using resources = new AsyncDisposableStack();
    const containerd = resources.adopt(await startContainerd(), (one) => one.stop());
    const entries = [{ path: 'www' }, { path: 'www/index.html', content: 'fine\n' }];
    await containerd.importImage(busyboxImageArchive(image, { entries }));
    const server = resources.use(new Child('server'));
    const request: StartServer = { kind: 'start', controllers: ['*'], nodeName, countsTraffic: true };
    const started = await server.ask<StartedServer>(request);
    // Below the runtime's, whose end takes mounts away too.
    const folder = join(containerd.directory, 'bench');
    mkdirSync(folder);
    const words = await kubeletWords(folder, containerd, { access: started.node!, maxPods });
    const session = resources.adopt(await openSession(started.admin), (one) => one.destroy());
    return new BenchNode({ containerd, server, folder, words, session, resources: resources.move() });
  }

  private constructor(parts: {
    readonly containerd: TestContainerd;
    readonly server: Child;
    readonly folder: string;
    readonly words: readonly string[];
    readonly session: ClientHttp2Session;
    readonly resources: AsyncDisposableStack;
  }) {
    this.#session = parts.session;
    this.#server = parts.server;
    this.#containerd = parts.containerd;
    this.#folder = parts.folder;
    this.#words = parts.words;
    this.#resources = parts.resources;
    this.#watch = new PodWatch(parts.session, podsPath);
    this.#kubelet = this.#launch();
  }

  /** The kubelet's. */
  get pid(): number {
    return this.#kubelet.pid!;
  }

  /** Ends the kubelet, and starts another one with these options of Node.js, which adopts what runs. */
  async replaceKubelet(options: string): Promise<void> {
    await this.endKubelet();
    this.#kubelet = this.#launch(options);
  }

  async endKubelet(): Promise<void> {
    if (this.#kubelet.exitCode !== null || this.#kubelet.signalCode !== null) return;
    const gone = new Promise((done) => this.#kubelet.once('exit', done));
    this.#kubelet.kill('SIGTERM');
    await gone;
  }

  /** Makes Pods and resolves when all of them are Ready. */
  async run(names: readonly string[]): Promise<void> {
    await this.#each(names, async (name) => {
      const ready = this.#watch.until(name, isReady);
      const { status, body } = await ask(this.#session, podsPath, { body: podOf(name), keepBody: true });
      if (status >= 300) throw new Error(`the API server answered ${status}: ${body}`);
      await ready;
    });
  }

  /** Deletes Pods and resolves when their objects are gone. */
  async remove(names: readonly string[]): Promise<void> {
    await this.#each(names, async (name) => {
      const gone = this.#watch.until(name, (pod) => pod === undefined);
      await ask(this.#session, `${podsPath}/${name}`, { method: 'DELETE' });
      await gone;
    });
  }

  /** How many Pods are Ready and have never been restarted. */
  async steady(): Promise<number> {
    const { body } = await ask(this.#session, podsPath, { keepBody: true });
    const { items } = JSON.parse(body) as { readonly items: readonly PodState[] };
    return items.filter((pod) => isReady(pod) && pod.status?.containerStatuses?.every((one) => one.restartCount === 0))
      .length;
  }

  /** What the kubelet has sent to the API server so far. */
  traffic(): Promise<Traffic> {
    return this.#server.ask({ kind: 'traffic', user: `system:node:${nodeName}` });
  }

  /** What the node still has of Pods, in words; empty when nothing is left. */
  async leftovers(): Promise<readonly string[]> {
    const { cgroupRoot, directory } = this.#containerd;
    const containers = (await this.#containerd.ctr('containers', 'ls', '-q')).split('\n').filter(Boolean);
    const mounts = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(`${this.#folder}/`) || line.includes(`${directory}/state/io.containerd.grpc`));
    const groups = namesIn(podGroups(cgroupRoot)).filter((name) => /^pod/.test(name));
    const addresses = namesIn(join(directory, 'ipam/pods')).filter((name) => /^\d/.test(name));
    const kinds = {
      containers,
      mounts,
      cgroups: groups,
      addresses,
      'folders of Pods': namesIn(join(this.#folder, 'kubelet/pods')),
      'folders of logs': namesIn(join(this.#folder, 'logs')),
    };
    return Object.entries(kinds)
      .filter(([, left]) => left.length > 0)
      .map(([kind, left]) => `${left.length} ${kind}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endKubelet();
    await this.#resources.disposeAsync();
  }

  #launch(nodeOptions = ''): ChildProcess {
    return spawn(join(root, 'coracle'), ['kubelet', ...this.#words], {
      stdio: ['ignore', 'ignore', process.env.BENCH_LOG ? 'inherit' : 'ignore'],
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compile'), NODE_OPTIONS: nodeOptions },
    });
  }

  async #each(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
    const left = [...names];
    const worker = async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) await work(name);
    };
    await Promise.all(Array.from({ length: startsAtATime }, worker));
  }
}

async function kubeletWords(
  folder: string,
  { endpoint, cgroupRoot }: TestContainerd,
  { access, maxPods }: { readonly access: Access; readonly maxPods: number },
): Promise<readonly string[]> {
  const { url: server, ca: caPem, certificate, key } = access;
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const kubeconfig = kubeconfigOf({ name: 'bench', server, caPem, user: certificateUser(certificate, key) });
  const configuration = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: endpoint,
    podLogsDir: join(folder, 'logs'),
    cgroupRoot,
    maxPods,
    port: await freePort(),
    healthzPort: 0,
    failSwapOn: false,
  };
  return [
    `--hostname-override=${nodeName}`,
    `--kubeconfig=${write('kubeconfig', formatKubeconfig(kubeconfig))}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--cert-dir=${join(folder, 'pki')}`,
    `--config=${write('kubelet.yaml', JSON.stringify(configuration))}`,
  ];
}

/** With the token of its account, as Pods have it. */
function podOf(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'web',
          image,
          command: ['httpd', '-f', '-p', '8080', '-h', '/www'],
          resources: { requests: { cpu: '5m', memory: '4Mi' } },
          readinessProbe: { httpGet: { path: '/', port: 8080 }, timeoutSeconds: 5 },
        },
      ],
    },
  });
}

function isReady(pod: PodState | undefined): boolean {
  return pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Where the kubelet makes a cgroup for each Pod: among those of memory, or in the one hierarchy there is with version 2. */
function podGroups(cgroupRoot: string): string {
  const folder = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup']
    .map((hierarchy) => `${hierarchy}${cgroupRoot}/kubepods/burstable`)
    .find((path) => existsSync(path));
  if (folder === undefined) throw new Error(`no hierarchy of cgroups has ${cgroupRoot}/kubepods/burstable`);
  return folder;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/**
 * A control plane in memory and one node whose kubelet's server runs over a given runtime, each with a real socket: what a test needs to
 * send kubectl through both.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Node, namespaces, nodes, type Pod, pods, serviceAccounts } from '../../api/gen/core-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { isAlreadyExists } from '../../apimachinery/status.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { keysInMemory } from '../../cluster/certificates/cluster-pki.ts';
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane/control-plane.ts';
import type { ContainerRuntime } from '../../kubelet/runtime/runtime.ts';
import { type KubeletServer, startKubeletServer } from '../../kubelet/server/kubelet-server.ts';
import type { KubeletView } from '../../kubelet/server/kubelet-view.ts';
import { testView } from '../../kubelet/server/node.fixture.ts';
import type { SystemLogs } from '../../kubelet/server/system-logs.ts';
import type { CertifiedKey } from '../../pki/authority.ts';
import { systemKeys } from '../../pki/keys.ts';
import { delegatedAuthentication } from '../../serving/delegated-authentication.ts';
import { delegatedAuthorization } from '../../serving/delegated-authorization.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import { type NodeProxyOptions, nodeProxyHandlers } from './node-proxy.ts';

export interface TestCluster {
  readonly controlPlane: ControlPlane;
  readonly kubelet: KubeletServer;
  readonly directory: string;
  readonly kubeconfig: string;
  /** Makes the Pod and gives it the status that is in it. */
  addPod(pod: Pod): Promise<Pod>;
  stop(): Promise<void>;
}

export interface TestClusterOptions {
  readonly runtime: ContainerRuntime;
  /** Pods as the kubelet knows them. */
  readonly pods: Pod[];
  /** The node's own words; e.g. that its kubelet knows the newest protocols. */
  readonly declaredFeatures?: readonly string[];
  readonly proxy?: Partial<NodeProxyOptions>;
  /** Those by which the kubelet is known beside loopback. */
  readonly nodeAddresses?: readonly string[];
  /** Of the node itself. */
  readonly systemLogs?: SystemLogs;
  /** Called with the signal of each log that is read. */
  readonly onLog?: (signal: AbortSignal) => void;
}

export const nodeName = 'node-a';

export async function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'coracle-node-proxy-'));
  const store = memoryStore<KubeObject>({ clock: systemClock });
  const controlPlane = await startControlPlane({
    store: { kind: 'objects', store },
    clock: systemClock,
    random: systemRandom,
    keys: systemKeys,
    keyFiles: keysInMemory(),
    log: silentLog,
    listen: [{ host: '127.0.0.1', port: 0 }],
    serviceCidrs: ['10.96.0.0/16'],
    clusterCidrs: ['10.244.0.0/16'],
    controllers: ['-*'],
    scheduler: false,
  });
  const { pki, apiServer } = controlPlane;
  const nodeClient = controlPlane.client({
    name: `system:node:${nodeName}`,
    groups: ['system:nodes', 'system:authenticated'],
  });
  const view = testView({ nodeName, runtime: options.runtime, pods: () => options.pods });
  const watched: KubeletView = {
    ...view,
    containerLog(pod, container, reading) {
      options.onLog?.(reading.signal);
      return view.containerLog(pod, container, reading);
    },
  };
  const kubelet = await startKubeletServer(watched, {
    listen: { host: '127.0.0.1', port: 0 },
    tls: pair(pki.kubeletServer(nodeName, ['127.0.0.1', ...(options.nodeAddresses ?? [])])),
    authenticate: delegatedAuthentication({
      clock: systemClock,
      clientAuthorities: () => pki.authority.certificatePem,
      tokenReviews: nodeClient,
    }),
    authorize: delegatedAuthorization({ client: nodeClient, clock: systemClock }),
    clock: systemClock,
    log: silentLog,
    systemLogs: options.systemLogs,
  });
  const credentials = pki.client('apiserver-kubelet-client', 'kube-apiserver-kubelet-client', ['system:masters']);
  const handlers = nodeProxyHandlers({
    client: apiServer.loopback,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    kubelet: {
      credentials: () => pair(credentials),
      authority: () => pki.authority.certificatePem,
      preferredAddressTypes: ['InternalIP'],
    },
    ...options.proxy,
  });
  for (const [key, handler] of handlers) {
    const [, , resource = '', subresource = ''] = key.split('/');
    apiServer.server.registerSubresource('', resource, subresource, handler);
  }
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, controlPlane.adminKubeconfig());
  await prepare(controlPlane, nodeOf(kubelet, options.declaredFeatures ?? []));
  return {
    controlPlane,
    kubelet,
    directory,
    kubeconfig,
    addPod: (pod) => addPod(controlPlane, pod),
    async stop() {
      await kubelet.close();
      await controlPlane.close();
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

export function pair({ certificatePem, keyPem }: CertifiedKey) {
  return { certificate: certificatePem, key: keyPem };
}

function nodeOf({ address }: KubeletServer, declaredFeatures: readonly string[]): Node {
  return {
    metadata: { name: nodeName },
    spec: {},
    status: {
      addresses: [{ type: 'InternalIP', address: address.host }],
      daemonEndpoints: { kubeletEndpoint: { Port: address.port } },
      declaredFeatures,
    },
  };
}

async function prepare({ admin }: ControlPlane, node: Node): Promise<void> {
  const known = (error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  };
  await admin.create(namespaces, { metadata: { name: 'default' }, spec: {}, status: {} }).catch(known);
  await admin.create(serviceAccounts, { metadata: { name: 'default', namespace: 'default' } }).catch(known);
  const made = await admin.create(nodes, node);
  await admin.updateStatus(nodes, { ...made, status: node.status });
}

async function addPod({ admin }: ControlPlane, { metadata, spec, status }: Pod): Promise<Pod> {
  const { name, namespace, labels } = metadata;
  const made = await admin.create(pods, { metadata: { name, namespace, labels }, spec, status: {} });
  return status ? admin.updateStatus(pods, { ...made, status }) : made;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Called with all that has come so far. */
  readonly onData?: (text: string) => void;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
}

/** A request as the administrator, over HTTP/1.1. */
export function call(
  { controlPlane: { pki, apiServer } }: TestCluster,
  path: string,
  { method = 'GET', headers = {}, body, signal, onData }: CallOptions = {},
): Promise<Answer> {
  const { certificatePem, keyPem } = pki.client('admin', 'kubernetes-admin', ['system:masters']);
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port: apiServer.port,
      path,
      method,
      headers,
      agent: false,
      ...(signal ? { signal } : {}),
      servername: 'localhost',
      ca: pki.authority.certificatePem,
      cert: certificatePem,
      key: keyPem,
    });
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        onData?.(Buffer.concat(chunks).toString());
      });
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: bytes.toString(), bytes });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** What is forwarded to a local port, until `stop`. */
export async function portForward(kubectl: string, words: readonly string[]) {
  const child = spawn(kubectl, ['port-forward', ...words]);
  let output = '';
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    const look = (chunk: Buffer) => {
      output += chunk.toString();
      const found = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output);
      if (found) resolve(Number(found[1]));
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    void ended.then(() => reject(new Error(`kubectl port-forward ended: ${output}`)));
  });
  const stop = () => {
    child.kill('SIGINT');
    return ended;
  };
  return { port, stop, ended, output: () => output };
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program; input is written at once and ended, unless it is undefined. */
export function run(program: string, words: readonly string[], input?: string | Buffer): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: 'pipe' });
    const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    child.stdout.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      const text = (name: 'stdout' | 'stderr') => Buffer.concat(chunks[name]).toString();
      resolve({ code: code ?? -1, stdout: text('stdout'), stderr: text('stderr') });
    });
    child.stdin.on('error', () => {});
    if (input === undefined) child.stdin.destroy();
    else child.stdin.end(input);
  });
}

/**
 * What the kubelet's tests share: a memory API that ends Pods gracefully and issues tokens, a log that can be read, and builders. The
 * clock is the test's own: a fake one with the simulated runtime, the machine's with a real one.
 */

import { defaultPod } from '../api/core/v1/pod-defaults.ts';
import { nodes, type Pod, type PodSpec, pods } from '../api/gen/core-v1.ts';
import { builtinSchema } from '../api/schema.ts';
import { type Draft, draft } from '../apimachinery/meta.ts';
import { applyStrategicMergePatch } from '../apimachinery/patch/strategic-merge-patch.ts';
import { formatTime } from '../apimachinery/time.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import type { Client, Transport, TransportRequest } from '../client/client.ts';
import { createClient } from '../client/typed-client.ts';
import { componentContext } from '../reconcile/component.ts';
import { MemoryApi } from '../testing/memory-api.ts';

const gracefulFinalizer = 'test/graceful';

/** A memory API with the two things that Pods need beyond it: deletion with grace, and TokenRequest. */
class PodApi implements Transport {
  readonly memory: MemoryApi;
  readonly #clock: Clock;
  tokens = 0;

  constructor(clock: Clock) {
    this.memory = new MemoryApi({ clock });
    this.#clock = clock;
  }

  async send(request: TransportRequest): Promise<unknown> {
    const isPod = /^\/api\/v1\/namespaces\/[^/]+\/pods(\/|$)/.test(request.path);
    if (request.path.endsWith('/token')) return this.#token(request);
    if (isPod && request.method === 'POST' && request.path.endsWith('/pods')) {
      const body = request.body as Pod;
      return this.memory.send({
        ...request,
        body: { ...body, metadata: { ...body.metadata, finalizers: [gracefulFinalizer] } },
      });
    }
    if (isPod && request.method === 'DELETE') return this.#deletePod(request);
    if (request.contentType?.includes('strategic')) return this.#strategicPatch(request);
    return this.memory.send(request);
  }

  stream(request: TransportRequest) {
    return this.memory.stream(request);
  }

  close(): Promise<void> {
    return this.memory.close();
  }

  /** The memory API would replace lists that are merged by key. */
  async #strategicPatch(request: TransportRequest): Promise<unknown> {
    const { path, signal } = request;
    const isNode = path.startsWith('/api/v1/nodes/');
    await this.memory.send({ ...request, body: {} });
    const present = (await this.memory.send({ method: 'GET', path: path.replace(/\/status$/, ''), signal })) as Record<
      string,
      unknown
    >;
    const type = builtinSchema().type(isNode ? 'core/v1.Node' : 'core/v1.Pod');
    const body = applyStrategicMergePatch(present, request.body as Record<string, unknown>, type);
    return this.memory.send({ method: 'PUT', path, body, signal });
  }

  async #deletePod(request: TransportRequest): Promise<unknown> {
    const { path, signal } = request;
    const pod = (await this.memory.send({ method: 'GET', path, signal })) as Pod;
    const grace =
      (request.body as { gracePeriodSeconds?: number } | undefined)?.gracePeriodSeconds ??
      pod.spec.terminationGracePeriodSeconds ??
      30;
    const isOver = grace === 0 || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    const metadata: Draft<Pod['metadata']> = draft(pod.metadata);
    if (isOver) metadata.finalizers = [];
    metadata.deletionTimestamp = formatTime(this.#clock.now() + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
    if (isOver) {
      await this.memory.send({ method: 'PUT', path, body: { ...pod, metadata }, signal });
      const left = await this.memory.send({ method: 'GET', path, signal }).catch(() => undefined);
      return left === undefined ? pod : this.memory.send({ method: 'DELETE', path, signal });
    }
    return this.memory.send({ method: 'PUT', path, body: { ...pod, metadata }, signal });
  }

  #token(request: TransportRequest): unknown {
    const { spec } = request.body as { spec: { expirationSeconds?: number } };
    const seconds = spec.expirationSeconds ?? 3600;
    return {
      status: { token: `token-${++this.tokens}`, expirationTimestamp: formatTime(this.#clock.now() + seconds * 1000) },
    };
  }
}

export interface LoggedLine {
  readonly level: string;
  readonly message: string;
  readonly fields: unknown;
}

export function kubeletHarness(clock: Clock) {
  const api = new PodApi(clock);
  const client = createClient(api);
  const lines: LoggedLine[] = [];
  const at = (level: string) => (message: string, fields?: unknown) => void lines.push({ level, message, fields });
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  const random = seededRandom(7);
  const context = () => {
    const stop = new AbortController();
    return { stop, context: componentContext({ client, clock, random, log, signal: stop.signal }) };
  };
  return { api, client, clock, lines, log, random, context };
}

/** A Pod with upstream's defaults, bound to the node. */
export function testPod(
  name: string,
  nodeName: string,
  spec: Partial<PodSpec> & Pick<PodSpec, 'containers'>,
  metadata: Pod['metadata'] = {},
): Pod {
  const pod = draft({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', ...metadata, name },
    spec: { nodeName, ...spec },
  }) as Draft<Pod>;
  defaultPod(pod);
  return pod as Pod;
}

export async function getPod(client: Client, name: string, namespace = 'default'): Promise<Pod | undefined> {
  return client.get(pods, { namespace, name }).catch(() => undefined);
}

export async function getNode(client: Client, name: string) {
  return client.get(nodes, { name }).catch(() => undefined);
}

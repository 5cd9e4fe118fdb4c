/**
 * What the conformance tests stand on: a control plane in memory, reached over HTTPS as any client reaches it; namespaces of one's own;
 * and waiting for what is to come by watching, never by asking again and again.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { namespaces } from '../../src/api/gen/core-v1.ts';
import { type KubeObject, keyOf } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import { systemClock, withTimeout } from '../../src/base/clock.ts';
import {
  type Client,
  createClient,
  createHttpTransport,
  type HttpTransportOptions,
  type ObjectReference,
  parseKubeconfig,
  transportOptions,
  type WatchEvent,
  type WatchOptions,
} from '../../src/client/index.ts';
import { type EmbeddedOptions, startControlPlane } from '../../src/testing/index.ts';

const patienceMs = 30_000;

export interface TestCluster {
  readonly url: string;
  /** The administrator's, over HTTPS. */
  readonly client: Client;
  /** How the administrator connects, for tests that speak HTTP themselves. */
  readonly connection: HttpTransportOptions;
  /** A kubeconfig file for the administrator. */
  readonly kubeconfig: string;
  /** Another client over HTTPS, e.g. `{ token, tls: { ca } }` instead of the certificate. */
  clientWith(options: Partial<HttpTransportOptions>): Client;
  /** A client with the rights of another user, for parts of the cluster that run in the test's own process. */
  clientOf(user: string, groups: readonly string[]): Client;
  /** Makes a namespace and answers its name. */
  namespace(labels?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs after the last test, before the control plane stops. */
  beforeEnd(end: () => Promise<void>): void;
}

/** One for all tests of a file: it stops after the last of them. */
export async function startCluster(options: EmbeddedOptions = {}): Promise<TestCluster> {
  const controlPlane = await startControlPlane(options);
  const folder = mkdtempSync(join(tmpdir(), 'coracle-conformance-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, controlPlane.kubeconfig, { mode: 0o600 });
  const reading = { clock: systemClock, readFile: () => Promise.reject(new Error('all is in the kubeconfig')) };
  const connection = await transportOptions(parseKubeconfig(controlPlane.kubeconfig), reading);
  const transports = [createHttpTransport(connection)];
  const ending: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of ending) await end();
    for (const transport of transports) await transport.close();
    await controlPlane.stop();
    rmSync(folder, { recursive: true });
  });
  const client = createClient(transports[0]!);
  return {
    url: controlPlane.url,
    client,
    connection,
    kubeconfig,
    clientWith(other) {
      const transport = createHttpTransport({ ...connection, ...other });
      transports.push(transport);
      return createClient(transport);
    },
    clientOf: (user, groups) => controlPlane.clientOf(user, groups),
    beforeEnd: (end) => void ending.push(end),
    async namespace(labels = {}) {
      const made = await client.create(namespaces, { metadata: { generateName: 'conformance-', labels }, spec: {} });
      return made.metadata.name!;
    },
  };
}

export type Change<T> = Exclude<WatchEvent<T>, { readonly type: 'BOOKMARK' }>;

/** A watch whose events are taken one by one. */
export interface Follower<T> extends Disposable {
  /** The next event; fails when none comes within 30 seconds or the watch ends. */
  next(): Promise<Change<T>>;
  /** Takes events until one is right, and answers it. */
  until(right: (event: Change<T>) => boolean): Promise<Change<T>>;
}

/** Follows what happens to these objects from now on, or from the version asked for. */
export async function follow<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  options: WatchOptions = {},
): Promise<Follower<T>> {
  const { namespace, labelSelector, fieldSelector } = options;
  const from = options.resourceVersion ?? (await client.list(type, { ...options, limit: 1 })).resourceVersion;
  const stop = new AbortController();
  const selection = { namespace, labelSelector, fieldSelector, resourceVersion: from };
  const events = client.watch(type, { ...selection, signal: stop.signal })[Symbol.asyncIterator]();
  const next = async (): Promise<Change<T>> => {
    for (;;) {
      const tooLate = () => new Error(`nothing more was told of ${type.resource}`);
      const { value, done } = await withTimeout(systemClock, events.next(), patienceMs, tooLate);
      if (done) throw new Error(`the watch of ${type.resource} ended`);
      if (value.type !== 'BOOKMARK') return value;
    }
  };
  return {
    next,
    async until(right) {
      for (;;) {
        const event = await next();
        if (right(event)) return event;
      }
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}

/**
 * Waits until the object is as it should be and answers it; `undefined` stands for its absence. Fails with its last state when that
 * takes more than 30 seconds.
 */
export async function when<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  ref: ObjectReference,
  right: (object: T | undefined) => boolean,
): Promise<T | undefined> {
  const selection = { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` };
  const { items, resourceVersion } = await client.list(type, selection);
  let last = items[0];
  using changes = await follow(client, type, { ...selection, resourceVersion });
  try {
    while (!right(last)) {
      const event = await changes.next();
      last = event.type === 'DELETED' ? undefined : event.object;
    }
    return last;
  } catch (cause) {
    throw new Error(`${type.resource} ${ref.name} is not what it should be: ${JSON.stringify(last)}`, { cause });
  }
}

/** Waits until the selected objects together are as they should be. */
export async function whenAll<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  selection: Pick<WatchOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>,
  right: (objects: readonly T[]) => boolean,
): Promise<readonly T[]> {
  const { items, resourceVersion } = await client.list(type, selection);
  const present = new Map(items.map((object) => [keyOf(object), object]));
  using changes = await follow(client, type, { ...selection, resourceVersion });
  try {
    while (!right([...present.values()])) {
      const event = await changes.next();
      if (event.type === 'DELETED') present.delete(keyOf(event.object));
      else present.set(keyOf(event.object), event.object);
    }
    return [...present.values()];
  } catch (cause) {
    throw new Error(`${type.resource} are not what they should be: ${JSON.stringify([...present.values()])}`, {
      cause,
    });
  }
}

/** Waits until the object is gone. */
export async function whenGone<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  ref: ObjectReference,
): Promise<void> {
  await when(client, type, ref, (object) => object === undefined);
}

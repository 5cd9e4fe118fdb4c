/**
 * What the conformance tests stand on: a control plane in memory, reached over HTTPS as any client reaches it; namespaces of one's own;
 * and waiting for what is to come by watching, never by asking again and again.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { namespaces } from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import { systemClock } from '../../src/base/clock.ts';
import {
  type Client,
  createClient,
  createHttpTransport,
  type HttpTransportOptions,
  type ObjectReference,
  parseKubeconfig,
  transportOptions,
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
  /** Makes a namespace and answers its name. */
  namespace(labels?: Readonly<Record<string, string>>): Promise<string>;
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
  after(async () => {
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
    async namespace(labels = {}) {
      const made = await client.create(namespaces, { metadata: { generateName: 'conformance-', labels }, spec: {} });
      return made.metadata.name!;
    },
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
  if (right(last)) return last;
  const signal = AbortSignal.timeout(patienceMs);
  try {
    for await (const event of client.watch(type, { ...selection, resourceVersion, signal })) {
      if (event.type === 'BOOKMARK') continue;
      last = event.type === 'DELETED' ? undefined : event.object;
      if (right(last)) return last;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw new Error(`${type.resource} ${ref.name} did not become what it should be; last: ${JSON.stringify(last)}`);
}

/** Waits until the object is gone. */
export async function whenGone<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  ref: ObjectReference,
): Promise<void> {
  await when(client, type, ref, (object) => object === undefined);
}

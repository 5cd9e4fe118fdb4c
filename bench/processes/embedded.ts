/**
 * One embedded control plane in a fresh process, timed from before the import of `coracle/testing` until it is ready: `/readyz` answers
 * over TLS, the default ServiceAccount is there, and a Deployment has yielded its Pods. Then a second one in the same process.
 */
import { connect } from 'node:http2';
import { join, resolve } from 'node:path';
import { answer } from '../parts/child.ts';

export interface StartEmbedded {
  readonly kind: 'start';
  /** Of the sources, or as `npm run build` has made it. */
  readonly form: 'sources' | 'package';
  /** Keeps the first one running, for its memory to be looked at. */
  readonly keep?: boolean;
}

export interface EmbeddedTimes {
  /** Of the process's life, until its own code ran. */
  readonly runtimeMs: number;
  readonly first: StartTimes;
  readonly second: StartTimes | undefined;
}

/** In milliseconds since the start of the import (the second: since the call). */
export interface StartTimes {
  readonly importedMs: number;
  readonly startedMs: number;
  readonly readyzMs: number;
  readonly serviceAccountMs: number;
  readonly podsMs: number;
  /** When the last of them had come. */
  readonly readyMs: number;
  /** Processor time of the whole process meanwhile. */
  readonly cpuMs: number;
}

const replicas = 2;

answer({
  async start({ form, keep = false }: StartEmbedded): Promise<EmbeddedTimes> {
    const runtimeMs = performance.now();
    const first = await start(form);
    if (keep) return { runtimeMs, first: first.times, second: undefined };
    const second = await start(form);
    await first.stop();
    await second.stop();
    return { runtimeMs, first: first.times, second: second.times };
  },
});

async function start(form: StartEmbedded['form']): Promise<{ readonly times: StartTimes; stop(): Promise<void> }> {
  const load = loader(form);
  const cpu = process.cpuUsage();
  const beganMs = performance.now();
  const sinceMs = () => performance.now() - beganMs;
  const { startControlPlane } = await load.testing();
  const importedMs = sinceMs();
  const cluster = await startControlPlane();
  const startedMs = sinceMs();
  const { deployments } = await load.apps();
  const { pods, serviceAccounts } = await load.core();
  const { client } = cluster;
  const stop = new AbortController();
  const options = { namespace: 'default', signal: stop.signal };
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'registry.test/web:1' }] } };
  const [readyzMs, serviceAccountMs, podsMs] = await Promise.all([
    readyz(cluster.url, cluster.certificateAuthority).then(sinceMs),
    seen(client.watch(serviceAccounts, options), 1).then(sinceMs),
    seen(client.watch(pods, options), replicas).then(sinceMs),
    client.create(deployments, {
      metadata: { name: 'web', namespace: 'default' },
      spec: { replicas, selector: { matchLabels: labels }, template },
    }),
  ]);
  stop.abort();
  const { user, system } = process.cpuUsage(cpu);
  const readyMs = Math.max(readyzMs, serviceAccountMs, podsMs);
  const times = { importedMs, startedMs, readyzMs, serviceAccountMs, podsMs, readyMs, cpuMs: (user + system) / 1000 };
  return { times, stop: () => cluster.stop() };
}

const root = resolve(import.meta.dirname, '../..');

/** The same modules of either form. */
function loader(form: StartEmbedded['form']) {
  const fileOf = (name: string) =>
    form === 'sources' ? join(root, 'src', `${name}.ts`) : join(root, 'dist', `${name}.js`);
  return {
    testing: (): Promise<typeof import('../../src/testing/index.ts')> => import(fileOf('testing/index')),
    apps: (): Promise<typeof import('../../src/api/gen/apps-v1.ts')> => import(fileOf('api/gen/apps-v1')),
    core: (): Promise<typeof import('../../src/api/gen/core-v1.ts')> => import(fileOf('api/gen/core-v1')),
  };
}

/** Resolves when so many objects have appeared. */
async function seen(events: AsyncIterable<{ readonly type: string }>, count: number): Promise<void> {
  let left = count;
  for await (const event of events) if (event.type === 'ADDED' && --left === 0) return;
}

async function readyz(url: string, ca: string): Promise<void> {
  const session = connect(url, { ca });
  try {
    await new Promise<void>((resolve, reject) => {
      const stream = session.request({ ':path': '/readyz' });
      stream.once('response', ({ ':status': status }) => {
        if (status === 200) resolve();
        else reject(new Error(`/readyz answered ${status}`));
      });
      stream.once('error', reject);
      session.once('error', reject);
      stream.resume();
    });
  } finally {
    session.destroy();
  }
}

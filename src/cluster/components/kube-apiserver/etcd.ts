/**
 * Storage on etcd, from the flags of `kube-apiserver`: `--etcd-servers` and all that goes with it, under upstream's names and with
 * upstream's layout, so that a real API server and this one can use the same data, one after the other or at the same time.
 */
import { messageOf } from '../../../apimachinery/status.ts';
import type { HealthCheck } from '../../../apiserver/health/health-checks.ts';
import type { BytesStore } from '../../../apiserver/index.ts';
import type { FurtherStore } from '../../../apiserver/registry/environment.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { Closers } from '../../../base/closers.ts';
import { FlagError } from '../../../serving/flags.ts';
import { bufferCodec } from '../../../storage/codec.ts';
import {
  Compactor,
  type EtcdRequest,
  type EtcdStore,
  type EtcdTls,
  openEtcdStore,
  registryRoot,
} from '../../../storage/etcd/index.ts';
import { readOptionalPem } from '../../certificates/pem-files.ts';
import { CommandError } from '../../command-error.ts';
import { parseOverrides } from '../../data/etcd-overrides.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import type { GivenFlags } from '../flags/given-flags.ts';
import { EtcdMetrics } from './etcd-metrics.ts';

export interface OpenedEtcd extends AsyncDisposable {
  readonly store: BytesStore;
  /** The key in etcd of one of the store's: what encrypted values are bound to. */
  readonly boundTo: (key: string) => string;
  /** For `/metrics`. */
  readonly metrics: () => string;
}

const retryMs = 1000;

/** What is opened waits for etcd as long as `--storage-initialization-timeout` says. Throws for flags or files that are wrong. */
export function etcdFrom(given: GivenFlags, environment: ComponentEnvironment): () => Promise<OpenedEtcd> {
  const { clock, log } = environment;
  const mediaType = mediaTypeFrom(given);
  const root = registryRoot(given.text('etcd-prefix'));
  const endpoints = given.list('etcd-servers');
  const overrides = parseOverrides(given.list('etcd-servers-overrides'));
  checkEndpoints('--etcd-servers', endpoints);
  for (const { servers } of overrides) checkEndpoints('--etcd-servers-overrides', servers);
  const metrics = new EtcdMetrics();
  const options = {
    observe: (request: EtcdRequest) => metrics.request(request),
    tls: tlsFrom(given),
    root,
    codec: bufferCodec,
    clock,
    log,
    leaseReuseSeconds: given.number('lease-reuse-duration-seconds'),
  };
  const withinMs = given.milliseconds('storage-initialization-timeout');
  const intervalMs = given.milliseconds('etcd-compaction-interval');
  const healthTimeoutMs = given.milliseconds('etcd-healthcheck-timeout');
  const readyTimeoutMs = given.milliseconds('etcd-readycheck-timeout');
  const sizesEveryMs = given.milliseconds('etcd-db-metric-poll-interval');
  const openAt = async (servers: readonly string[], closers: Closers) => {
    const open = () => openEtcdStore({ ...options, endpoints: servers });
    const store = await untilOpen(open, { environment, endpoints: servers, withinMs });
    closers.defer(() => store.close());
    const compactor = new Compactor({ store, clock, log, intervalMs });
    closers.defer(() => compactor.close());
    const polling = pollSizes(store, metrics, { clock, everyMs: sizesEveryMs });
    closers.defer(() => polling.close());
    return { store, healthy: probing(store, clock, healthTimeoutMs), ready: probing(store, clock, readyTimeoutMs) };
  };
  return async () => {
    const closers = new Closers();
    try {
      const { store, ...checks } = await openAt(endpoints, closers);
      const further: FurtherStore<Uint8Array>[] = [];
      const furtherChecks: HealthCheck[] = [];
      for (const [i, { servers, keeps }] of overrides.entries()) {
        const { healthy, ready, ...placed } = await openAt(servers, closers);
        further.push({ ...placed, keeps });
        furtherChecks.push({ name: `etcd-override-${i}`, check: healthy });
        furtherChecks.push({ name: `etcd-override-readiness-${i}`, in: ['readyz'], check: ready });
      }
      const all = { ...checks, further: furtherChecks };
      return {
        store: { kind: 'bytes', store, mediaType, shared: true, checks: all, further },
        boundTo: (key) => root.to + key.slice(root.from.length),
        metrics: () => metrics.families(),
        [Symbol.asyncDispose]: () => closers.close(),
      };
    } catch (error) {
      await closers.close();
      throw error;
    }
  };
}

function mediaTypeFrom(given: GivenFlags): BytesStore['mediaType'] {
  const backend = given.text('storage-backend');
  if (backend !== '' && backend !== 'etcd3')
    throw new FlagError(
      "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'",
    );
  const mediaType = given.text('storage-media-type');
  if (mediaType === 'application/json' || mediaType === 'application/vnd.kubernetes.protobuf') return mediaType;
  throw new FlagError(
    `--storage-media-type ${JSON.stringify(mediaType)} invalid, allowed values: application/json, application/vnd.kubernetes.protobuf`,
  );
}

function checkEndpoints(flag: string, endpoints: readonly string[]): void {
  for (const endpoint of endpoints) {
    const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
      throw new CommandError(`${flag} ${endpoint} is no URL of an etcd server.`, 'Write it as https://10.0.0.1:2379.');
  }
}

function tlsFrom(given: GivenFlags): EtcdTls {
  const pem = (flag: string) => readOptionalPem(`--${flag}`, given.text(flag));
  return { caPem: pem('etcd-cafile'), certificatePem: pem('etcd-certfile'), keyPem: pem('etcd-keyfile') };
}

interface Waiting {
  readonly environment: ComponentEnvironment;
  readonly endpoints: readonly string[];
  readonly withinMs: number;
}

async function untilOpen<T>(open: () => Promise<T>, { environment, endpoints, withinMs }: Waiting): Promise<T> {
  const { clock, log, signal } = environment;
  const until = clock.monotonic() + withinMs;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const reason = messageOf(error);
      if (signal.aborted || clock.monotonic() >= until)
        throw new CommandError(
          `no etcd server answers at ${endpoints.join(', ')}: ${reason}.`,
          'Check --etcd-servers, and --etcd-cafile, --etcd-certfile and --etcd-keyfile if they ask for certificates.',
        );
      log.warn('etcd does not answer yet', { endpoints, reason });
      await new Promise<void>((resolve) => clock.after(retryMs, resolve));
    }
  }
}

/** Never when `everyMs` is 0. */
function pollSizes(etcd: EtcdStore<Buffer>, metrics: EtcdMetrics, options: { clock: Clock; everyMs: number }) {
  const { clock, everyMs } = options;
  let timer: Timer | undefined;
  let closed = false;
  const poll = async () => {
    const sizes = await etcd.sizes();
    for (const [endpoint, bytes] of sizes) metrics.size(endpoint, bytes);
    if (!closed) timer = clock.after(everyMs, again);
  };
  const again = () => void poll().catch(() => {});
  if (everyMs > 0) again();
  return {
    close() {
      closed = true;
      timer?.cancel();
    },
  };
}

/** As upstream: asks at most twice in the time an answer may take; who comes in between is told what was said last. */
function probing(etcd: EtcdStore<Buffer>, clock: Clock, timeoutMs: number): () => Promise<void> {
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let last: Promise<void> | undefined;
  return () => {
    const now = clock.monotonic();
    if (last && now - askedAtMs < timeoutMs / 2) return last;
    askedAtMs = now;
    last = etcd.probe(timeoutMs);
    last.catch(() => {});
    return last;
  };
}

/**
 * Storage on etcd, from the flags of `kube-apiserver`: `--etcd-servers` and all that goes with it, under upstream's names and with
 * upstream's layout, so that a real API server and this one can use the same data, one after the other or at the same time.
 */
import { messageOf } from '../../apimachinery/status.ts';
import type { BytesStore } from '../../apiserver/index.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { FlagError } from '../../serving/flags.ts';
import { bufferCodec } from '../../storage/codec.ts';
import {
  Compactor,
  type EtcdRequest,
  type EtcdStore,
  type EtcdTls,
  openEtcdStore,
  registryRoot,
} from '../../storage/etcd/index.ts';
import { CommandError } from '../command-error.ts';
import type { ComponentEnvironment } from './component.ts';
import { EtcdMetrics } from './etcd-metrics.ts';
import type { GivenFlags } from './given-flags.ts';
import { readOptionalPem } from './serving-certificate.ts';

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
  checkEndpoints(endpoints);
  refuseOverrides(given);
  const metrics = new EtcdMetrics();
  const options = {
    endpoints,
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
  return async () => {
    const etcd = await untilOpen(() => openEtcdStore(options), { environment, endpoints, withinMs });
    const compactor = new Compactor({ store: etcd, clock, log, intervalMs });
    const polling = pollSizes(etcd, metrics, { clock, everyMs: sizesEveryMs });
    const checks = {
      healthy: probing(etcd, clock, healthTimeoutMs),
      ready: probing(etcd, clock, readyTimeoutMs),
    };
    return {
      store: { kind: 'bytes', store: etcd, mediaType, shared: true, checks },
      boundTo: (key) => root.to + key.slice(root.from.length),
      metrics: () => metrics.families(),
      async [Symbol.asyncDispose]() {
        polling.close();
        compactor.close();
        await etcd.close();
      },
    };
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

/** Revisions of two etcd clusters have no order, and the feed of all caches is one watch. */
function refuseOverrides(given: GivenFlags): void {
  if (given.list('etcd-servers-overrides').length === 0) return;
  throw new CommandError('--etcd-servers-overrides is not supported: all resources share one etcd.', 'Leave it out.');
}

function checkEndpoints(endpoints: readonly string[]): void {
  for (const endpoint of endpoints) {
    const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
      throw new CommandError(
        `--etcd-servers ${endpoint} is no URL of an etcd server.`,
        'Write it as https://10.0.0.1:2379.',
      );
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

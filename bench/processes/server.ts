/**
 * A control plane, or an API server alone, as a process to be measured. Started by a message, so that the measuring program decides over
 * the store and who else runs in it; the answer says how to reach it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { keysInMemory } from '../../src/cluster/certificates/cluster-pki.ts';
import { type ControlPlane, startControlPlane } from '../../src/cluster/control-plane/control-plane.ts';
import { systemKeys } from '../../src/pki/keys.ts';
import { answer } from '../parts/child.ts';
import {
  baseline,
  DirectClient,
  type SendOptions,
  type Sent,
  threadMicroseconds,
  type WriteRequest,
} from '../parts/direct-requests.ts';
import type { Access } from '../parts/https-client.ts';
import { type Traffic, TrafficCount } from '../parts/traffic.ts';

export interface StartServer {
  readonly kind: 'start';
  /** Folder of an LMDB store; absent: in memory. */
  readonly directory?: string | undefined;
  /** As `--controllers`; none: an API server alone, without a scheduler either. */
  readonly controllers?: readonly string[] | undefined;
  /** Whose certificate comes along besides the administrator's. */
  readonly nodeName?: string | undefined;
  /** For `AskTraffic`; it costs every request something, so that only who asks for it has it. */
  readonly countsTraffic?: boolean;
}

export interface StartedServer {
  readonly admin: Access;
  readonly node: Access | undefined;
  /** From the start of the process to this answer. */
  readonly sinceStartMs: number;
}

export interface Pauses {
  /** The longest turn of the event loop since the last question, in milliseconds. */
  readonly longestMs: number;
}

/** What somebody sends from outside, by the name in his certificate. */
export interface AskTraffic {
  readonly kind: 'traffic';
  readonly user: string;
}

/** Past the sockets. */
export interface SendDirectly extends SendOptions {
  readonly kind: 'send';
  readonly requests: readonly WriteRequest[];
}

export interface WatchDirectly {
  readonly kind: 'watch';
  readonly target: string;
  /** 0: ends those there are. */
  readonly watchers: number;
}

export interface EncodePlainly {
  readonly kind: 'baseline';
  readonly requests: readonly WriteRequest[];
  readonly stored: readonly string[];
}

const log = process.env.BENCH_LOG
  ? { ...silentLog, warn: console.error, error: console.error, child: () => log }
  : silentLog;
const delays = monitorEventLoopDelay({ resolution: 1 });
let traffic: TrafficCount | undefined;
let controlPlane: ControlPlane | undefined;
let direct: DirectClient | undefined;
let closeStore = async () => {};

answer({
  async start({ directory, controllers, nodeName, countsTraffic }: StartServer): Promise<StartedServer> {
    if (countsTraffic) traffic = new TrafficCount();
    const store = await openStore(directory);
    closeStore = () => store.store.close();
    controlPlane = await startControlPlane({
      store,
      clock: systemClock,
      random: systemRandom,
      keys: systemKeys,
      keyFiles: keysInMemory(),
      log,
      listen: [{ host: '127.0.0.1', port: 0 }],
      serviceCidrs: ['10.96.0.0/16'],
      clusterCidrs: ['10.244.0.0/16'],
      ...(controllers ? { controllers, scheduler: controllers.length > 0 } : {}),
    });
    const { pki, url } = controlPlane;
    const access = (name: string, user: string, groups: readonly string[]): Access => {
      const { certificatePem: certificate, keyPem: key } = pki.client(name, user, groups);
      return { url, ca: pki.authority.certificatePem, certificate, key };
    };
    delays.enable();
    const admin = access('admin', 'kubernetes-admin', ['system:masters']);
    direct = new DirectClient(controlPlane.apiServer.server, admin.certificate);
    return {
      admin,
      node: nodeName === undefined ? undefined : access('node', `system:node:${nodeName}`, ['system:nodes']),
      sinceStartMs: performance.now(),
    };
  },
  pauses(): Pauses {
    const longestMs = delays.max / 1e6;
    delays.reset();
    return { longestMs };
  },
  traffic({ user }: AskTraffic): Traffic {
    if (!traffic) throw new Error('this server was not started to count traffic');
    return traffic.of(user);
  },
  /** Of the main thread since it began, in microseconds. */
  cpu: threadMicroseconds,
  send: ({ requests, ...options }: SendDirectly): Promise<Sent> => direct!.send(requests, options),
  async watch({ target, watchers }: WatchDirectly): Promise<void> {
    if (watchers > 0) await direct!.watch(target, watchers);
    else direct!.unwatch();
  },
  baseline: ({ requests, stored }: EncodePlainly): number => baseline(requests, stored),
  async stop(): Promise<void> {
    await controlPlane?.close();
    await closeStore();
  },
});

async function openStore(directory: string | undefined) {
  if (directory === undefined) {
    const { memoryStore } = await import('../../src/storage/memory/memory-store.ts');
    return { kind: 'objects' as const, store: memoryStore<KubeObject>({ clock: systemClock }) };
  }
  const { bufferCodec, openLmdbStore } = await import('../../src/storage/lmdb/lmdb-store.ts');
  const store = await openLmdbStore({ path: directory, codec: bufferCodec, clock: systemClock, log });
  return { kind: 'bytes' as const, store };
}

/**
 * The embedded control plane behind `coracle/testing`: the composition of a real one, with keys and objects in memory and a socket on
 * loopback.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { errorLog, type Log } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { keysInMemory } from '../cluster/certificates/cluster-pki.ts';
import { startControlPlane } from '../cluster/control-plane/control-plane.ts';
import { systemKeys } from '../pki/keys.ts';
import { memoryStore } from '../storage/memory/memory-store.ts';

export interface EmbeddedOptions {
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Of the API server's port; default: any free one. */
  readonly port?: number;
  /** Default: errors on stderr, such as a component that failed and is started again. */
  readonly log?: Log;
  /** By which nodes and Pods would reach the API server; default none, and then the Service `kubernetes` has no endpoints. */
  readonly advertiseAddress?: string;
  /** Which controllers run, as in `--controllers`; default all. */
  readonly controllers?: readonly string[];
  /** Default true. */
  readonly scheduler?: boolean;
  /** As `--runtime-config`, e.g. `{ 'api/beta': true }`. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
}

export interface EmbeddedControlPlane extends AsyncDisposable {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
  /** YAML text of a kubeconfig for the cluster's administrator: write it to a file and give it to kubectl. */
  readonly kubeconfig: string;
  /** PEM of the authority that the server's certificate comes from. */
  readonly certificateAuthority: string;
  /** The administrator's client, calling the server directly. */
  readonly client: Client;
  /** A client with the rights of another user. */
  clientOf(user: string, groups?: readonly string[]): Client;
  stop(): Promise<void>;
}

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedControlPlane> {
  const { clock = systemClock } = options;
  const store = memoryStore<KubeObject>({ clock });
  const controlPlane = await startControlPlane({
    store: { kind: 'objects', store },
    clock,
    random: systemRandom,
    keys: systemKeys,
    keyFiles: keysInMemory(),
    log: options.log ?? errorLog((line) => process.stderr.write(`${line}\n`)),
    listen: [{ host: '127.0.0.1', port: options.port ?? 0 }],
    serviceCidrs: ['10.96.0.0/16'],
    clusterCidrs: ['10.244.0.0/16'],
    ...(options.advertiseAddress ? { advertiseAddress: options.advertiseAddress } : {}),
    ...(options.controllers ? { controllers: options.controllers } : {}),
    ...(options.scheduler === undefined ? {} : { scheduler: options.scheduler }),
    ...(options.runtimeConfig ? { runtimeConfig: options.runtimeConfig } : {}),
  }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const stop = async () => {
    await controlPlane.close();
    await store.close();
  };
  return {
    url: controlPlane.url,
    get kubeconfig() {
      return controlPlane.adminKubeconfig();
    },
    certificateAuthority: controlPlane.pki.authority.certificatePem,
    client: controlPlane.admin,
    clientOf: (name, groups = []) => controlPlane.client({ name, groups: [...groups, 'system:authenticated'] }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

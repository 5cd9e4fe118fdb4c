/** What all ways from the API server into the cluster share. */
import type { Duplex } from 'node:stream';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { DialAddress } from '../../serving/dial.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { KubeletConnections } from './kubelet-connections.ts';

export interface NodeProxyContext {
  /** Passes every check. */
  readonly client: Client;
  readonly kubelets: KubeletConnections;
  readonly authorizer: (() => Authorizer) | undefined;
  readonly random: Random;
  readonly log: Log;
  /** Addresses of a host name. */
  lookup(host: string): Promise<readonly string[]>;
  /** How a connection to this address is made: directly, or through a tunnel. */
  connect(address: DialAddress): (signal?: AbortSignal) => Promise<Duplex>;
}

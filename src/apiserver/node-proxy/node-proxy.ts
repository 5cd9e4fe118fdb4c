/**
 * The API server's way into the cluster: to kubelets (`pods/log`, `exec`, `attach`, `portforward`, `nodes/proxy`) and to what Pods and
 * Services serve (`proxy`). Every connection begins in one `Dial`, so that a tunnel can take its place.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { type Dial, tcpDial } from '../../serving/dial.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Handler } from '../request.ts';
import type { NodeProxyContext } from './context.ts';
import { type KubeletClientOptions, KubeletConnections } from './kubelet-connections.ts';

export interface NodeProxyOptions {
  /** Passes every check: the loopback client. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly kubelet?: KubeletClientOptions | undefined;
  /** WebSockets begin with GET and still need the right to create; absent: the request's own right is enough. */
  readonly authorizer?: (() => Authorizer) | undefined;
  /** Default: TCP, 30 seconds. */
  readonly dial?: Dial | undefined;
  /** Default: the system's resolver. */
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined;
}

/** By `group/version/resource/subresource`, as the server's `handlers`. */
export function nodeProxyHandlers(options: NodeProxyOptions): ReadonlyMap<string, Handler> {
  const { client, clock, random, log, authorizer, dial = tcpDial({ clock }) } = options;
  const context: NodeProxyContext = {
    client,
    kubelets: new KubeletConnections(client, options.kubelet),
    authorizer,
    random,
    log,
    lookup: options.lookup ?? addressesOf,
    connect: (address) => (signal) => dial(address, signal),
  };
  const streams = () => import('./pod-streams.ts');
  const proxy = async (kind: 'nodeLocation' | 'podLocation' | 'serviceLocation') => {
    const [{ proxyHandler }, locations] = await Promise.all([
      import('./proxy-handler.ts'),
      import('./proxy-location.ts'),
    ]);
    return proxyHandler(context, locations[kind]);
  };
  return new Map([
    ['/v1/pods/log', onFirstUse(async () => (await import('./pod-log.ts')).podLogHandler(context))],
    ['/v1/pods/exec', onFirstUse(async () => (await streams()).podCommandHandler(context, 'exec'))],
    ['/v1/pods/attach', onFirstUse(async () => (await streams()).podCommandHandler(context, 'attach'))],
    ['/v1/pods/portforward', onFirstUse(async () => (await streams()).podPortForwardHandler(context))],
    ['/v1/pods/proxy', onFirstUse(() => proxy('podLocation'))],
    ['/v1/services/proxy', onFirstUse(() => proxy('serviceLocation'))],
    ['/v1/nodes/proxy', onFirstUse(() => proxy('nodeLocation'))],
  ]);
}

/** A handler whose code is loaded by the first request for it. */
function onFirstUse(load: () => Promise<Handler>): Handler {
  let loading: Promise<Handler> | undefined;
  return async (request, info) => {
    loading ??= load();
    return (await loading)(request, info);
  };
}

async function addressesOf(host: string): Promise<readonly string[]> {
  const found = await systemLookup(host, { all: true });
  return found.map(({ address }) => address);
}

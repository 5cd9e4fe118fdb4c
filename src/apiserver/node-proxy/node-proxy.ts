/**
 * The API server's way into the cluster: to kubelets (`pods/log`, `exec`, `attach`, `portforward`, `nodes/proxy`) and to what Pods and
 * Services serve (`proxy`). Every connection begins in one `Dial`, so that a tunnel can take its place.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import type { Clock } from '../../base/clock.ts';
import { onFirstCall } from '../../base/lazy-module.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { Dial } from '../../serving/dial.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Handler } from '../request.ts';
import type { ConnectKind } from './connect-admission.ts';
import type { NodeProxyContext } from './context.ts';
import type { KubeletClientOptions } from './kubelet-connections.ts';

export interface NodeProxyOptions {
  /** Passes every check: the loopback client. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly kubelet?: KubeletClientOptions | undefined;
  /** WebSockets begin with GET and still need the right to create; absent: the request's own right is enough. */
  readonly authorizer?: (() => Authorizer) | undefined;
  /** What plugins say of each connection; absent: nothing. */
  readonly admission?: (() => AdmissionChain) | undefined;
  /** Default: TCP, 30 seconds. */
  readonly dial?: Dial | undefined;
  /** Default: the system's resolver. */
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined;
}

/** By `group/version/resource/subresource`, as the server's `handlers`. */
export function nodeProxyHandlers(options: NodeProxyOptions): ReadonlyMap<string, Handler> {
  let shared: Promise<NodeProxyContext> | undefined;
  const context = () => {
    shared ??= contextOf(options);
    return shared;
  };
  const streams = () => import('./pod-streams.ts');
  const connection = (kind: ConnectKind, load: () => Promise<Handler>): Handler =>
    onFirstCall(async () => {
      const { admission } = options;
      if (!admission) return load();
      const [{ admittedConnection }, connect] = await Promise.all([import('./connect-admission.ts'), load()]);
      return admittedConnection(kind, admission, connect);
    });
  const command = async (kind: 'exec' | 'attach') => (await streams()).podCommandHandler(await context(), kind);
  const forwarding = async () => (await streams()).podPortForwardHandler(await context());
  const proxy = async (kind: 'nodeLocation' | 'podLocation' | 'serviceLocation') => {
    const [{ proxyHandler }, locations] = await Promise.all([
      import('./proxy-handler.ts'),
      import('./proxy-location.ts'),
    ]);
    return proxyHandler(await context(), locations[kind]);
  };
  return new Map([
    ['/v1/pods/log', onFirstCall(async () => (await import('./pod-log.ts')).podLogHandler(await context()))],
    ['/v1/pods/exec', connection('PodExecOptions', () => command('exec'))],
    ['/v1/pods/attach', connection('PodAttachOptions', () => command('attach'))],
    ['/v1/pods/portforward', connection('PodPortForwardOptions', forwarding)],
    ['/v1/pods/proxy', connection('PodProxyOptions', () => proxy('podLocation'))],
    ['/v1/services/proxy', connection('ServiceProxyOptions', () => proxy('serviceLocation'))],
    ['/v1/nodes/proxy', connection('NodeProxyOptions', () => proxy('nodeLocation'))],
  ]);
}

async function contextOf(options: NodeProxyOptions): Promise<NodeProxyContext> {
  const { client, clock, random, log, authorizer, lookup = addressesOf } = options;
  const [{ KubeletConnections }, { tcpDial }] = await Promise.all([
    import('./kubelet-connections.ts'),
    import('../../serving/dial.ts'),
  ]);
  const { dial = tcpDial({ clock }) } = options;
  const kubelets = new KubeletConnections(client, options.kubelet);
  return { client, kubelets, authorizer, random, log, lookup, connect: (address) => (signal) => dial(address, signal) };
}

async function addressesOf(host: string): Promise<readonly string[]> {
  const found = await systemLookup(host, { all: true });
  return found.map(({ address }) => address);
}

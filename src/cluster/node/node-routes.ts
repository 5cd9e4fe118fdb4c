/**
 * The way from this node's Pods to those of the others: a route per range of another node, over that node's address. Routes of ours bear a
 * protocol number of their own, so that nobody else's are touched. Nodes must share a link: a route over another router is the network's to
 * know.
 */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { isIp } from '../../apimachinery/addresses.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { lookMs } from './pod-network-rules.ts';

/** Marks routes as ours: in `/etc/iproute2/rt_protos` nothing of this number is known. */
export const routeProtocol = '167';

/** By range: the address it is reached over. */
export type Routes = ReadonlyMap<string, string>;

export interface RouteKernel {
  /** What stands of ours. */
  read(): Promise<Routes>;
  replace(range: string, via: string): Promise<void>;
  remove(range: string): Promise<void>;
}

/** Rejects when a route cannot be set, to be run again. */
export async function runNodeRoutes(nodeName: string, kernel: RouteKernel, context: ComponentContext): Promise<void> {
  const { informers, clock, log, signal } = context;
  const all = informers.of(nodes);
  let changed = Promise.withResolvers<void>();
  const note = () => changed.resolve();
  all.onChange({ added: note, updated: note, deleted: note });
  signal.addEventListener('abort', note, { once: true });
  await all.whenSynced(signal);
  while (!signal.aborted) {
    changed = Promise.withResolvers();
    const wanted = routesTo(all.list(), nodeName);
    // The kernel drops routes with the link they lead over and tells nobody.
    const standing = await kernel.read();
    for (const range of standing.keys()) if (!wanted.has(range)) await kernel.remove(range);
    for (const [range, via] of wanted) {
      if (standing.get(range) === via) continue;
      try {
        await kernel.replace(range, via);
        log.info('Pods of another node are reached', { range, via });
      } catch (error) {
        throw new Error(`no route to ${range} over ${via}: ${messageOf(error)}`);
      }
    }
    const timer = clock.after(lookMs, note);
    await changed.promise;
    timer.cancel();
  }
}

/** To the ranges of all nodes but this one, over an address of the same family. */
export function routesTo(items: readonly Node[], nodeName: string): Routes {
  const routes = new Map<string, string>();
  for (const { metadata, spec, status } of items) {
    if (metadata.name === nodeName) continue;
    const addresses = (status?.addresses ?? []).filter(({ type }) => type === 'InternalIP');
    for (const range of spec?.podCIDRs ?? []) {
      const via = addresses.find(({ address }) => isIp(address, range.includes(':') ? 6 : 4));
      if (via) routes.set(range, via.address);
    }
  }
  return routes;
}

const execute = promisify(execFile);

/** By `ip route`, in the network namespace that the process runs in. */
export function routeKernel(ip: string): RouteKernel {
  const run = async (...words: string[]) => (await execute(ip, words)).stdout;
  const family = (range: string) => (range.includes(':') ? '-6' : '-4');
  return {
    async read() {
      const lines = await Promise.all(['-4', '-6'].map((each) => run(each, 'route', 'show', 'proto', routeProtocol)));
      return new Map(
        [...lines.join('\n').matchAll(/^(\S+) via (\S+)/gm)].map(([, range = '', via = '']) => [range, via]),
      );
    },
    replace: async (range, via) =>
      void (await run(family(range), 'route', 'replace', range, 'via', via, 'proto', routeProtocol)),
    remove: async (range) => void (await run(family(range), 'route', 'del', range, 'proto', routeProtocol)),
  };
}

/** Takes all of ours away. */
export function removeRoutes(ip: string): void {
  for (const family of ['-4', '-6'])
    spawnSync(ip, [family, 'route', 'flush', 'proto', routeProtocol], { stdio: 'ignore' });
}

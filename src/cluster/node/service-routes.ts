/**
 * Keeps Services within reach of the machine itself where no route leads to their addresses, as on a laptop without a network: the kernel
 * looks for a route before the proxy may turn a packet to a Pod, so without one the API server could not call a webhook. Such a range is
 * led to the loopback device, from where the proxy's rules take it. Where any route leads there, the default one too, nothing is touched.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isIp } from '../../apimachinery/addresses.ts';
import { sleeper } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { routeProtocol } from './node-routes.ts';
import { lookMs } from './pod-network-rules.ts';

export interface ServiceRouteKernel {
  /** Whether packets of this machine would go anywhere. */
  isRouted(range: string): Promise<boolean>;
  /** `source`: whose address such packets bear; undefined: the kernel's choice. */
  keepHere(range: string, source: string | undefined): Promise<void>;
}

export interface ServiceRoutesOptions {
  readonly ranges: readonly string[];
  readonly nodeIps: readonly string[];
  readonly kernel: ServiceRouteKernel;
}

export async function runServiceRoutes(
  { ranges, nodeIps, kernel }: ServiceRoutesOptions,
  { clock, log, signal }: Pick<ComponentContext, 'clock' | 'log' | 'signal'>,
): Promise<void> {
  const sleep = sleeper(clock, signal);
  while (!signal.aborted) {
    for (const range of ranges) {
      if (await kernel.isRouted(range)) continue;
      const source = nodeIps.find((ip) => isIp(ip, range.includes(':') ? 6 : 4));
      await kernel.keepHere(range, source);
      log.info('no route led to the addresses of Services; they are now reached from this machine', { range });
    }
    await sleep(lookMs);
  }
}

const execute = promisify(execFile);

/** By `ip route`, in the network namespace that the process runs in. */
export function serviceRouteKernel(ip: string): ServiceRouteKernel {
  const run = (range: string, ...words: string[]) =>
    execute(ip, [range.includes(':') ? '-6' : '-4', 'route', ...words]);
  return {
    isRouted: (range) =>
      run(range, 'get', range.replace(/\/.*/, '')).then(
        () => true,
        () => false,
      ),
    async keepHere(range, source) {
      const from = source === undefined ? [] : ['src', source];
      await run(range, 'replace', range, 'dev', 'lo', ...from, 'proto', routeProtocol);
    },
  };
}

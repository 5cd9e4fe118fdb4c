/**
 * Keeps what servers have agreed upon about node ports in step with what Services have: ports that a Service has and nobody has taken are
 * taken; ports taken that no Service has, because a server died between its two writes, are given back. Since a Service may still be on
 * its way, a port counts as left behind only when it was seen so several times.
 */
import { type RangeAllocation, type Service, services } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { KeptRecords } from '../kept-records.ts';
import type { PortRange } from './node-ports.ts';
import { rangeText, replacePorts } from './shared-ports.ts';

const everyMs = 3 * 60_000;
/** How often a port must have been seen without a Service before it is given back. */
const looksBeforeCleanup = 3;

export interface PortRepairOptions {
  readonly range: PortRange;
  readonly records: KeptRecords<RangeAllocation>;
}

/** Runs until the context's signal is aborted. */
export async function runPortRepair(context: ComponentContext, options: PortRepairOptions): Promise<void> {
  const { clock, log, signal } = context;
  const repair = new PortRepair(context, options);
  while (!signal.aborted) {
    await repair.look().catch((error: unknown) => {
      if (!signal.aborted) log.error('node ports are not repaired this time', { error: messageOf(error) });
    });
    await sleep(clock, everyMs, signal).catch(() => {});
  }
}

export class PortRepair {
  readonly #context: ComponentContext;
  readonly #options: PortRepairOptions;
  readonly #events: EventRecorder;
  /** Looks until a port without a Service is given back. */
  readonly #leaks = new Map<number, number>();

  constructor(context: ComponentContext, options: PortRepairOptions) {
    this.#context = context;
    this.#options = options;
    this.#events = context.eventRecorder('portallocator-repair-controller');
  }

  async look(): Promise<void> {
    // Whoever was quicker has changed what we compare with.
    while (!(await replacePorts(this.#options, (taken) => this.#repaired(taken))));
  }

  async #repaired(taken: ReadonlySet<number>): Promise<ReadonlySet<number>> {
    const { items } = await this.#context.client.list(services);
    const rebuilt = new Set<number>();
    for (const service of items) for (const port of claimsOf(service)) this.#claim(service, port, { taken, rebuilt });
    for (const port of taken) {
      if (rebuilt.has(port)) this.#leaks.delete(port);
      else if (this.#isStillKept(port)) rebuilt.add(port);
    }
    return rebuilt;
  }

  #claim(
    service: Service,
    port: number,
    { taken, rebuilt }: { readonly taken: ReadonlySet<number>; readonly rebuilt: Set<number> },
  ): void {
    const { range } = this.#options;
    const warn = (reason: string, message: string) => this.#events.record(service, 'Warning', reason, message);
    if (port < range.first || port > range.last)
      warn('PortOutOfRange', `Port ${port} is not within the port range ${rangeText(range)}; please recreate service`);
    else if (rebuilt.has(port))
      warn('PortAlreadyAllocated', `Port ${port} was assigned to multiple services; please recreate service`);
    else {
      if (!taken.has(port)) warn('PortNotAllocated', `Port ${port} is not allocated; repairing`);
      rebuilt.add(port);
    }
  }

  #isStillKept(port: number): boolean {
    const looks = this.#leaks.get(port) ?? looksBeforeCleanup - 1;
    if (looks > 0) this.#leaks.set(port, looks - 1);
    else this.#leaks.delete(port);
    return looks > 0;
  }
}

/** A port twice where two ports of the Service have it over the same protocol, which is a mistake. */
function claimsOf(service: Service): number[] {
  const { ports = [], healthCheckNodePort } = service.spec;
  const pairs = ports
    .filter(({ nodePort }) => nodePort)
    .map(({ nodePort, protocol = 'TCP' }) => ({ nodePort, protocol }));
  if (healthCheckNodePort) pairs.push({ nodePort: healthCheckNodePort, protocol: 'TCP' });
  const seen = new Map<number, Set<string>>();
  return pairs.flatMap(({ nodePort = 0, protocol }) => {
    const protocols = seen.get(nodePort) ?? new Set();
    const counts = protocols.size === 0 || protocols.has(protocol);
    seen.set(nodePort, protocols.add(protocol));
    return counts ? [nodePort] : [];
  });
}

/**
 * The service proxy of a node: follows Services and EndpointSlices and keeps the kernel's tables at what they say. Changes are
 * gathered for a moment and applied in one transaction; when one fails, or when somebody flushed the table, it is built anew. The kernel
 * keeps the last good state while the proxy or the API server is away.
 */
import { type Service, services } from '../api/gen/core-v1.ts';
import { endpointSlices } from '../api/gen/discovery-v1.ts';
import { sleep } from '../base/clock.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { desiredRuleset, type NftJson, type Ruleset, type RulesetOptions, tableName } from './ruleset.ts';
import { healthChecks, ServiceHealth } from './service-health.ts';
import { type IpFamily, type ServicePort, servicePorts, type ThisNode } from './service-ports.ts';
import { SyncHealth } from './sync-health.ts';
import { transactionTo } from './transaction.ts';

/** The kernel, as far as the proxy needs it. */
export interface Kernel {
  /** Applies the commands in one transaction, or throws and changes nothing. */
  apply(commands: readonly NftJson[]): Promise<void>;
  /** How many rules a chain holds; 0 when it, or its table, is not there. */
  countRules(chain: { readonly family: IpFamily; readonly table: string; readonly name: string }): Promise<number>;
  /** Forgets tracked UDP flows to an address and port, so that clients that keep sending reach a living endpoint. */
  forgetFlows(flow: {
    readonly family: IpFamily;
    readonly protocol: string;
    readonly destination?: string;
    readonly replySource?: string;
    readonly port: number;
  }): Promise<void>;
}

export interface ProxyOptions {
  readonly kernel: Kernel;
  readonly node: ThisNode;
  /** For each address family of the node. */
  readonly families: readonly RulesetOptions[];
  /** Least time between two transactions; upstream's default is 1 s, and the first change is applied after 10 ms. */
  readonly minSyncPeriodMs?: number;
  /** Looks after this long whether the kernel still holds the tables, and rebuilds what somebody flushed; upstream 30 s. */
  readonly syncPeriodMs?: number;
  /** Told after each transaction. */
  readonly onSynced?: () => void;
}

const gatherMs = 10;
const retryMs = 1000;
const usualSyncPeriodMs = 30_000;

export async function runProxy(context: ComponentContext, options: ProxyOptions): Promise<void> {
  const { clock, log, signal, informers } = context;
  const serviceInformer = informers.of(services);
  const sliceInformer = informers.of(endpointSlices);
  let changed = true;
  let wake: (() => void) | undefined;
  const syncPeriodMs = options.syncPeriodMs ?? usualSyncPeriodMs;
  const syncHealth = new SyncHealth(clock, syncPeriodMs);
  const onAny = () => {
    changed = true;
    syncHealth.queued();
    wake?.();
  };
  const handler = { added: onAny, updated: onAny, deleted: onAny };
  const registrations = [serviceInformer.onChange(handler), sliceInformer.onChange(handler)];
  await Promise.all([serviceInformer.whenSynced(signal), sliceInformer.whenSynced(signal)]);
  signal.addEventListener('abort', () => wake?.(), { once: true });

  const tables = options.families.map((family) => new FamilyTable(family, options));
  const health = healthPorts(context, options, syncHealth);
  const minSyncPeriodMs = options.minSyncPeriodMs ?? 1000;
  while (!signal.aborted) {
    let isPeriodic = false;
    if (!changed) {
      await new Promise<void>((resolve) => {
        const timer = clock.after(syncPeriodMs, () => {
          isPeriodic = true;
          resolve();
        });
        wake = () => {
          timer.cancel();
          resolve();
        };
      });
      if (signal.aborted) break;
      await sleep(clock, gatherMs, signal).catch(() => {});
    }
    changed = false;
    const startedMs = clock.monotonic();
    let isWritten = false;
    try {
      for (const table of tables) {
        if (isPeriodic && (await table.isLost()))
          log.warn('the service tables were flushed by somebody else; building them anew', { family: table.family });
        await table.sync(serviceInformer.list(), sliceInformer.list());
      }
      isWritten = true;
      syncHealth.written();
      // What came meanwhile is not in it.
      if (changed) syncHealth.queued();
    } catch (error) {
      if (signal.aborted) break;
      log.error('the service tables could not be written; trying again', { error });
      changed = true;
    }
    const objects = { services: serviceInformer.list(), slices: sliceInformer.list() };
    for (const { family, checks } of health) await checks.sync(healthChecks(objects, { node: options.node, family }));
    if (isWritten) options.onSynced?.();
    const tookMs = clock.monotonic() - startedMs;
    const restMs = isWritten ? Math.min(minSyncPeriodMs, tookMs + minSyncPeriodMs / 10) : retryMs;
    await sleep(clock, restMs, signal).catch(() => {});
  }
  for (const registration of registrations) registration.remove();
  for (const { checks } of health) checks.close();
}

/** What answers load balancers, for each address family. */
function healthPorts(
  context: ComponentContext,
  { families, node: { name: nodeName } }: ProxyOptions,
  syncHealth: SyncHealth,
): readonly { readonly family: IpFamily; readonly checks: ServiceHealth }[] {
  const { log } = context;
  const events = context.eventRecorder('kube-proxy', nodeName);
  const onFailure = (service: Service, message: string) =>
    events.record(service, 'Warning', 'FailedToStartServiceHealthcheck', message);
  const isProxyHealthy = () => syncHealth.isHealthy;
  return families.map(({ family, nodeIps: addresses }) => ({
    family,
    checks: new ServiceHealth({ nodeName, addresses, family, log, isProxyHealthy, onFailure }),
  }));
}

/** Takes the proxy's tables away again. */
export async function removeTables(kernel: Kernel, families: readonly IpFamily[]): Promise<void> {
  for (const family of families) {
    const table = { family, name: tableName };
    await kernel.apply([{ add: { table } }, { delete: { table } }]);
  }
}

class FamilyTable {
  readonly #family: RulesetOptions;
  readonly #options: ProxyOptions;
  /** What the kernel holds; undefined: unknown, so build anew. */
  #applied: Ruleset | undefined;
  #ports: readonly ServicePort[] = [];

  constructor(family: RulesetOptions, options: ProxyOptions) {
    this.#family = family;
    this.#options = options;
  }

  get family(): IpFamily {
    return this.#family.family;
  }

  /** Whether somebody took away what was applied; it is built anew by the next `sync` then. */
  async isLost(): Promise<boolean> {
    if (!this.#applied) return false;
    const place = { family: this.family, table: tableName };
    // A flushed table keeps its chains and loses all their rules; these two have some whatever the Services are.
    for (const name of ['nat-prerouting', 'services']) {
      if ((await this.#options.kernel.countRules({ ...place, name })) > 0) continue;
      this.#applied = undefined;
      return true;
    }
    return false;
  }

  async sync(
    allServices: Parameters<typeof servicePorts>[0],
    slices: Parameters<typeof servicePorts>[1],
  ): Promise<void> {
    const ports = servicePorts(allServices, slices, this.#options.node, this.#family.family);
    const desired = desiredRuleset(ports, this.#family);
    const commands = transactionTo(desired, this.#applied, this.#family);
    if (commands.length > 0) {
      try {
        await this.#options.kernel.apply(commands);
      } catch (error) {
        this.#applied = undefined;
        throw error;
      }
    }
    this.#applied = desired;
    await this.#forgetStaleFlows(ports);
    this.#ports = ports;
  }

  /** UDP has no end of a connection: flows to endpoints that are gone, or to a Service that just got its first, are forgotten. */
  async #forgetStaleFlows(ports: readonly ServicePort[]): Promise<void> {
    const { kernel } = this.#options;
    const { family } = this.#family;
    const now = new Map(ports.map((port) => [port.id, port]));
    for (const before of this.#ports) {
      if (before.protocol !== 'udp') continue;
      const after = now.get(before.id);
      const alive = new Set((after?.clusterEndpoints ?? []).map(({ ip, port }) => `${ip} ${port}`));
      for (const { ip, port } of before.clusterEndpoints)
        if (!alive.has(`${ip} ${port}`)) await kernel.forgetFlows({ family, protocol: 'udp', replySource: ip, port });
      if (after && before.clusterEndpoints.length === 0 && after.clusterEndpoints.length > 0)
        for (const ip of after.clusterIps)
          await kernel.forgetFlows({ family, protocol: 'udp', destination: ip, port: after.port });
    }
  }
}

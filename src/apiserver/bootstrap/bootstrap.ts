/**
 * What a cluster has before anybody made anything. `ready` is what others need to work at all: the namespaces, everybody's rights, the
 * priority classes. `settled` is the rest. Both are brought about at each start, by adding what is missing, and what must not go away
 * is looked after from then on.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { flowControlObjects, rbacObjects, systemObjects } from './bootstrap-data.ts';
import { repeat, untilDone } from './ensure.ts';
import { ensureFlowControl } from './flow-control.ts';
import { identityLease, identityLeaseCollectMs, identityLeaseRenewMs } from './identity-lease.ts';
import {
  ensureKubernetesService,
  type KubernetesServiceOptions,
  leaveKubernetesService,
} from './kubernetes-service.ts';
import { ensureRbac, type FeatureGates } from './rbac.ts';
import {
  type ClientTrust,
  ensureClientTrust,
  ensureLegacyTokenTracking,
  ensureNamespaces,
  ensurePriorityClasses,
  ensureServiceCidr,
} from './system-objects.ts';

export interface BootstrapOptions {
  /** Of the loopback user. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Ends the work that goes on after `settled`. */
  readonly signal: AbortSignal;
  readonly service: KubernetesServiceOptions;
  readonly serviceCidrs: readonly string[];
  /** Those that were given; some bring roles with them. */
  readonly featureGates?: FeatureGates | undefined;
  /** Asked when it is written: an authority may be made for it. */
  readonly trust?: (() => ClientTrust) | undefined;
  /** How long what is not needed for `ready` waits after it, so that clients who waited are served first. Default: not at all. */
  readonly settleAfterMs?: number | undefined;
  /** For the identity Lease; absent: no such Lease (feature gate `APIServerIdentity` off). */
  readonly hostname?: string | undefined;
}

export interface Bootstrap {
  /** Rejects when the roles could not be written for 30 s; upstream's server then exits. */
  readonly ready: Promise<void>;
  /** Never rejects: failures are told in the log and tried again. */
  readonly settled: Promise<void>;
  /** Tells other servers and clients that this one goes. */
  leave(): Promise<void>;
}

const readyTimeoutMs = 30_000;
const namespacesEveryMs = 60_000;
const serviceEveryMs = 10_000;
const flowControlEveryMs = 60_000;

export function startBootstrap(options: BootstrapOptions): Bootstrap {
  const ready = prepare(options);
  const settled = ready
    .then(() => (options.settleAfterMs ? sleep(options.clock, options.settleAfterMs, options.signal) : undefined))
    .then(
      () => settle(options),
      () => undefined,
    );
  return { ready, settled, leave: () => leaveKubernetesService(options.client, options.service) };
}

async function prepare({ client, clock, signal, log, featureGates }: BootstrapOptions): Promise<void> {
  const { namespaces, priorityClasses } = systemObjects();
  const rbac = rbacObjects();
  const patience = { clock, signal, forMs: readyTimeoutMs };
  const telling = (what: string) => ({
    ...patience,
    onFailure: (error: unknown) => log.warn(`unable to initialize ${what}`, { error: String(error) }),
  });
  // Roles live in namespaces, so those come first.
  await untilDone(() => ensureNamespaces(client, namespaces), telling('namespaces'));
  await Promise.all([
    untilDone(() => ensureRbac(client, rbac, featureGates), telling('RBAC roles')),
    untilDone(() => ensurePriorityClasses(client, priorityClasses), telling('priority classes')),
  ]);
}

async function settle(options: BootstrapOptions): Promise<void> {
  const { client, clock, signal, log, serviceCidrs, trust } = options;
  const failing = (what: string) => (error: unknown) =>
    log.warn(`unable to reconcile ${what}`, { error: String(error) });
  const once = (what: string, step: () => Promise<void>) =>
    untilDone(step, { clock, signal, onFailure: failing(what) }).catch(() => undefined);
  const always = async (what: string, everyMs: number, step: () => Promise<void>) => {
    await once(what, step);
    void repeat(step, { clock, signal, everyMs, onFailure: failing(what) });
  };
  const { namespaces } = systemObjects();
  const lease = options.hostname === undefined ? undefined : identityLease({ ...options, hostname: options.hostname });
  void repeat(() => ensureNamespaces(client, namespaces), {
    clock,
    signal,
    everyMs: namespacesEveryMs,
    onFailure: failing('namespaces'),
  });
  if (lease) {
    const collecting = {
      clock,
      signal,
      everyMs: identityLeaseCollectMs,
      onFailure: failing('expired identity leases'),
    };
    void repeat(() => lease.collectExpired(), collecting);
  }
  // The Service's address comes from the range.
  const addresses = async () => {
    await always('service cidr', serviceEveryMs, () =>
      ensureServiceCidr(client, { cidrs: serviceCidrs, nowMs: clock.now() }),
    );
    await always('kubernetes service', serviceEveryMs, () => ensureKubernetesService(client, options.service));
  };
  await Promise.all([
    addresses(),
    always('flow control', flowControlEveryMs, () => ensureFlowControl(client, flowControlObjects())),
    once('legacy token tracking', () => ensureLegacyTokenTracking(client, clock.now())),
    ...(trust ? [once('client trust', () => ensureClientTrust(client, trust()))] : []),
    ...(lease ? [always('identity lease', identityLeaseRenewMs, () => lease.renew())] : []),
  ]);
}

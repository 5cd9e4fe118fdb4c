/**
 * What Pods of this node get by their ResourceClaims. Before a Pod's sandbox is made, the drivers make ready what was allocated to its claims,
 * once for all Pods that share one; its containers get the devices by names of the Container Device Interface; when nothing of the last
 * Pod runs any more, and before anybody is told so, the drivers take it back. Each claim has one thing done to it at a time.
 */
import type { Container, Pod, ResourceStatus } from '../../api/gen/core-v1.ts';
import { type ResourceClaim, resourceClaims } from '../../api/gen/resource-v1.ts';
import { checkOwner, claimNameOf, isReservedFor } from '../../api/resource/pod-claims.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { StateFiles } from '../host/host.ts';
import type { PluginHandler } from '../plugins/plugin-handler.ts';
import { HealthOfDevices } from './device-health.ts';
import type { DraDriver } from './dra-driver.ts';
import { DraDrivers } from './dra-drivers.ts';
import { DraMetrics } from './dra-metrics.ts';
import type { DeviceHealth } from './gen/dra-health-v1alpha1.ts';
import type { PreparedClaim, PreparedClaims } from './prepared-claims.ts';

export interface DynamicResourcesOptions
  extends Pick<ComponentContext, 'client' | 'clock' | 'random' | 'log' | 'signal'> {
  readonly nodeName: string;
  readonly configuration: KubeletConfiguration;
  readonly state: StateFiles;
  /** As an earlier kubelet left them. */
  readonly claims: PreparedClaims;
  /** Whether the cluster has the Node. */
  isRegistered(): boolean;
  /** Undefined as long as not all Pods are known: then nobody may be gone. */
  holds(podUid: string): boolean | undefined;
  /** These Pods may go on, or have something new to tell; all, where none are named. */
  onChange(podUids?: ReadonlySet<string>): void;
}

/** What happened to claims whose Pods are gone unnoticed is looked for. */
const cleanUpMs = 60_000;

export class DynamicResources {
  readonly #options: DynamicResourcesOptions;
  readonly #claims: PreparedClaims;
  readonly #drivers: DraDrivers;
  readonly #health: HealthOfDevices;
  readonly #metrics = new DraMetrics();
  /** What is under way, by claim. */
  readonly #work = new Map<string, Promise<unknown>>();

  constructor(options: DynamicResourcesOptions) {
    this.#options = options;
    this.#claims = options.claims;
    this.#health = new HealthOfDevices(options);
    const showsHealth = isGateOn(options.configuration.featureGates, 'ResourceHealthStatus');
    this.#drivers = new DraDrivers({
      ...options,
      metrics: this.#metrics,
      onHealth: showsHealth ? (driver, devices) => this.#healthTold(driver, devices) : undefined,
      onRegistered: () => options.onChange(),
    });
  }

  /** What registers drivers. */
  get plugins(): PluginHandler {
    return this.#drivers;
  }

  /** Until the signal is aborted. */
  async run(): Promise<void> {
    const { clock, holds, log, signal } = this.#options;
    await this.#health.restore();
    void this.#drivers.wipe();
    while (!signal.aborted) {
      const used = new Set(this.#claims.all().flatMap(({ podUids }) => [...podUids]));
      for (const uid of used) {
        if (holds(uid) !== false) continue;
        await this.#giveBack(uid).catch((error) =>
          log.info('Unpreparing pod resources in reconcile loop failed, will retry', { uid, error: messageOf(error) }),
        );
      }
      await sleep(clock, cleanUpMs, signal).catch(() => undefined);
    }
  }

  /** Rejects when a claim may not be used, or a driver cannot make it ready. */
  async prepare(pod: Pod): Promise<void> {
    if ((pod.spec.resourceClaims?.length ?? 0) === 0) return;
    await this.#timed('PrepareResources', 'prepare dynamic resources', async () => {
      const claims = await this.#claimsOf(pod);
      const keys = claims.map(({ claim }) => `${claim.metadata.namespace}/${claim.metadata.name}`);
      await this.#alone(keys, () => this.#prepare(pod, claims));
    });
  }

  /** Nothing of the Pod runs any more. */
  async release(podUid: string): Promise<void> {
    if (this.#claims.usedBy(podUid).length === 0) return;
    await this.#timed('UnprepareResources', 'unprepare dynamic resources', () => this.#giveBack(podUid));
  }

  /** Names of the Container Device Interface. Throws where `prepare` has noted nothing of a claim that the container uses. */
  cdiDevices(pod: Pod, container: Container): readonly string[] {
    return this.#used(pod, container).flatMap(({ claim, name, request }) => {
      if (!claim)
        throw new Error(
          `internal error: unable to get claim info for ResourceClaim ${name} in namespace ${pod.metadata.namespace}`,
        );
      return [...claim.drivers.values()]
        .flat()
        .filter(({ requests }) => !request || requests.length === 0 || requests.includes(request))
        .flatMap(({ cdiIds }) => cdiIds);
    });
  }

  /** The claims that a container uses, as far as something is noted of them: ready, or being made so. */
  claimsOf(pod: Pod, container: Container): readonly PreparedClaim[] {
    return [...new Set(this.#used(pod, container).flatMap(({ claim }) => claim ?? []))];
  }

  /** How the devices of a container fare, for its status. */
  health(pod: Pod, container: Container): readonly ResourceStatus[] {
    const showsMessage = isGateOn(this.#options.configuration.featureGates, 'ResourceHealthStatusMessage');
    return this.#used(pod, container).flatMap(({ claim, entry, request }) => {
      const resources = new Map<
        string,
        ResourceStatus['resources'] extends readonly (infer R)[] | undefined ? R : never
      >();
      for (const [driver, devices] of claim?.drivers ?? []) {
        for (const { cdiIds, device, pool, requests } of devices) {
          const [base] = (request ?? '').split('/');
          if (base && requests.length > 0 && !requests.includes(base)) continue;
          const { health, message } = this.#health.of(driver, pool, device);
          const resourceID = cdiIds[0] ?? `${driver}/${pool}/${device}`;
          if (resources.has(resourceID)) continue;
          resources.set(resourceID, { resourceID, health, ...(showsMessage && message ? { message } : {}) });
        }
      }
      if (resources.size === 0) return [];
      return [{ name: `claim:${entry}${request ? `/${request}` : ''}`, resources: [...resources.values()] }];
    });
  }

  /** As text of a page of metrics. */
  families(): string {
    return this.#metrics.families(this.#claims.all());
  }

  /** Nothing is noted before all of them are known to be the Pod's, with drivers that are there: a Pod that fails here can just go. */
  async #claimsOf(pod: Pod): Promise<readonly ClaimWithDrivers[]> {
    const { client, signal } = this.#options;
    const { name: podName, namespace, uid } = pod.metadata;
    const found: ClaimWithDrivers[] = [];
    for (const entry of pod.spec.resourceClaims ?? []) {
      const { isOwn, name } = claimNameOf(pod, entry);
      if (name === undefined) continue;
      const claim = await client.get(resourceClaims, { namespace, name }, { signal }).catch((error) => {
        throw new Error(`fetch ResourceClaim ${name}: ${messageOf(error)}`, { cause: error });
      });
      if (isOwn) checkOwner(pod, claim);
      if (!isReservedFor(claim, pod))
        throw new Error(`pod ${podName} (${uid}) is not allowed to use ResourceClaim ${name} (${claim.metadata.uid})`);
      if (!claim.status?.allocation) throw new Error(`ResourceClaim ${name}: not allocated`);
      const names = new Set((claim.status.allocation.devices?.results ?? []).map(({ driver }) => driver));
      found.push({ claim, drivers: [...names].map((driver) => this.#drivers.get(driver)) });
    }
    return found;
  }

  async #prepare(pod: Pod, claims: readonly ClaimWithDrivers[]): Promise<void> {
    const wanted = new Map<DraDriver, PreparedClaim[]>();
    const unready: PreparedClaim[] = [];
    for (const { claim, drivers } of claims) {
      const prepared = this.#noted(claim, drivers);
      prepared.podUids.add(pod.metadata.uid ?? '');
      if (prepared.isReady) continue;
      unready.push(prepared);
      for (const driver of drivers) wanted.set(driver, [...(wanted.get(driver) ?? []), prepared]);
    }
    await this.#save('cache');
    for (const [driver, list] of wanted) await makeReady(driver, list);
    for (const prepared of unready) prepared.isReady = true;
    await this.#save('state');
  }

  #noted({ metadata }: ResourceClaim, drivers: readonly DraDriver[]): PreparedClaim {
    const { name = '', namespace = '', uid = '' } = metadata;
    const known = this.#claims.get(namespace, name);
    if (known && known.uid !== uid)
      throw new Error(
        `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
      );
    if (known) return known;
    const claim = {
      uid,
      name,
      namespace,
      podUids: new Set<string>(),
      drivers: new Map(drivers.map((driver) => [driver.name, []])),
      isReady: false,
    };
    this.#claims.add(claim);
    return claim;
  }

  async #giveBack(podUid: string): Promise<void> {
    const keys = this.#claims.usedBy(podUid).map(({ name, namespace }) => `${namespace}/${name}`);
    await this.#alone(keys, async () => {
      const last: PreparedClaim[] = [];
      for (const claim of this.#claims.usedBy(podUid)) {
        if (claim.podUids.size > 1) claim.podUids.delete(podUid);
        else last.push(claim);
      }
      const drivers = new Set(last.flatMap((claim) => [...claim.drivers.keys()]));
      for (const driver of drivers)
        await takeBack(
          this.#drivers.get(driver),
          last.filter((claim) => claim.drivers.has(driver)),
        );
      for (const claim of last) this.#claims.delete(claim);
      await this.#save('state');
    });
  }

  /** By entry of the Pod and request, as the container names them. */
  #used(pod: Pod, container: Container): readonly UsedClaim[] {
    return (container.resources?.claims ?? []).flatMap(({ name: entry, request }) => {
      const podClaim = pod.spec.resourceClaims?.find(({ name }) => name === entry);
      const name = podClaim && nameIfMade(pod, podClaim);
      return name ? [{ entry, request, name, claim: this.#claims.get(pod.metadata.namespace ?? '', name) }] : [];
    });
  }

  #healthTold(driver: string, devices: readonly DeviceHealth[] | undefined): void {
    const changed = devices ? this.#health.told(driver, devices) : this.#health.forget(driver);
    const isChanged = (pool: string, device: string) =>
      changed.some((one) => one.pool === pool && one.device === device);
    const pods = new Set<string>();
    for (const claim of this.#claims.all())
      if (claim.drivers.get(driver)?.some(({ pool, device }) => isChanged(pool, device)))
        for (const uid of claim.podUids) pods.add(uid);
    if (pods.size > 0) this.#options.onChange(pods);
  }

  async #save(what: 'cache' | 'state'): Promise<void> {
    await this.#claims.save().catch((error) => {
      const why = `could not save checkpoint dra_manager_state: ${messageOf(error)}`;
      throw new Error(`checkpoint ResourceClaim ${what}: ${why}`, { cause: error });
    });
  }

  /** Does the work when nothing else is done to any of these claims. */
  async #alone<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.map((key) => this.#work.get(key));
    const done = Promise.all(before).then(work);
    const ended = done.catch(() => undefined);
    for (const key of keys) this.#work.set(key, ended);
    try {
      return await done;
    } finally {
      for (const key of keys) if (this.#work.get(key) === ended) this.#work.delete(key);
    }
  }

  async #timed(
    operation: 'PrepareResources' | 'UnprepareResources',
    what: string,
    work: () => Promise<void>,
  ): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    let isError = true;
    try {
      await work();
      isError = false;
    } catch (error) {
      throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
    } finally {
      this.#metrics.operation(operation, isError, clock.monotonic() - startedMs);
    }
  }
}

interface ClaimWithDrivers {
  readonly claim: ResourceClaim;
  readonly drivers: readonly DraDriver[];
}

interface UsedClaim {
  /** Its name in the Pod. */
  readonly entry: string;
  readonly request: string | undefined;
  readonly name: string;
  readonly claim: PreparedClaim | undefined;
}

function nameIfMade(pod: Pod, entry: Parameters<typeof claimNameOf>[1]): string | undefined {
  try {
    return claimNameOf(pod, entry).name;
  } catch {
    return undefined;
  }
}

const requested = ({ name, namespace, uid }: PreparedClaim) => ({ name, namespace, uid });

async function makeReady(driver: DraDriver, claims: readonly PreparedClaim[]): Promise<void> {
  const method = 'NodePrepareResources';
  const { claims: answers } = await driver.call(method, { claims: claims.map(requested) }).catch(failed(method));
  for (const { key, value } of answers) {
    const claim = answered(method, claims, key, value?.error);
    const devices = (value?.devices ?? []).map((device) => ({
      pool: device.poolName,
      device: device.deviceName,
      shareId: device.shareId || undefined,
      requests: device.requestNames,
      cdiIds: device.cdiDeviceIds,
    }));
    claim.drivers.set(driver.name, devices);
  }
  checkAll(method, claims, answers);
}

async function takeBack(driver: DraDriver, claims: readonly PreparedClaim[]): Promise<void> {
  const method = 'NodeUnprepareResources';
  const { claims: answers } = await driver.call(method, { claims: claims.map(requested) }).catch(failed(method));
  for (const { key, value } of answers) answered(method, claims, key, value?.error);
  checkAll(method, claims, answers);
}

type Method = 'NodePrepareResources' | 'NodeUnprepareResources';

function failed(method: Method): (error: unknown) => never {
  return (error) => {
    throw new Error(`${method}: ${messageOf(error)}`, { cause: error });
  };
}

function answered(method: Method, claims: readonly PreparedClaim[], uid: string, error = ''): PreparedClaim {
  const claim = claims.find((one) => one.uid === uid);
  if (!claim) throw new Error(`${method} returned result for unknown claim UID ${uid}`);
  if (error !== '') throw new Error(`${method} failed for ResourceClaim ${claim.name}: ${error}`);
  return claim;
}

function checkAll(method: Method, claims: readonly PreparedClaim[], answers: readonly unknown[]): void {
  const unfinished = claims.length - answers.length;
  if (unfinished !== 0) throw new Error(`${method} skipped ${unfinished} ResourceClaims`);
}

/**
 * The API server: a function from requests to responses over a store. It owns no socket; `http/` brings it onto the network, and the
 * in-process transport lets components of the same process call it. What it does at start is little: kinds are prepared when
 * they are first asked for.
 */

import type { KubeObject } from '../apimachinery/meta.ts';
import { messageOf } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import { onFirstCall } from '../base/lazy-module.ts';
import { type Log, silentLog } from '../base/log.ts';
import { withOwnImports } from '../base/own-imports.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { createClient } from '../client/typed-client.ts';
import { prefixEnd, type Store } from '../storage/store.ts';
import { AdmissionStatistics } from './admission/admission-statistics.ts';
import { AdmissionChain } from './admission/chain.ts';
import type { Auditor } from './audit/auditor.ts';
import type { AuthenticationResult } from './authentication/authenticator.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { Compaction, type HistoryRetention } from './compaction.ts';
import type { ComponentCheck } from './component-statuses.ts';
import { ServerDocuments } from './documents.ts';
import { YamlThread } from './encoding/yaml-thread.ts';
import type { FlowControl } from './flow-control/flow-control.ts';
import { type InFlightLimits, inFlightControl } from './flow-control/in-flight.ts';
import { type HealthCheck, HealthChecks } from './health/health-checks.ts';
import { inProcessTransport } from './in-process-transport.ts';
import { loopbackUser } from './loopback-user.ts';
import { IdentityStatistics } from './metrics/identity-statistics.ts';
import type { MetricsSource } from './metrics/metrics-page.ts';
import { RequestStatistics } from './metrics/request-observer.ts';
import { createPipeline } from './pipeline.ts';
import { createDispatcher } from './registry/dispatch.ts';
import { createEnvironment, type Environment, type FurtherStore } from './registry/environment.ts';
import type { KindStorage } from './registry/kind-storage.ts';
import type { ResourceHooks } from './registry/resource-hooks.ts';
import { WatchLifetimes } from './registry/watch-lifetimes.ts';
import type { RemoteApis } from './remote-apis.ts';
import type { ApiRequest, ApiResponse, Handler, UserInfo } from './request.ts';
import { RequestTime } from './request-time.ts';
import { type ResourceConfig, ServedResources } from './resources.ts';
import { Shutdown, type ShutdownSettings } from './shutdown.ts';
import { trustStored } from './stored-encoding.ts';
import { builtinOperations, customOperations } from './subresources/operations.ts';
import { versionHandler } from './version.ts';
import { type ObjectForm, objectForm, type StoredMediaType } from './watch-cache/object-form.ts';

/** What the server keeps objects in: as they are, in memory; or as bytes. */
export type ApiStore = { readonly kind: 'objects'; readonly store: Store<KubeObject> } | BytesStore;

export interface BytesStore {
  readonly kind: 'bytes';
  readonly store: Store<Uint8Array>;
  /** Whether the value of a key should be written anew by the next update, even by one that changes nothing. */
  readonly isStale?: ((key: string) => boolean) | undefined;
  /** How new values are written; what is there is read in either form. Default: JSON. */
  readonly mediaType?: StoredMediaType | undefined;
  /**
   * Others write into it too, of other releases perhaps: nothing there is taken to be in this release's form, and they also see to
   * its compaction.
   */
  readonly shared?: boolean | undefined;
  /** What the health checks ask; default: whether the store is open. */
  readonly checks?: StoreChecks | undefined;
  /** Stores of the same kind that keep some of the built-in resources in its place. */
  readonly further?: readonly FurtherStore<Uint8Array>[] | undefined;
}

/** Reject when something is wrong. */
export interface StoreChecks {
  healthy(): Promise<void>;
  ready(): Promise<void>;
  /** Of further stores. */
  readonly further?: readonly HealthCheck[] | undefined;
}

/** Who asks and what they may: made with a client that passes every check, since both read from the cluster. */
export interface Security {
  /** Rejects with 401. */
  authenticate?(request: ApiRequest): Promise<AuthenticationResult>;
  readonly authorizer?: Authorizer | undefined;
  readonly admission?: AdmissionChain | undefined;
  /** Answer instead of the registry, by `group/version/resource[/subresource]`: reviews, token requests. */
  readonly handlers?: ReadonlyMap<string, Handler> | undefined;
}

export interface ApiServerOptions {
  readonly store: ApiStore;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly log?: Log | undefined;
  readonly resources?: ResourceConfig | undefined;
  /** Everybody may do everything when absent. */
  readonly security?: ((loopback: Client, resources: ServedResources) => Security) | undefined;
  /** By resource, as in `services`; made with the loopback client. */
  readonly hooks?: ((loopback: Client) => ReadonlyMap<string, ResourceHooks>) | undefined;
  readonly inFlight?: InFlightLimits | undefined;
  /** `--request-timeout`, of requests that do not last as long as their client wants. Default 60 s. */
  readonly requestTimeoutMs?: number | undefined;
  /** `--min-request-timeout`, of watches. Default 1800. */
  readonly minRequestTimeoutSeconds?: number | undefined;
  /** `--event-ttl`. */
  readonly eventTtlSeconds?: number | undefined;
  /** How often history is compacted; 0: never. Default 5 minutes. */
  readonly compactionIntervalMs?: number | undefined;
  /** How much of the store's history is kept beyond one such interval. */
  readonly history?: HistoryRetention | undefined;
  /** Absent: nothing is audited. Its owner's to close, after the server. */
  readonly auditor?: Auditor | undefined;
  /** What `componentstatuses` tells besides the store. */
  readonly components?: readonly ComponentCheck[] | undefined;
  /** What is counted about who asks and what they may, where others count too. */
  readonly identity?: IdentityStatistics | undefined;
  /** `host:port` as clients see it, for discovery. */
  readonly serverAddress?: string | undefined;
}

export interface ApiServer {
  readonly clock: Clock;
  readonly log: Log;
  readonly resources: ServedResources;
  /** Passes authentication and authorization; never rejects. */
  handle(request: ApiRequest): Promise<ApiResponse>;
  /** A client of this user that calls the server directly. */
  client(user: UserInfo): Client;
  /** Handlers for paths that are no resources; a prefix ends with `/` and takes everything below. */
  registerPath(path: string, handler: Handler): void;
  /** Takes over a subresource of a resource, with all its verbs. `('', 'pods', 'log')`. */
  registerSubresource(group: string, resource: string, subresource: string, handler: Handler): void;
  registerHealthCheck(check: HealthCheck): void;
  /** Text to be added to `/metrics`: whole families. */
  registerMetrics(families: () => string): void;
  /** From now on it decides who gets in; what entered before leaves as it came. */
  useFlowControl(control: FlowControl): void;
  /** From now on they answer for paths that are theirs, and what they say they serve is told beside what this server serves. */
  useRemoteApis(apis: RemoteApis): void;
  /** By name, as in `deployments.apps`; undefined for what is not stored here. */
  storageNamed(name: string): KindStorage | undefined;
  /** Resolves when requests are answered; rejects when the store cannot be read. */
  ready(): Promise<void>;
  /** Refuses what is new, lets what is under way finish, ends watches. `stopListening` is called when no new connection is welcome. */
  shutDown(settings: ShutdownSettings, stopListening: () => void): Promise<void>;
  /** Ends all watches. The store is its owner's to close. */
  close(): Promise<void>;
}

const allowAll: Authorizer = { name: 'AlwaysAllow', authorize: () => ({ decision: 'allow', reason: '' }) };
const anonymous: AuthenticationResult = {
  user: { name: 'system:anonymous', groups: ['system:unauthenticated'] },
};

export function createApiServer(options: ApiServerOptions): ApiServer {
  return new Server(options);
}

class Server implements ApiServer {
  readonly clock: Clock;
  readonly log: Log;
  readonly resources: ServedResources;
  readonly #pipeline: (request: ApiRequest) => Promise<ApiResponse>;
  readonly #environment: Environment;
  readonly #handlers: Map<string, Handler>;
  readonly #dispatch: Handler;
  readonly #statistics: Pick<MetricsSource, 'requests' | 'admission' | 'identity'>;
  readonly #paths = new Map<string, Handler>();
  readonly #index: Handler;
  readonly #health: HealthChecks;
  readonly #documents: ServerDocuments;
  readonly #compaction: Compaction;
  readonly #time: RequestTime;
  readonly #yamlThread: YamlThread;
  readonly #shutdown: Shutdown;
  readonly #watchLifetimes: WatchLifetimes;
  readonly #furtherMetrics: (() => string)[] = [];
  #flowControl: FlowControl;
  #remoteApis: RemoteApis | undefined;
  /** Of a store of bytes, from the start on. */
  #byteForm: ObjectForm<Uint8Array> | undefined;
  readonly #starting: Promise<void>;
  readonly #stopping = new AbortController();
  #trustedAfter = Number.POSITIVE_INFINITY;
  #started = false;

  constructor(options: ApiServerOptions) {
    const { store: apiStore, clock, log = silentLog, random = systemRandom, serverAddress = '' } = options;
    this.clock = clock;
    this.log = log;
    this.resources = new ServedResources(options.resources);
    const loopback = this.client(loopbackUser);
    // The security's parts may call the server through the loopback client only after this constructor has returned.
    const {
      authorizer = allowAll,
      admission = new AdmissionChain([]),
      ...security
    } = options.security?.(loopback, this.resources) ?? {};
    this.#statistics = {
      requests: new RequestStatistics(clock),
      admission: new AdmissionStatistics(),
      identity: options.identity ?? new IdentityStatistics(),
    };
    admission.meter = { clock, statistics: this.#statistics.admission };
    this.#time = new RequestTime(clock, options.requestTimeoutMs);
    this.#shutdown = new Shutdown(clock);
    this.#yamlThread = new YamlThread(clock);
    this.#watchLifetimes = new WatchLifetimes({ clock, random, minimumSeconds: options.minRequestTimeoutSeconds });
    const byteForm = () => this.#byteForm!;
    this.#environment = environmentOf(apiStore, byteForm, {
      resources: this.resources,
      clock,
      log,
      random,
      watchLifetimes: this.#watchLifetimes,
      admission: () => admission,
      authorizer: () => authorizer,
      hooks: options.hooks?.(loopback) ?? new Map(),
      trustedAfter: () => this.#trustedAfter,
      eventTtlSeconds: options.eventTtlSeconds,
      featureGates: options.resources?.featureGates,
      pagesReachBackTo: () => this.#compaction.pagesReachBackTo,
    });
    this.#flowControl = inFlightControl(options.inFlight);
    const checks = checksOf(apiStore);
    this.#handlers = new Map([...this.#ownHandlers(options, checks), ...(security.handlers ?? [])]);
    this.#dispatch = createDispatcher({
      resources: this.resources,
      environment: this.#environment,
      handlers: this.#handlers,
      operations: builtinOperations,
      customOperations,
    });
    this.#pipeline = this.#createPipeline(options, { ...security, authorizer });
    this.#documents = new ServerDocuments({
      resources: this.resources,
      clock,
      serverAddress,
      remoteApis: () => this.#remoteApis,
    });
    const intervalMs = apiStore.kind === 'bytes' && apiStore.shared ? 0 : options.compactionIntervalMs;
    this.#compaction = new Compaction({ ...options.history, store: apiStore.store, clock, log, intervalMs });
    this.#health = new HealthChecks({ ready: () => this.ready(), store: checks });
    this.#health.add({ name: 'shutdown', in: ['readyz'], check: () => this.#shutdown.check() });
    this.#index = this.#indexHandler();
    this.#paths.set('/version', versionHandler);
    for (const [path, handler] of this.#metricsPages(apiStore)) this.#paths.set(path, handler);
    const historyPage = onFirstCall(() => this.#historyHandler(apiStore));
    this.#paths.set('/coracle/v1/history', historyPage);
    this.#starting = this.#start(apiStore);
    // Whoever waits for readiness gets the error; nobody waiting is no reason to end the process.
    this.#starting.catch(() => {});
  }

  async #historyHandler(apiStore: ApiStore): Promise<Handler> {
    const { historyHandler } = await import('./history-page.ts');
    const isOne = apiStore.kind === 'objects' || !apiStore.further?.length;
    const leases = () => (isOne ? this.#environment.storageNamed('leases.coordination.k8s.io') : undefined);
    return historyHandler({ store: apiStore.store, clock: this.clock, leases });
  }

  /** Of resources that are stored nowhere. */
  #ownHandlers(options: ApiServerOptions, store: StoreChecks): [path: string, Handler][] {
    const bindings = onFirstCall(async () => {
      const { legacyBindingHandler } = await import('./subresources/legacy-binding.ts');
      return legacyBindingHandler((request, info) => this.#dispatch(request, info));
    });
    const componentStatuses = onFirstCall(async () => {
      const { componentStatusesHandler, failingCheck } = await import('./component-statuses.ts');
      const checks = [...(options.components ?? []), failingCheck('etcd-0', () => store.healthy())];
      return componentStatusesHandler({ checks, clock: this.clock });
    });
    return [
      ['/v1/bindings', bindings],
      ['/v1/componentstatuses', componentStatuses],
    ];
  }

  #createPipeline(options: ApiServerOptions, security: Security & { readonly authorizer: Authorizer }) {
    const { clock, log, resources } = this;
    const { identity, requests } = this.#statistics;
    const authorizer = () => security.authorizer;
    return createPipeline({
      log,
      resources,
      flowControl: () => this.#flowControl,
      observer: requests,
      time: this.#time,
      shutdown: this.#shutdown,
      yamlThread: this.#yamlThread,
      authenticate: (request) => security.authenticate?.(request) ?? Promise.resolve(anonymous),
      authorizer,
      impersonate: onFirstCall(async () => {
        const { Impersonation } = await import('./authentication/impersonation.ts');
        const constrained = options.resources?.featureGates?.ConstrainedImpersonation ?? true;
        const impersonation = new Impersonation({
          authorizer,
          clock,
          statistics: identity.impersonation,
          constrained,
        });
        return (request, info, user) => impersonation.of(request, info, user);
      }),
      identity,
      auditor: options.auditor,
      clock,
      random: this.#environment.random,
      remoteHandler: (path) => this.#remoteApis?.handler(path),
      resourceHandler: async (request, info) => {
        if (!this.#started) await this.#starting;
        return this.#dispatch(request, info);
      },
      pathHandler: (path) => this.#pathHandler(path),
    });
  }

  #indexHandler(): Handler {
    return onFirstCall(async () => {
      const { pathIndexHandler } = await import('./path-index.ts');
      const registered = () => this.#paths.keys();
      return pathIndexHandler({ resources: this.resources, registered, healthChecks: () => this.#health.paths() });
    });
  }

  #metricsPages({ store }: ApiStore): [path: string, Handler][] {
    const metrics: MetricsSource = {
      ...this.#statistics,
      health: this.#health.statistics,
      resources: this.resources,
      flowControl: () => this.#flowControl,
      storages: () => this.#environment.storages(),
      // A store that does not answer must not keep all the other figures back.
      storeBytes: () => store.size().catch(() => -1),
      further: () => this.#furtherMetrics.map((families) => families()),
      signal: this.#stopping.signal,
    };
    const pages = () => import('./metrics/metrics-page.ts');
    return [
      ['/metrics', onFirstCall(async () => (await pages()).metricsHandler(metrics))],
      ['/metrics/slis', onFirstCall(async () => (await pages()).healthMetricsHandler(metrics))],
    ];
  }

  handle(request: ApiRequest): Promise<ApiResponse> {
    return this.#pipeline(request);
  }

  client(user: UserInfo): Client {
    // A turn later, since the security's parts may ask for the loopback client's first list while the constructor still runs.
    const handle = async (request: ApiRequest) => {
      await undefined;
      return this.#pipeline(request);
    };
    return createClient(inProcessTransport({ handle, clock: this.clock, user }));
  }

  registerPath(path: string, handler: Handler): void {
    this.#paths.set(path, handler);
  }

  registerSubresource(group: string, resource: string, subresource: string, handler: Handler): void {
    for (const { row } of this.resources.all()) {
      if (row.group !== group || row.resource !== resource) continue;
      this.#handlers.set(`${group}/${row.version}/${resource}/${subresource}`, handler);
    }
  }

  registerHealthCheck(check: HealthCheck): void {
    this.#health.add(check);
  }

  registerMetrics(families: () => string): void {
    this.#furtherMetrics.push(families);
  }

  useFlowControl(control: FlowControl): void {
    this.#flowControl = control;
  }

  useRemoteApis(apis: RemoteApis): void {
    this.#remoteApis = apis;
  }

  storageNamed(name: string): KindStorage | undefined {
    return this.#environment.storageNamed(name);
  }

  ready(): Promise<void> {
    return this.#starting;
  }

  shutDown(settings: ShutdownSettings, stopListening: () => void): Promise<void> {
    return this.#shutdown.run(settings, { stopListening, watches: this.#watchLifetimes });
  }

  async close(): Promise<void> {
    this.#stopping.abort(new Error('the API server is stopping'));
    this.#compaction.close();
    this.#time.close();
    this.#yamlThread.close();
    this.#environment.close();
  }

  async #start(apiStore: ApiStore): Promise<void> {
    if (apiStore.kind === 'objects') this.#trustedAfter = 0;
    else {
      const { formOf } = await withOwnImports(() => import('./watch-cache/byte-forms.ts'));
      this.#byteForm = formOf(apiStore.mediaType);
      if (!apiStore.shared) this.#trustedAfter = await trustStored(apiStore.store);
    }
    this.#started = true;
    const isDefined = new Promise<void>((resolve) => this.#environment.onFirst(definitionsPrefix, resolve));
    const { entries } = await apiStore.store.range({
      start: definitionsPrefix,
      end: prefixEnd(definitionsPrefix),
      limit: 1,
    });
    if (entries.length > 0) await this.#serveCustomResources();
    else isDefined.then(() => this.#serveCustomResources()).catch((error: unknown) => this.#failCustom(error));
  }

  /** From the first definition on; clusters without any do not even load the code. */
  async #serveCustomResources(): Promise<void> {
    const { clock, log, resources } = this;
    const { startCustomResources } = await withOwnImports(() => import('./custom-resources/custom-resources.ts'));
    const client = this.client(loopbackUser);
    const { signal } = this.#stopping;
    const environment = this.#environment;
    const { random } = environment;
    await startCustomResources({ resources, environment, client, clock, random, log, signal });
  }

  #failCustom(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.log.error('custom resources cannot be served', { error: messageOf(error) });
  }

  #pathHandler(path: string): Handler | undefined {
    if (path === '/' || path === '/index.html') return this.#index;
    const trimmed = path.endsWith('/') && freelyEnded.test(path) ? path.slice(0, -1) : path;
    const exact = this.#paths.get(trimmed) ?? this.#health.handler(trimmed) ?? this.#documents.handler(trimmed);
    if (exact) return exact;
    let longest = '';
    for (const prefix of this.#paths.keys()) {
      if (prefix.endsWith('/') && path.startsWith(prefix) && prefix.length > longest.length) longest = prefix;
    }
    return this.#paths.get(longest);
  }
}

/** Paths that are found with a slash at their end too. */
const freelyEnded = /^\/(?:apis?|version|openid|\.well-known)\//;

function checksOf(apiStore: ApiStore): StoreChecks {
  const open = async () => void (await apiStore.store.size());
  return (apiStore.kind === 'bytes' && apiStore.checks) || { healthy: open, ready: open };
}

const definitionsPrefix = '/registry/apiextensions.k8s.io/customresourcedefinitions/';

type EnvironmentSettings = Omit<Parameters<typeof createEnvironment>[0], 'store' | 'form' | 'isStale' | 'further'>;

function environmentOf(
  apiStore: ApiStore,
  byteForm: () => ObjectForm<Uint8Array>,
  settings: EnvironmentSettings,
): Environment {
  if (apiStore.kind === 'objects')
    return createEnvironment({ ...settings, store: apiStore.store, form: () => objectForm });
  const { store, isStale, further } = apiStore;
  return createEnvironment({ ...settings, store, form: byteForm, isStale, further });
}

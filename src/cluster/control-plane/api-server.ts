/**
 * Puts an API server together: authentication, authorization and admission over one loopback client, what exists from the start, the
 * way to kubelets, and the sockets. Embedded, in one process with its controllers, or alone: only the options differ.
 */

import { formatIp, parseCidr } from '../../apimachinery/addresses.ts';
import { createAdmission } from '../../apiserver/admission/admission-plugins.ts';
import type { DefaultTolerationOptions } from '../../apiserver/admission/plugins/default-tolerations.ts';
import type { AggregationOptions } from '../../apiserver/aggregation/aggregation-options.ts';
import type { Auditor } from '../../apiserver/audit/auditor.ts';
import { type AuthenticationOptions, createAuthentication } from '../../apiserver/authentication/authentication.ts';
import { type ChainedAuthorizer, chainOf, createAuthorization } from '../../apiserver/authorization/authorization.ts';
import { type Bootstrap, startBootstrap } from '../../apiserver/bootstrap/bootstrap.ts';
import type { ClientTrust } from '../../apiserver/bootstrap/system-objects.ts';
import type { HistoryRetention } from '../../apiserver/compaction.ts';
import type { ComponentCheck } from '../../apiserver/component-statuses.ts';
import { defaultInFlightLimits, type InFlightLimits } from '../../apiserver/flow-control/in-flight.ts';
import {
  type ApiServer,
  type ApiStore,
  createApiServer,
  type HttpServerOptions,
  type ListeningServer,
  loopbackUser,
  startHttpServer,
} from '../../apiserver/index.ts';
import { IdentityStatistics } from '../../apiserver/metrics/identity-statistics.ts';
import type { KubeletClientOptions } from '../../apiserver/node-proxy/kubelet-connections.ts';
import { nodeProxyHandlers } from '../../apiserver/node-proxy/node-proxy.ts';
import { reviewHandlers } from '../../apiserver/reviews/reviews.ts';
import type { TokenLimits } from '../../apiserver/reviews/token-request.ts';
import type { PortRange } from '../../apiserver/services/node-ports.ts';
import type { ServiceAllocator, ServiceAllocatorOptions } from '../../apiserver/services/service-allocator.ts';
import { serviceHooks } from '../../apiserver/services/service-hooks.ts';
import type { ShutdownSettings } from '../../apiserver/shutdown.ts';
import { type Clock, withTimeout } from '../../base/clock.ts';
import { hostPort } from '../../base/host-port.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { CertifiedKey } from '../../pki/authority.ts';
import type { TokenSigner } from '../../pki/token-signer.ts';
import { componentContext } from '../../reconcile/component.ts';
import { informerSet } from '../../reconcile/informer-set.ts';
import type { SharedRecords } from './shared-records.ts';

export interface ApiServerTrust {
  /** PEM of the authority that client certificates come from. */
  readonly clientCaPem: string;
  readonly serving: CertifiedKey;
  readonly tokens: TokenSigner;
  /** `--service-account-issuer`: the first one signs, all are accepted. */
  readonly issuers: readonly [string, ...string[]];
  /** `--api-audiences`; default: the issuers. */
  readonly apiAudiences?: readonly string[] | undefined;
  /** `--service-account-jwks-uri`; default: this server's own. */
  readonly keySetUri?: string | undefined;
  /** Proxies that tell by headers who is asking; absent: none is believed. */
  readonly requestHeader?: AuthenticationOptions['requestHeader'];
}

export type AuthenticationSettings = Pick<
  AuthenticationOptions,
  'anonymous' | 'tokenFile' | 'bootstrapTokens' | 'remoteTokens' | 'serviceAccountLookup'
>;

export interface ComposedApiServerOptions {
  readonly store: ApiStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly trust: ApiServerTrust;
  readonly listen: readonly { readonly host: string; readonly port: number }[];
  /** What Pods reach the server by; absent: the `kubernetes` Service has no endpoints. */
  readonly advertiseAddress?: string | undefined;
  /** `--external-hostname`; default: the advertised address. */
  readonly externalHostname?: string | undefined;
  readonly serviceCidrs: readonly string[];
  readonly nodePortRange?: PortRange | undefined;
  /** Default: `Node`, then `RBAC`. */
  readonly authorizers?: (() => readonly ChainedAuthorizer[]) | undefined;
  readonly authentication?: AuthenticationSettings | undefined;
  readonly tokenRequests?: TokenLimits | undefined;
  /** Where those who give the settings above count too; shown by `/metrics`. */
  readonly identity?: IdentityStatistics | undefined;
  readonly runtimeConfig?: Readonly<Record<string, boolean>> | undefined;
  readonly featureGates?: Readonly<Record<string, boolean>> | undefined;
  readonly enableAdmission?: readonly string[] | undefined;
  readonly disableAdmission?: readonly string[] | undefined;
  /** `--admission-control-config-file`, by plugin. */
  readonly admissionConfigurations?: ReadonlyMap<string, unknown> | undefined;
  readonly tolerations?: DefaultTolerationOptions | undefined;
  readonly inFlight?: InFlightLimits | undefined;
  /** Its owner's to close. */
  readonly auditor?: Auditor | undefined;
  /** `--enable-priority-and-fairness`; default true. */
  readonly priorityAndFairness?: boolean | undefined;
  /** `--request-timeout`: how long a request may take, its body's arrival included. Default 60 s. */
  readonly requestTimeoutMs?: number | undefined;
  /** `--min-request-timeout`, of watches that ask for no time. Default 1800 s. */
  readonly minRequestTimeoutSeconds?: number | undefined;
  /** `--goaway-chance`: of an HTTP/2 connection to be ended with an answer, so that clients spread over servers. */
  readonly goawayChance?: number | undefined;
  readonly tls?: HttpServerOptions['tls'];
  /** Directives of the header of that name, which answers then have. */
  readonly strictTransportSecurity?: readonly string[] | undefined;
  /** Wraps the way from the network to the server, for who has more to say of an answer than the server. */
  readonly handledWith?: ((handle: HttpServerOptions['handle']) => HttpServerOptions['handle']) | undefined;
  readonly shutdown?: Partial<ShutdownSettings> | undefined;
  /** `--profiling`; default true. */
  readonly profiling?: boolean | undefined;
  /** What `/flagz` shows. */
  readonly flags?: ReadonlyMap<string, unknown> | undefined;
  readonly eventTtlSeconds?: number | undefined;
  /** `--etcd-compaction-interval`; default 5 minutes. */
  readonly compactionIntervalMs?: number | undefined;
  readonly history?: HistoryRetention | undefined;
  /** How kubelets are called: with which certificate, and what theirs must be. */
  readonly kubelet?: KubeletClientOptions | undefined;
  /** How long after the server is ready its less urgent objects come; default: at once. */
  readonly headStartMs?: number | undefined;
  /** Name in the identity Lease; absent: no such Lease. */
  readonly hostname?: string | undefined;
  /** `--endpoint-reconciler-type`: whether servers that share a store name each other in the Service `kubernetes`. Default `lease`. */
  readonly endpointReconciler?: 'lease' | 'none' | undefined;
  /** `--kubernetes-service-node-port`; default none. */
  readonly kubernetesNodePort?: number | undefined;
  /** How servers behind this one are reached. */
  readonly aggregation?: Pick<AggregationOptions, 'routing' | 'credentials' | 'rejectRedirects'> | undefined;
  /** Tell what nodes and Pods use, from the kubelets' own figures (`metrics.k8s.io`); default: only servers behind this one do. */
  readonly resourceMetrics?: boolean | undefined;
  /** What `kubectl get componentstatuses` shows besides the store. */
  readonly components?: readonly ComponentCheck[] | undefined;
}

export interface ComposedApiServer {
  readonly server: ApiServer;
  readonly http: ListeningServer;
  readonly loopback: Client;
  /** The port of the first address listened on. */
  readonly port: number;
  readonly bootstrap: Bootstrap;
  /** Ends watches, lets requests under way finish, closes sockets. The store stays open: it is its owner's. */
  close(): Promise<void>;
}

/** Upstream's default of `--request-timeout`. */
const defaultDrainMs = 60_000;

/** Resolves once the server listens and what others need to work (namespaces, rights) is there. */
export async function startApiServer(options: ComposedApiServerOptions): Promise<ComposedApiServer> {
  const { clock, random, log, trust } = options;
  const stopping = new AbortController();
  const shared = await sharedRecords(options);
  const server = compose({ ...options, portRecords: shared?.nodePorts }, stopping.signal);
  const end = async () => {
    stopping.abort(new Error('the API server is stopping'));
    await server.close();
  };
  const http = await listen(server, options).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  const port = http.addresses[0]?.port ?? 0;
  const loopback = server.client(loopbackUser);
  const allocatorAddress = firstAddress(options.serviceCidrs[0] ?? '');
  const bootstrap = startBootstrap({
    client: loopback,
    featureGates: options.featureGates,
    clock,
    random,
    log,
    signal: stopping.signal,
    service: {
      clusterIP: allocatorAddress,
      securePort: port,
      nodePort: options.kubernetesNodePort,
      advertiseAddress: options.endpointReconciler === 'none' ? undefined : options.advertiseAddress,
      servers: shared?.servers,
    },
    serviceCidrs: options.serviceCidrs,
    settleAfterMs: options.headStartMs,
    trust: () => clientTrust(trust),
    ...(options.hostname && options.featureGates?.APIServerIdentity !== false ? { hostname: options.hostname } : {}),
  });
  const parts = { client: loopback, clock, random, log, signal: stopping.signal };
  void bootstrap.settled.then(() => repairAddresses(parts));
  if (shared) void bootstrap.settled.then(() => shared.repair(componentContext(parts)));
  const { drainMs = options.requestTimeoutMs ?? defaultDrainMs } = options.shutdown ?? {};
  const shutdown = { delayMs: 0, watchGraceMs: 0, sendRetryAfter: false, ...options.shutdown, drainMs };
  const close = async () => {
    await leave(bootstrap, options);
    await server.shutDown(shutdown, () => http.stopListening());
    await end();
    await http.close();
  };
  const externalHost = options.externalHostname ?? options.advertiseAddress ?? options.listen[0]?.host ?? '';
  const externalAddress = hostPort({ host: externalHost, port });
  startLater(server, { ...options, bootstrap, signal: stopping.signal, externalAddress });
  try {
    await bootstrap.ready;
  } catch (error) {
    await close();
    throw error;
  }
  return { server, http, loopback, port, bootstrap, close };
}

/** Undefined where this server is the only one over its store. */
async function sharedRecords(options: ComposedApiServerOptions): Promise<SharedRecords | undefined> {
  const { store, endpointReconciler = 'lease', advertiseAddress, nodePortRange } = options;
  if (store.kind === 'objects' || !store.shared) return undefined;
  const { recordsOver } = await import('./shared-records.ts');
  const address = endpointReconciler === 'lease' ? advertiseAddress : undefined;
  return recordsOver(store, { address, nodePortRange });
}

/** Twice as long as between two looks at the endpoints, as upstream: a store that does not answer must not hold a server up. */
const leavingMs = 20_000;

async function leave(bootstrap: Bootstrap, { clock, log }: ComposedApiServerOptions): Promise<void> {
  await withTimeout(clock, bootstrap.leave(), leavingMs, () => new Error('timed out')).catch((error: unknown) =>
    log.warn('unable to remove this server from the kubernetes service', { error: String(error) }),
  );
}

/** Later than the start: there is nothing to mend in a server's first moments. Never rejects. */
async function repairAddresses(parts: Parameters<typeof componentContext>[0]): Promise<void> {
  if (parts.signal.aborted) return;
  const { runAddressRepair } = await import('../../apiserver/services/address-repair.ts');
  await runAddressRepair(componentContext(parts)).catch((error: unknown) => {
    if (!parts.signal.aborted) parts.log.error('addresses of services are not repaired', { error: String(error) });
  });
}

/** Rejects when the store cannot be read or an address cannot be had; nothing listens then. */
async function listen(server: ApiServer, options: ComposedApiServerOptions): Promise<ListeningServer> {
  const { clock, log, trust } = options;
  await server.ready();
  const handle: HttpServerOptions['handle'] = (request) => server.handle(request);
  return startHttpServer({
    handle: withStrictTransport(options.handledWith?.(handle) ?? handle, options.strictTransportSecurity ?? []),
    tls: options.tls,
    listen: options.listen,
    certificate: trust.serving.certificatePem,
    key: trust.serving.keyPem,
    log,
    clock,
    random: options.random,
    bodyTimeoutMs: options.requestTimeoutMs,
    goawayChance: options.goawayChance,
  });
}

function withStrictTransport(
  handle: HttpServerOptions['handle'],
  directives: readonly string[],
): HttpServerOptions['handle'] {
  if (directives.length === 0) return handle;
  const header = { 'strict-transport-security': directives.join('; ') };
  return async (request) => {
    const response = await handle(request);
    return { ...response, headers: { ...header, ...response.headers } };
  };
}

type RunningOptions = ComposedApiServerOptions & {
  readonly bootstrap: Bootstrap;
  readonly signal: AbortSignal;
  /** `host:port` */
  readonly externalAddress: string;
};

/** What a cluster's first second goes without: the issuer's pages, debug pages, aggregation, priority and fairness. */
function startLater(server: ApiServer, options: RunningOptions): void {
  const { clock, log, signal, bootstrap, profiling = true, flags } = options;
  const started = { startedMs: clock.now(), startedMonotonicMs: clock.monotonic() };
  const start = async () => {
    await bootstrap.ready;
    await bootstrap.settled;
    if (signal.aborted) return;
    const { issuerDiscoveryPages } = await import('../../apiserver/issuer-discovery.ts');
    const { tokens: signer, keySetUri } = options.trust;
    const pages = issuerDiscoveryPages({ signer, keySetUri, externalAddress: options.externalAddress, log });
    for (const [path, handler] of pages) server.registerPath(path, handler);
    const { registerDebugPages } = await import('../../apiserver/debug/debug-pages.ts');
    registerDebugPages(server, { clock, profiling, flags, ...started });
    void aggregate(server, options);
    if (options.priorityAndFairness ?? true) await startFlowControl(server, options);
  };
  start().catch((error: unknown) => {
    if (!signal.aborted) log.error('what follows the start could not be started', { error: String(error) });
  });
}

/** Other servers' APIs, and the list of this server's own. Never rejects. */
async function aggregate(server: ApiServer, options: RunningOptions): Promise<void> {
  const { clock, random, log, signal, aggregation } = options;
  const { runAggregation } = await import('../../apiserver/aggregation/aggregation.ts');
  const context = componentContext({ client: server.client(loopbackUser), clock, random, log, signal });
  const { resources } = server;
  let useRemoteApis: AggregationOptions['useRemoteApis'] = (apis) => server.useRemoteApis(apis);
  if (options.resourceMetrics) {
    const metrics = await import('../../apiserver/resource-metrics/resource-metrics.ts');
    const readPage = metrics.kubeletPages(context.client, options.kubelet);
    const own = metrics.resourceMetricsApi({ ...context, readPage });
    server.useRemoteApis(own);
    metrics.registerResourceMetrics(context.client).catch((error: unknown) => {
      if (!signal.aborted) log.error('the resource metrics are not registered', { error: String(error) });
    });
    useRemoteApis = (apis) => server.useRemoteApis(metrics.joinedApis(apis, own));
  }
  await runAggregation(context, { ...aggregation, resources, useRemoteApis }).catch((error: unknown) => {
    if (!signal.aborted) log.error('APIServices are not looked after', { error: String(error) });
  });
}

/** Fairness begins once its objects are there; servers without any limit go without. */
async function startFlowControl(server: ApiServer, options: RunningOptions): Promise<void> {
  const { clock, random, log, signal, inFlight = defaultInFlightLimits } = options;
  const totalSeats = inFlight.readOnly + inFlight.mutating;
  if (totalSeats === 0) return;
  const { startPriorityAndFairness } = await import('../../apiserver/flow-control/start.ts');
  const client = server.client(loopbackUser);
  const informers = informerSet({ client, clock, random, log, signal });
  const storageNamed = (name: string) => server.storageNamed(name);
  const sources = { client, informers, clock, log, signal, totalSeats, storageNamed };
  const { control, pages, metrics } = await startPriorityAndFairness(sources);
  for (const [path, handler] of pages) server.registerPath(path, handler);
  server.registerMetrics(metrics);
  server.useFlowControl(control);
}

const defaultChain = chainOf(['Node', 'RBAC']);

type Composition = ComposedApiServerOptions & Pick<ServiceAllocatorOptions, 'portRecords'>;

function compose(options: Composition, signal: AbortSignal): ApiServer {
  const { clock, random, log, trust, identity = new IdentityStatistics() } = options;
  const { issuers, apiAudiences = issuers } = trust;
  const { authorizers: chain = () => defaultChain } = options;
  const port = options.listen[0]?.port ?? 0;
  const { advertiseAddress: host } = options;
  return createApiServer({
    identity,
    ...(host === undefined || port === 0 ? {} : { serverAddress: hostPort({ host, port }) }),
    store: options.store,
    clock,
    random,
    log,
    resources: { runtimeConfig: options.runtimeConfig, featureGates: options.featureGates },
    inFlight: options.inFlight,
    auditor: options.auditor,
    components: options.components,
    requestTimeoutMs: options.requestTimeoutMs,
    minRequestTimeoutSeconds: options.minRequestTimeoutSeconds,
    eventTtlSeconds: options.eventTtlSeconds,
    compactionIntervalMs: options.compactionIntervalMs,
    history: options.history,
    hooks: (client) => new Map([['services', serviceHooks(allocatorOnce(client, options))]]),
    security: (client, resources) => {
      const informers = informerSet({ client, clock, random, log, signal });
      const authentication = createAuthentication({
        client,
        informers,
        clock,
        log,
        clientCa: () => trust.clientCaPem,
        requestHeader: trust.requestHeader,
        tokenSigner: trust.tokens,
        issuers,
        apiAudiences,
        bootstrapTokens: true,
        statistics: identity,
        ...options.authentication,
      });
      const authorization = createAuthorization({ chain, informers, decisions: identity.decisions });
      const { authorizer, userRules, ruleResolver } = authorization;
      const admission = createAdmission({
        context: { client, informers, clock, random, log, authorizer, signal, resources },
        ruleResolver,
        // Kubelets must not reach beyond their own Node and Pods.
        enable: ['NodeRestriction', ...(options.enableAdmission ?? [])],
        disable: options.disableAdmission,
        configurations: options.admissionConfigurations,
        tolerations: options.tolerations,
      });
      const handlers = reviewHandlers({
        authentication,
        authorizer,
        userRules,
        clock,
        admission: () => admission,
        tokenRequest: { client, random, signer: trust.tokens, apiAudiences, ...options.tokenRequests },
      });
      const toNodes = { client, clock, random, log, kubelet: options.kubelet };
      const proxies = nodeProxyHandlers({ ...toNodes, authorizer: () => authorizer, admission: () => admission });
      return {
        authenticate: (request) => authentication.authenticate(request),
        authorizer,
        admission,
        handlers: new Map([...handlers, ...proxies]),
      };
    },
  });
}

function allocatorOnce(client: Client, options: Composition): () => Promise<ServiceAllocator> {
  const { random, log, serviceCidrs, nodePortRange, portRecords } = options;
  let allocator: Promise<ServiceAllocator> | undefined;
  return () => {
    allocator ??= import('../../apiserver/services/service-allocator.ts').then(
      (module) => new module.ServiceAllocator({ client, random, log, serviceCidrs, nodePortRange, portRecords }),
    );
    return allocator;
  };
}

function clientTrust({ clientCaPem, requestHeader }: ApiServerTrust): ClientTrust {
  return {
    clientCa: clientCaPem,
    ...(requestHeader ? { requestHeader: { ...requestHeader, ca: requestHeader.ca() } } : {}),
  };
}

/** The address that the `kubernetes` Service gets: the first one of the range after the network's own. */
export function firstAddress(cidr: string): string {
  const range = parseCidr(cidr);
  if (!range) throw new TypeError(`${cidr} is no address range`);
  return formatIp({ family: range.family, value: range.base + 1n });
}

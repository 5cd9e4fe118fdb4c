/**
 * The control plane in one process: the API server, and beside it the controllers and the scheduler, which call it directly, each as
 * its own user with its own rights. Over a store of the caller's; what lasts is in the store and in the key files.
 *
 * The room: API server, controllers and scheduler put together from their parts, with no machine below them: it reads no flags, and no
 * files but keys and certificates. What an API server is made of is joined in `api-server.ts`, what controllers are given in
 * `controller-manager.ts`, what nodes find in the cluster in `joinable.ts`.
 */
import type { ApiServer, ApiStore } from '../../apiserver/index.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { hostPort } from '../../base/host-port.ts';
import { onFirstCall } from '../../base/lazy-module.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { certificateUser, formatKubeconfig, kubeconfigOf } from '../../client/kubeconfig.ts';
import { checkControllers } from '../../controllers/controllers.ts';
import type { CertifiedKey } from '../../pki/authority.ts';
import type { KeySource } from '../../pki/keys.ts';
import { createTokenSigner, legacyIssuer } from '../../pki/token-signer.ts';
import { CauseLedger, causesPath } from '../../reconcile/causes.ts';
import { type ComponentContext, componentContext } from '../../reconcile/component.ts';
import { QueueStatistics } from '../../reconcile/queue-statistics.ts';
import type { SchedulerOptions } from '../../scheduler/scheduler.ts';
import { followRenewals } from '../certificates/certificate-renewal.ts';
import { type ClusterPki, clusterPki, contextName, type KeyFiles } from '../certificates/cluster-pki.ts';
import { ComponentSupervisor } from '../processes/component-supervisor.ts';
import { type ComposedApiServer, type ComposedApiServerOptions, firstAddress, startApiServer } from './api-server.ts';
import { inProcessChecks, localPortChecks } from './component-checks.ts';
import {
  type ControllerSurroundings,
  type ControllerTuning,
  controllerUser,
  runControllers,
} from './controller-manager.ts';

export interface ControlPlaneOptions
  extends Pick<
    ComposedApiServerOptions,
    | 'runtimeConfig'
    | 'featureGates'
    | 'advertiseAddress'
    | 'hostname'
    | 'serviceCidrs'
    | 'listen'
    | 'authorizers'
    | 'authentication'
    | 'requestTimeoutMs'
  > {
  readonly store: ApiStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly keys: KeySource;
  readonly keyFiles: KeyFiles;
  readonly log: Log;
  /** Ranges that Nodes get their Pods' addresses from. */
  readonly clusterCidrs: readonly string[];
  /** What the server is to do beyond that, as flags of `kube-apiserver` have it. */
  readonly apiServer?: Partial<ComposedApiServerOptions> | undefined;
  readonly controllerManager?: ControllerTuning | undefined;
  readonly schedulerOptions?: SchedulerOptions | undefined;
  /** As `--controllers`; default `*`. */
  readonly controllers?: readonly string[];
  /** Default true. */
  readonly scheduler?: boolean;
  /** Services that a cluster with real nodes has: its name server. Default false. */
  readonly addons?: boolean;
  /** The nodes make volumes of their own folders: claims get them by default. Default false. */
  readonly localStorage?: boolean;
  /** Whether other machines may become nodes of it, by the advertised address. Default false. */
  readonly joinable?: boolean;
}

export interface ControlPlane {
  /** By the first address listened on. */
  readonly url: string;
  readonly pki: ClusterPki;
  readonly apiServer: ComposedApiServer;
  /** Of the administrator. */
  readonly admin: Client;
  /** Of any user, without asking for credentials. */
  client(user: { readonly name: string; readonly groups: readonly string[] }): Client;
  /** For this address of the server; default `url`. */
  adminKubeconfig(server?: string): string;
  close(): Promise<void>;
}

/** A kubeconfig for the cluster's administrator. */
export function adminKubeconfig(pki: ClusterPki, server: string): string {
  const { certificatePem, keyPem } = pki.client('admin', 'kubernetes-admin', ['system:masters']);
  const user = certificateUser(certificatePem, keyPem);
  const caPem = pki.authority.certificatePem;
  return formatKubeconfig(kubeconfigOf({ name: contextName, server, caPem, user, userName: 'coracle-admin' }));
}

const ensureAddons = onFirstCall(async () => (await import('../addons.ts')).ensureAddons);
const ensureLocalStorage = onFirstCall(async () => (await import('../addons.ts')).ensureLocalStorage);
const ensureJoinable = onFirstCall(async () => (await import('./joinable.ts')).ensureJoinable);
/** Off unless they are named, as upstream; one that was named with a minus stays off. */
const joiningControllers = ['bootstrap-signer-controller', 'token-cleaner-controller'];
const runScheduler = onFirstCall(async () => (await import('../../scheduler/scheduler.ts')).runScheduler);

/**
 * Whoever waits for the control plane waits for a ServiceAccount and for a Deployment's Pods: nothing else is loaded, started or written in
 * the moment that takes.
 */
const headStartMs = 50;

/** Issuer of service account tokens, as Pods see the server. */
export const serviceAccountIssuer = 'https://kubernetes.default.svc.cluster.local';

const authenticated = 'system:authenticated';

/** As whom the API server calls kubelets. */
const kubeletClient = ['apiserver-kubelet-client', 'kube-apiserver-kubelet-client', ['system:masters']] as const;

/** As whom the API server calls servers behind it. */
const frontProxyClient = 'front-proxy-client';

/** As kubeadm has them. */
const frontProxyHeaders = {
  allowedNames: [frontProxyClient],
  usernameHeaders: ['X-Remote-User'],
  uidHeaders: ['X-Remote-Uid'],
  groupHeaders: ['X-Remote-Group'],
  extraHeaderPrefixes: ['X-Remote-Extra-'],
} as const;

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { clock, random, log } = options;
  checkControllers(options.controllers ?? []);
  const components = new ComponentSupervisor(clock, log);
  const pki = clusterPki(options.keyFiles, { clock, random, keys: options.keys });
  const hosts = options.listen.map(({ host }) => host);
  const serving = () =>
    pki.apiServer(options.hostname ? [options.hostname] : [], [
      ...hosts,
      ...(options.advertiseAddress ? [options.advertiseAddress] : []),
      ...options.serviceCidrs.map(firstAddress),
    ]);
  const signingKeyPem = pki.serviceAccountKeyPem;
  const apiServer = await startApiServer({
    resourceMetrics: true,
    ...options,
    ...options.apiServer,
    headStartMs,
    components: inProcessChecks(components, localPortChecks(clock)),
    ...backendsOf(pki),
    trust: {
      clientCaPem: pki.authority.certificatePem,
      serving: serving(),
      tokens: createTokenSigner({ clock, issuers: [serviceAccountIssuer, legacyIssuer], signingKeyPem }),
      issuers: [serviceAccountIssuer],
      requestHeader: { ...frontProxyHeaders, ca: () => pki.frontProxyAuthority().certificatePem },
    },
  });
  const { server } = apiServer;
  const url = serverUrl(hosts[0] ?? '127.0.0.1', apiServer.port);
  components.run('certificates', (signal) =>
    followRenewals(serving, ({ certificatePem, keyPem }) => apiServer.http.replaceCertificate(certificatePem, keyPem), {
      clock,
      log,
      signal,
    }),
  );
  runAddons(options, { components, apiServer, pki });
  const client: ClientOf = (name, groups = []) => server.client({ name, groups: [...groups, authenticated] });
  const contextOf = sharedContexts(options, server, client);
  components.run('kube-controller-manager', (signal) => {
    const surroundings = controllerSurroundings(options, pki, (user) => server.client(user));
    return runControllers(contextOf('system:kube-controller-manager', signal), surroundings, tunedControllers(options));
  });
  if (options.scheduler !== false)
    components.run('kube-scheduler', async (signal) => {
      await sleep(clock, headStartMs, signal);
      await runScheduler(contextOf('system:kube-scheduler', signal), options.schedulerOptions);
    });
  return {
    url,
    pki,
    apiServer,
    admin: client('kubernetes-admin', ['system:masters']),
    client: (user) => server.client(user),
    adminKubeconfig: (address) => adminKubeconfig(pki, address ?? url),
    async close() {
      await components.stop();
      await apiServer.close();
    },
  };
}

/** Contexts of components in the server's process. What holds objects up and what queues count is shown by the server. */
function sharedContexts(
  { clock, random, log }: ControlPlaneOptions,
  server: ApiServer,
  client: ClientOf,
): (name: string, signal: AbortSignal) => ComponentContext {
  const causes = new CauseLedger(clock);
  const queues = new QueueStatistics();
  server.registerPath(causesPath, causesPage(causes));
  server.registerMetrics(() => queues.families(clock.monotonic()));
  return (name, signal) =>
    componentContext({
      client: client(name),
      clock,
      random,
      log: log.child({ component: name }),
      signal,
      causes,
      queues,
    });
}

function runAddons(
  { addons, localStorage, joinable, advertiseAddress, serviceCidrs, clusterCidrs }: ControlPlaneOptions,
  parts: { readonly components: ComponentSupervisor; readonly apiServer: ComposedApiServer; readonly pki: ClusterPki },
): void {
  const { components, apiServer, pki } = parts;
  const client = apiServer.loopback;
  if (addons) components.run('addons', () => ensureAddons(client, { serviceCidr: serviceCidrs[0] ?? '' }));
  if (localStorage) components.run('local storage', () => ensureLocalStorage(client));
  if (!joinable || advertiseAddress === undefined) return;
  const server = serverUrl(advertiseAddress, apiServer.port);
  const caPem = pki.authority.certificatePem;
  components.run('joining', () => ensureJoinable(client, { server, caPem, serviceCidrs, clusterCidrs }));
}

/** A client of an authenticated user of this name. */
type ClientOf = (name: string, groups?: readonly string[]) => Client;

function controllerSurroundings(
  { clock, clusterCidrs, serviceCidrs }: ControlPlaneOptions,
  pki: ClusterPki,
  client: ControlPlane['client'],
): ControllerSurroundings {
  const signingKeyPem = pki.serviceAccountKeyPem;
  return {
    rootCA: pki.authority.certificatePem,
    certificateAuthority: pki.authority,
    signers: undefined,
    nodeIpam: { clusterCidrs, serviceCidrs },
    // Tokens that lie in Secrets name an issuer of their own, so that both kinds are told apart.
    legacyTokens: createTokenSigner({ clock, issuers: [legacyIssuer], signingKeyPem }),
    clientOf: (account) => client(controllerUser(account)),
    isOnlyApiServer: true,
  };
}

function tunedControllers({ controllerManager, controllers, joinable }: ControlPlaneOptions): ControllerTuning {
  const selection = controllerManager?.controllers ?? controllers ?? ['*'];
  return {
    ...controllerManager,
    controllers: joinable && selection.includes('*') ? [...selection, ...joiningControllers] : selection,
    headStartMs,
  };
}

/** As whom the API server calls kubelets and other servers, and whom it believes there. */
function backendsOf(pki: ClusterPki): Pick<ComposedApiServerOptions, 'kubelet' | 'aggregation'> {
  const credentials = ({ certificatePem: certificate, keyPem: key }: CertifiedKey) => ({ certificate, key });
  return {
    kubelet: {
      credentials: () => credentials(pki.client(...kubeletClient)),
      authority: () => pki.authority.certificatePem,
      // Addresses first: names of nodes need not be known to any name server.
      preferredAddressTypes: ['InternalIP', 'ExternalIP', 'InternalDNS', 'ExternalDNS', 'Hostname'],
    },
    aggregation: { credentials: () => credentials(pki.frontProxyClient(frontProxyClient)) },
  };
}

/** What components keep to themselves, for `coracle why`; who may read it is authorization's to say, as for any page. */
function causesPage(causes: CauseLedger): Parameters<ApiServer['registerPath']>[1] {
  return async () => ({
    status: 200,
    headers: {},
    body: { kind: 'object', object: causes.toList() },
  });
}

function serverUrl(host: string, port: number): string {
  return `https://${hostPort({ host: host === '0.0.0.0' ? '127.0.0.1' : host, port })}`;
}

/**
 * `coracle kube-apiserver`: the API server alone, over etcd (`--etcd-servers`), or without one over the embedded store in `--data-dir`, a
 * flag of ours.
 *
 * The room: one file a subject of its flags. A flag is read where its subject stands and handed on as a value; what it does is the business
 * of `src/apiserver`.
 */
import { isIp } from '../../../apimachinery/addresses.ts';
import type { Auditor } from '../../../apiserver/audit/auditor.ts';
import type { HistoryRetention } from '../../../apiserver/compaction.ts';
import { flags } from '../../../apiserver/gen/flags.ts';
import type { ApiServer, ApiStore, BytesStore } from '../../../apiserver/index.ts';
import { type FlagDefinition, FlagError } from '../../../serving/flags.ts';
import { bufferCodec, openLmdbStore } from '../../../storage/lmdb/lmdb-store.ts';
import type { PemPair } from '../../certificates/kubelet-certificates.ts';
import { readOptionalPem, readPem } from '../../certificates/pem-files.ts';
import { CommandError } from '../../command-error.ts';
import {
  type ApiServerTrust,
  type ComposedApiServerOptions,
  firstAddress,
  startApiServer,
} from '../../control-plane/api-server.ts';
import { localPortChecks } from '../../control-plane/component-checks.ts';
import { nodeAddress } from '../../machine/machine.ts';
import type { ComponentCommand, ComponentEnvironment } from '../flags/component-definition.ts';
import { refuseApiServerPlace, refuseApiServerPolicy, refuseProblems } from '../flags/flag-checks.ts';
import type { GivenFlags } from '../flags/given-flags.ts';
import { followServingFiles, type ServingPair, servingCertificate } from '../secure-port/serving-certificate.ts';
import { tlsParametersFrom } from '../secure-port/tls-flags.ts';
import { admissionConfigurations, withImagePolicyServer } from './admission.ts';
import type { TokenTrust } from './authentication.ts';
import type { StoreEncryption } from './encryption.ts';
import { identityFrom } from './identity.ts';
import { type TokenSigning, tokenLimitsFrom, tokenSigningFrom } from './token-signing.ts';

const ownFlags: readonly FlagDefinition[] = [
  { name: 'data-dir', type: 'string', default: '/var/lib/coracle/kube-apiserver' },
  { name: 'history-retention', type: 'duration', default: '0s' },
  { name: 'history-max-changes', type: 'int64', default: 100_000 },
  { name: 'default-not-ready-toleration-seconds', type: 'int64', default: 300 },
  { name: 'default-unreachable-toleration-seconds', type: 'int64', default: 300 },
];
const known = new Set(flags.map((flag) => flag.name));

export const kubeApiServer: ComponentCommand = {
  name: 'kube-apiserver',
  flags: [...flags, ...ownFlags.filter((flag) => !known.has(flag.name))],
  run,
};

async function run(given: GivenFlags, environment: ComponentEnvironment): Promise<void> {
  const { clock, random, log, signal } = environment;
  await using signing = await tokenSigningFrom(given, environment);
  const { certificate, ...place } = placeFrom(given, environment, signing);
  await using configured = await configureApiServer(given, environment, tokenTrust(place.trust));
  const open = await storeFrom(given, environment);
  environment.started();
  await using opened = await open();
  try {
    const apiStore = await configured.storeOver(opened.store, opened.boundTo);
    const options = { ...place, ...configured.options, tokenRequests: signing.limits };
    const server = await startApiServer({ ...options, store: apiStore, clock, random, log });
    configured.attach(server.server);
    for (const { metrics } of [opened, signing]) if (metrics) server.server.registerMetrics(metrics);
    const take = (pair: PemPair) => server.http.replaceCertificate(pair.certificate, pair.key);
    void followServingFiles(certificate, take, environment);
    log.info('serving', { addresses: server.http.addresses });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await server.close();
  } catch (error) {
    throw listenProblem(error);
  }
}

interface OpenedStore extends AsyncDisposable {
  readonly store: BytesStore;
  readonly boundTo?: (key: string) => string;
  readonly metrics?: () => string;
}

/** Reads all that flags say of the store; to be opened later. */
async function storeFrom(given: GivenFlags, environment: ComponentEnvironment): Promise<() => Promise<OpenedStore>> {
  if (given.list('etcd-servers').length > 0) return (await import('./etcd.ts')).etcdFrom(given, environment);
  const { clock, log } = environment;
  const path = given.text('data-dir');
  return async () => {
    const store = await openLmdbStore({ path, codec: bufferCodec, clock, log }).catch((error) => {
      throw new CommandError(String(error.message), 'Choose another folder with --data-dir.');
    });
    return { store: { kind: 'bytes', store }, [Symbol.asyncDispose]: () => store.close() };
  };
}

function tokenTrust({ issuers, apiAudiences = issuers }: ApiServerTrust): TokenTrust {
  return { issuers, apiAudiences };
}

/** What flags say about any API server, be it alone or one of `coracle up`: everything but its place and whom it trusts. */
export interface ConfiguredApiServer extends AsyncDisposable {
  readonly options: Partial<ComposedApiServerOptions>;
  /** The store as the server sees it: encrypted where that is asked for. `boundTo`: see `EncryptedStoreOptions`. */
  storeOver(store: BytesStore, boundTo?: (key: string) => string): Promise<ApiStore>;
  /** Health checks of what was configured. */
  attach(server: ApiServer): void;
}

/** Rejects with a `FlagError` or a `CommandError` for flags or files that are wrong. `tokens`: of service accounts. */
export async function configureApiServer(
  given: GivenFlags,
  environment: ComponentEnvironment,
  tokens: TokenTrust,
): Promise<ConfiguredApiServer> {
  refuseApiServerPolicy(given);
  const options = policyFrom(given);
  const tls = tlsParametersFrom(given, environment);
  const encryption = {
    path: given.optionalText('encryption-provider-config'),
    reload: given.flag('encryption-provider-config-automatic-reload'),
  };
  const identity = await identityFrom(given, tokens, environment);
  const auditor = await auditorOf(given, environment);
  const handledWith = await crossOriginFrom(given.list('cors-allowed-origins'));
  const configurations = await withImagePolicyServer(options.admissionConfigurations, environment.clock);
  let encrypted: StoreEncryption | undefined;
  return {
    options: { ...options, ...identity.settings, auditor, admissionConfigurations: configurations, tls, handledWith },
    async storeOver(plain, boundTo) {
      const { path, reload } = encryption;
      if (path === undefined) return plain;
      const { openEncryption } = await import('./encryption.ts');
      encrypted = await openEncryption({ path, reload, boundTo }, environment);
      const { over } = encrypted;
      const within = (store: BytesStore['store']) => {
        const inner = over(store);
        return { store: inner, isStale: (key: string) => inner.isStale(key) };
      };
      const further = plain.further?.map((each) => ({ ...each, ...within(each.store) }));
      return { ...plain, ...within(plain.store), further };
    },
    attach(server) {
      if (encrypted) server.registerHealthCheck(encrypted.healthCheck);
    },
    async [Symbol.asyncDispose]() {
      await auditor?.close();
      identity.close();
      await encrypted?.close();
    },
  };
}

/** Loaded only where pages of other origins are let through. */
async function crossOriginFrom(origins: readonly string[]): Promise<ComposedApiServerOptions['handledWith']> {
  if (origins.length === 0) return undefined;
  const { crossOriginProblems, withCrossOrigin } = await import('../../../apiserver/http/cross-origin.ts');
  refuseProblems(crossOriginProblems(origins));
  return (handle) => withCrossOrigin(handle, origins);
}

/** Loaded only by those who audit. */
async function auditorOf(given: GivenFlags, environment: ComponentEnvironment): Promise<Auditor | undefined> {
  const flagNames = ['audit-policy-file', 'audit-log-path', 'audit-webhook-config-file'];
  if (!flagNames.some((name) => given.isGiven(name))) return undefined;
  const { auditorFrom } = await import('./audit.ts');
  return auditorFrom(given, environment);
}

function listenProblem(error: unknown): unknown {
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code !== 'EADDRINUSE') return error;
  return new CommandError(
    `port ${port} of ${address} is in use by another program.`,
    'Choose another with --secure-port, or stop that program.',
  );
}

type Place = Pick<
  ComposedApiServerOptions,
  | 'trust'
  | 'listen'
  | 'advertiseAddress'
  | 'serviceCidrs'
  | 'kubelet'
  | 'aggregation'
  | 'hostname'
  | 'components'
  | 'endpointReconciler'
  | 'kubernetesNodePort'
>;

function placeFrom(
  given: GivenFlags,
  environment: ComponentEnvironment,
  signing: TokenSigning,
): Place & { readonly certificate: ServingPair } {
  const bindAddress = given.text('bind-address') || '0.0.0.0';
  const everywhere = bindAddress === '0.0.0.0' || bindAddress === '::';
  const advertiseAddress = given.optionalText('advertise-address') ?? (everywhere ? nodeAddress() : bindAddress);
  const serviceCidrs = (given.text('service-cluster-ip-range') || '10.0.0.0/24').split(',');
  refuseApiServerPlace(given, serviceCidrs);
  const kubeletAuthority = readOptionalPem(
    '--kubelet-certificate-authority',
    given.text('kubelet-certificate-authority'),
  );
  const kubeletCredentials = kubeletClientFiles(given);
  const certificate = certificateFrom(given, environment, { serviceCidrs, advertiseAddress, bindAddress });
  return {
    certificate,
    trust: trustFrom(given, certificate, signing),
    listen: [{ host: bindAddress, port: given.number('secure-port') }],
    advertiseAddress,
    serviceCidrs,
    kubelet: {
      ...(kubeletCredentials ? { credentials: kubeletCredentials } : {}),
      ...(kubeletAuthority ? { authority: () => kubeletAuthority } : {}),
      preferredAddressTypes: given.list('kubelet-preferred-address-types'),
      port: given.number('kubelet-port'),
    },
    aggregation: {
      routing: given.flag('enable-aggregator-routing') ? 'endpoints' : 'cluster',
      rejectRedirects: given.flag('aggregator-reject-forwarding-redirect'),
      credentials: clientFiles(given, ['proxy-client-cert-file', 'proxy-client-key-file']),
    },
    hostname: environment.machine.nodeName,
    endpointReconciler: endpointReconciler(given.text('endpoint-reconciler-type')),
    kubernetesNodePort: given.number('kubernetes-service-node-port'),
    components: localPortChecks(environment.clock),
  };
}

/** `master-count`, which upstream has deprecated, cannot tell which servers live. */
function endpointReconciler(type: string): 'lease' | 'none' {
  if (type === 'lease' || type === 'none') return type;
  const problem = type === 'master-count' ? '"master-count" is not supported' : `"${type}" is unknown`;
  throw new FlagError(`--endpoint-reconciler-type: ${problem}; must be lease or none`);
}

function policyFrom(given: GivenFlags): Partial<ComposedApiServerOptions> {
  return {
    nodePortRange: portRange(given.text('service-node-port-range')),
    externalHostname: given.optionalText('external-hostname'),
    tokenRequests: tokenLimitsFrom(given),
    runtimeConfig: runtimeConfig(given.map('runtime-config')),
    featureGates: given.featureGates(),
    enableAdmission: given.list('enable-admission-plugins'),
    disableAdmission: given.list('disable-admission-plugins'),
    admissionConfigurations: admissionConfigurations(given.optionalText('admission-control-config-file')),
    tolerations: {
      notReadySeconds: given.number('default-not-ready-toleration-seconds'),
      unreachableSeconds: given.number('default-unreachable-toleration-seconds'),
    },
    inFlight: {
      readOnly: given.number('max-requests-inflight'),
      mutating: given.number('max-mutating-requests-inflight'),
    },
    priorityAndFairness: given.flag('enable-priority-and-fairness'),
    requestTimeoutMs: given.milliseconds('request-timeout'),
    minRequestTimeoutSeconds: given.number('min-request-timeout'),
    profiling: given.flag('profiling'),
    flags: given.parsed.values,
    goawayChance: given.number('goaway-chance'),
    strictTransportSecurity: given.list('strict-transport-security-directives'),
    shutdown: {
      delayMs: given.milliseconds('shutdown-delay-duration'),
      watchGraceMs: given.milliseconds('shutdown-watch-termination-grace-period'),
      sendRetryAfter: given.flag('shutdown-send-retry-after'),
    },
    eventTtlSeconds: given.milliseconds('event-ttl') / 1000,
    compactionIntervalMs: given.milliseconds('etcd-compaction-interval'),
    history: historyFrom(given),
  };
}

function historyFrom(given: GivenFlags): HistoryRetention {
  const retentionMs = given.isGiven('history-retention') ? given.milliseconds('history-retention') : undefined;
  return { retentionMs, maxChanges: given.number('history-max-changes') };
}

function kubeletClientFiles(given: GivenFlags) {
  return clientFiles(given, ['kubelet-client-certificate', 'kubelet-client-key']);
}

/** Asked now and then, so that renewed files are taken; undefined without both flags. */
function clientFiles(given: GivenFlags, [certificateFlag, keyFlag]: readonly [string, string]) {
  const certificateFile = given.text(certificateFlag);
  const keyFile = given.text(keyFlag);
  if (certificateFile === '' || keyFile === '') return undefined;
  return () => ({
    certificate: readPem(`--${certificateFlag}`, certificateFile),
    key: readPem(`--${keyFlag}`, keyFile),
  });
}

interface Addresses {
  readonly serviceCidrs: readonly string[];
  readonly advertiseAddress: string | undefined;
  readonly bindAddress: string;
}

function certificateFrom(given: GivenFlags, environment: ComponentEnvironment, addresses: Addresses): ServingPair {
  return servingCertificate(
    {
      certFile: given.text('tls-cert-file'),
      keyFile: given.text('tls-private-key-file'),
      folder: given.text('cert-dir'),
      name: 'apiserver',
      dnsNames: [
        'localhost',
        'kubernetes',
        'kubernetes.default',
        'kubernetes.default.svc',
        environment.machine.nodeName,
      ],
      ipAddresses: [
        ...new Set([
          '127.0.0.1',
          ...addresses.serviceCidrs.map(firstAddress),
          ...[addresses.advertiseAddress, addresses.bindAddress].filter((ip) => ip !== undefined && ip !== '0.0.0.0'),
        ]),
      ].filter((ip): ip is string => ip !== undefined && isIp(ip)),
    },
    environment,
  );
}

function trustFrom(given: GivenFlags, serving: PemPair, { tokens, issuers }: TokenSigning): ApiServerTrust {
  const apiAudiences = given.list('api-audiences');
  return {
    clientCaPem: readOptionalPem('--client-ca-file', given.text('client-ca-file')) ?? '',
    serving: { certificatePem: serving.certificate, keyPem: serving.key },
    tokens,
    issuers,
    ...(apiAudiences.length > 0 ? { apiAudiences } : {}),
    keySetUri: given.optionalText('service-account-jwks-uri'),
    requestHeader: requestHeaderFrom(given),
  };
}

/** Absent without `--requestheader-client-ca-file`: then no proxy is believed. */
function requestHeaderFrom(given: GivenFlags): ApiServerTrust['requestHeader'] {
  const ca = readOptionalPem('--requestheader-client-ca-file', given.text('requestheader-client-ca-file'));
  if (ca === undefined) return undefined;
  return {
    ca: () => ca,
    allowedNames: given.list('requestheader-allowed-names'),
    usernameHeaders: given.list('requestheader-username-headers'),
    uidHeaders: given.list('requestheader-uid-headers'),
    groupHeaders: given.list('requestheader-group-headers'),
    extraHeaderPrefixes: given.list('requestheader-extra-headers-prefix'),
  };
}

function portRange(text: string): { readonly first: number; readonly last: number } {
  const match = /^(\d+)(?:-(\d+)|\+(\d+))?$/.exec(text);
  const first = Number(match?.[1]);
  const last = match?.[2] ? Number(match[2]) : first + Number(match?.[3] ?? 0);
  if (!match || first < 1 || last > 65_535 || last < first)
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--service-node-port-range" flag: not a valid port range`,
    );
  return { first, last };
}

/** Values are `true` where nothing is said. */
function runtimeConfig(values: Readonly<Record<string, string>>): Readonly<Record<string, boolean>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (value !== 'true' && value !== 'false' && value !== '')
        throw new FlagError(`runtime-config invalid value ${name}=${value}: must be true or false`);
      return [name, value !== 'false'];
    }),
  );
}

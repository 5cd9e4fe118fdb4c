/**
 * The kubelet's command line and configuration file, turned into settings: a flag that was given wins over the file, the file over
 * the defaults. Where a file is used, authentication and authorization have its stricter defaults, as in upstream. Pure: who reads
 * argv and files is the composition root.
 */

import { amountOf, amountsOf } from '../api/core/v1/pod-resources.ts';
import type { Taint } from '../api/gen/core-v1.ts';
import { aggregate } from '../apimachinery/go-text.ts';
import { parseDuration } from '../apimachinery/time.ts';
import { checkedGates, type FeatureGates, isGateOn } from '../serving/feature-gates.ts';
import { FlagError, type ParsedFlags } from '../serving/flags.ts';
import { defaultConfiguration, type KubeletConfiguration, type ReservedMemory } from './configuration.ts';
import { gateProblems } from './configuration-gates.ts';
import { numberProblems } from './configuration-ranges.ts';
import { type SwapBehavior, swapBehaviors } from './containers/swap.ts';
import { thresholdsOf } from './eviction/thresholds.ts';
import { configurationFields } from './gen/configuration-fields.ts';
import { flags } from './gen/flags.ts';
import { type PullVerificationPolicy, verificationProblem } from './images/pull-verification.ts';
import type { ShutdownPhase } from './shutdown/shutdown-phases.ts';

export { flags as kubeletFlags };

export interface KubeletServerSettings {
  readonly enabled: boolean;
  readonly address: string;
  readonly port: number;
  /** 0: none. */
  readonly readOnlyPort: number;
  readonly healthzBindAddress: string;
  readonly healthzPort: number;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  readonly clientCaFile: string;
  readonly anonymousAuthentication: boolean;
  readonly webhookAuthentication: boolean;
  readonly webhookAuthenticationCacheMs: number;
  readonly authorizationMode: 'AlwaysAllow' | 'Webhook';
  readonly authorizedCacheMs: number;
  readonly unauthorizedCacheMs: number;
  readonly debuggingHandlers: boolean;
  readonly streamingIdleTimeoutMs: number;
  /** `/logs/`, and queries there. */
  readonly systemLogHandler: boolean;
  readonly systemLogQuery: boolean;
}

export interface KubeletSettings {
  readonly configuration: KubeletConfiguration;
  /** Empty: the machine's own name in lower case. */
  readonly hostnameOverride: string;
  /** Empty: standalone, with static Pods alone. */
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  readonly certificateDirectory: string;
  readonly rotateCertificates: boolean;
  readonly serverTlsBootstrap: boolean;
  readonly runtimeEndpoint: string;
  readonly imageEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly failSwapOn: boolean;
  /** Only where somebody asks for it: cgroup v1 is served here. */
  readonly failCgroupV1: boolean;
  /** `singleProcessOOMKill: false` in so many words, which cgroup v1 cannot do. */
  readonly killsWholeContainers: boolean;
  readonly clientQps: number;
  readonly clientBurst: number;
  readonly featureGates: FeatureGates;
  /** For the log. */
  readonly warnings: readonly string[];
  /** Empty: no programs are asked for credentials. */
  readonly credentialProviderConfig: string;
  readonly credentialProviderBinDirectory: string;
  readonly server: KubeletServerSettings;
}

/** A decoded configuration file: any JSON value. Throws with upstream's words for what it cannot be. */
export function kubeletSettings(parsed: ParsedFlags, file?: unknown): KubeletSettings {
  const source = new SettingSource(parsed, file === undefined ? undefined : checkedFile(file));
  const numbers = numberProblems((flag, field) => source.number(flag, field));
  const { gates, warnings } = checkedGates(source.map<boolean>('feature-gates', 'featureGates'));
  const configuration = configurationOf(source, gates);
  const problems = [...numbers, ...gateProblems(configuration, source.fileValue('memorySwap'))];
  if (problems.length > 0)
    throw new FlagError(`failed to validate kubelet configuration, error: ${aggregate(problems)}`);
  // A threshold that cannot be is told now, not when memory has run out.
  thresholdsOf(configuration);
  return {
    configuration,
    hostnameOverride: source.text('hostname-override'),
    kubeconfig: source.text('kubeconfig'),
    bootstrapKubeconfig: source.text('bootstrap-kubeconfig'),
    certificateDirectory: source.text('cert-dir'),
    rotateCertificates: source.flag('rotate-certificates', 'rotateCertificates'),
    serverTlsBootstrap: source.flag('rotate-server-certificates', 'serverTLSBootstrap'),
    runtimeEndpoint: source.text('container-runtime-endpoint', 'containerRuntimeEndpoint'),
    imageEndpoint: source.text('image-service-endpoint', 'imageServiceEndpoint'),
    runtimeRequestTimeoutMs: source.duration('runtime-request-timeout', 'runtimeRequestTimeout'),
    failSwapOn: source.flag('fail-swap-on', 'failSwapOn'),
    failCgroupV1:
      (source.isGiven('fail-cgroupv1') || source.fileValue('failCgroupV1') !== undefined) &&
      source.flag('fail-cgroupv1', 'failCgroupV1'),
    killsWholeContainers: source.fileValue('singleProcessOOMKill') === false,
    clientQps: source.number('kube-api-qps', 'kubeAPIQPS'),
    clientBurst: source.number('kube-api-burst', 'kubeAPIBurst'),
    featureGates: gates,
    warnings,
    credentialProviderConfig: source.text('image-credential-provider-config'),
    credentialProviderBinDirectory: source.text('image-credential-provider-bin-dir'),
    server: serverOf(source),
  };
}

function configurationOf(source: SettingSource, gates: FeatureGates): KubeletConfiguration {
  const nodeIps = source.text('node-ip').split(',').filter(Boolean);
  const restartMs = source.fileValue<{ maxContainerRestartPeriod?: string }>(
    'crashLoopBackOff',
  )?.maxContainerRestartPeriod;
  return {
    registerNode: source.flag('register-node', 'registerNode'),
    registerWithTaints: taints(source),
    nodeLabels: source.map<string>('node-labels'),
    nodeIps: nodeIps.filter((ip) => ip !== '0.0.0.0' && ip !== '::'),
    providerId: source.text('provider-id', 'providerID'),
    cloudProvider: source.text('cloud-provider'),
    nodeStatusUpdateFrequencyMs: source.duration('node-status-update-frequency', 'nodeStatusUpdateFrequency'),
    nodeStatusReportFrequencyMs: source.duration(undefined, 'nodeStatusReportFrequency'),
    nodeLeaseDurationSeconds: source.number(undefined, 'nodeLeaseDurationSeconds'),
    nodeStatusMaxImages: source.number('node-status-max-images', 'nodeStatusMaxImages'),
    maxPods: source.number('max-pods', 'maxPods'),
    userNamespaceIdsPerPod: idsPerPod(source),
    podPidsLimit: source.number('pod-max-pids', 'podPidsLimit'),
    podCidr: source.text('pod-cidr', 'podCIDR'),
    kubeReserved: source.map<string>('kube-reserved', 'kubeReserved'),
    systemReserved: source.map<string>('system-reserved', 'systemReserved'),
    ...pressureSettings(source),
    clusterDns: source.list('cluster-dns', 'clusterDNS'),
    clusterDomain: source.text('cluster-domain', 'clusterDomain'),
    resolvConf: source.text('resolv-conf', 'resolvConf'),
    rootDirectory: source.text('root-dir'),
    podLogsDirectory: source.text(undefined, 'podLogsDir'),
    containerLogsDirectory: defaultConfiguration.containerLogsDirectory,
    staticPodPath: source.text('pod-manifest-path', 'staticPodPath'),
    fileCheckFrequencyMs: source.duration('file-check-frequency', 'fileCheckFrequency'),
    syncFrequencyMs: source.duration('sync-frequency', 'syncFrequency'),
    ...cgroupSettings(source, gates),
    ...placementSettings(source, gates),
    cpuCfsQuota: source.flag('cpu-cfs-quota', 'cpuCFSQuota'),
    cpuCfsQuotaPeriodMs: source.duration('cpu-cfs-quota-period', 'cpuCFSQuotaPeriod'),
    seccompDefault: source.flag('seccomp-default', 'seccompDefault'),
    serializeImagePulls: source.flag('serialize-image-pulls', 'serializeImagePulls'),
    maxParallelImagePulls: source.fileValue<number>('maxParallelImagePulls') ?? Number.POSITIVE_INFINITY,
    ...pullVerification(source),
    imageMinimumGcAgeMs: source.duration('minimum-image-ttl-duration', 'imageMinimumGCAge'),
    imageMaximumGcAgeMs: source.duration(undefined, 'imageMaximumGCAge'),
    imageGcHighThresholdPercent: source.number('image-gc-high-threshold', 'imageGCHighThresholdPercent'),
    imageGcLowThresholdPercent: source.number('image-gc-low-threshold', 'imageGCLowThresholdPercent'),
    containerLogMaxSizeBytes: amountOf('memory', source.text('container-log-max-size', 'containerLogMaxSize')),
    containerLogMaxFiles: source.number('container-log-max-files', 'containerLogMaxFiles'),
    maxContainerRestartPeriodMs: restartMs
      ? duration(restartMs, 'crashLoopBackOff.maxContainerRestartPeriod')
      : 300_000,
    minimumContainerTtlMs: source.duration('minimum-container-ttl-duration'),
    maximumDeadContainersPerContainer: source.number('maximum-dead-containers-per-container'),
    maximumDeadContainers: source.number('maximum-dead-containers'),
    port: source.number('port', 'port'),
    allowedUnsafeSysctls: source.list('allowed-unsafe-sysctls', 'allowedUnsafeSysctls'),
  };
}

/** Ids come in units of what 16 bits can count, and all of them in 32. */
function idsPerPod(source: SettingSource): number {
  const unit = defaultConfiguration.userNamespaceIdsPerPod;
  const ids = source.fileValue<{ readonly idsPerPod?: number }>('userNamespaces')?.idsPerPod ?? unit;
  const rule =
    ids < unit
      ? `must not be less than ${unit}`
      : ids % unit !== 0
        ? `must be a multiple of ${unit}`
        : ids >= 2 ** 32
          ? `must not be more than ${2 ** 32 - 1}`
          : undefined;
  if (rule !== undefined) throw new FlagError(`invalid configuration: userNamespaces.idsPerPod ${rule}`);
  return ids;
}

/** What ends Pods for the node's sake: eviction, and shutdowns. */
function pressureSettings(source: SettingSource) {
  return {
    evictionHard: evictionHard(source),
    evictionSoft: source.map<string>('eviction-soft', 'evictionSoft'),
    evictionSoftGracePeriod: source.map<string>('eviction-soft-grace-period', 'evictionSoftGracePeriod'),
    evictionMinimumReclaim: source.map<string>('eviction-minimum-reclaim', 'evictionMinimumReclaim'),
    evictionPressureTransitionPeriodMs: source.duration(
      'eviction-pressure-transition-period',
      'evictionPressureTransitionPeriod',
    ),
    evictionMaxPodGracePeriodSeconds: source.number('eviction-max-pod-grace-period', 'evictionMaxPodGracePeriod'),
    localStorageCapacityIsolation: source.flag('local-storage-capacity-isolation', 'localStorageCapacityIsolation'),
    shutdownGracePeriodMs: source.duration(undefined, 'shutdownGracePeriod'),
    shutdownGracePeriodCriticalPodsMs: source.duration(undefined, 'shutdownGracePeriodCriticalPods'),
    shutdownGracePeriodByPodPriority: shutdownPriorities(source),
  } satisfies Partial<KubeletConfiguration>;
}

/** Who gets processors and memory for itself, and where. */
function placementSettings(source: SettingSource, gates: FeatureGates) {
  const topology = source.oneOf('topology-manager-policy', 'topologyManagerPolicy', [
    'none',
    'best-effort',
    'restricted',
    'single-numa-node',
  ]);
  return {
    cpuManagerPolicy: source.oneOf('cpu-manager-policy', 'cpuManagerPolicy', ['none', 'static']),
    cpuManagerPolicyOptions: source.map<string>('cpu-manager-policy-options', 'cpuManagerPolicyOptions'),
    cpuManagerReconcilePeriodMs: source.duration('cpu-manager-reconcile-period', 'cpuManagerReconcilePeriod'),
    reservedSystemCpus: source.text('reserved-cpus', 'reservedSystemCPUs'),
    memoryManagerPolicy: source.oneOf('memory-manager-policy', 'memoryManagerPolicy', ['None', 'Static']),
    reservedMemory: reservedMemory(source),
    topologyManagerPolicy: isGateOn(gates, 'TopologyManager') ? topology : 'none',
    topologyManagerScope: source.oneOf('topology-manager-scope', 'topologyManagerScope', ['container', 'pod']),
    topologyManagerPolicyOptions: source.map<string>('topology-manager-policy-options', 'topologyManagerPolicyOptions'),
  } satisfies Partial<KubeletConfiguration>;
}

function reservedMemory(source: SettingSource): readonly ReservedMemory[] {
  type Entry = { readonly numaNode?: number; readonly limits?: Readonly<Record<string, string>> };
  const entries = source.fileValue<readonly Entry[]>('reservedMemory') ?? [];
  return entries.map(({ numaNode = 0, limits }) => ({ numaNode, limits: amountsOf(limits) }));
}

/** Which groups there are, and what they limit. */
function cgroupSettings(source: SettingSource, gates: FeatureGates) {
  return {
    cgroupDriver: source.oneOf('cgroup-driver', 'cgroupDriver', ['cgroupfs', 'systemd']),
    cgroupRoot: source.text('cgroup-root', 'cgroupRoot') || '/',
    cgroupsPerQos: source.flag('cgroups-per-qos', 'cgroupsPerQOS'),
    enforceNodeAllocatable: source.list('enforce-node-allocatable', 'enforceNodeAllocatable'),
    swapBehavior: isGateOn(gates, 'NodeSwap') ? swapBehavior(source) : 'NoSwap',
    memoryThrottlingFactor: source.fileValue<number>('memoryThrottlingFactor') ?? 0.9,
    memoryReservationPolicy:
      source.fileValue<string>('memoryReservationPolicy') === 'TieredReservation' ? 'TieredReservation' : 'None',
    singleProcessOomKill: source.fileValue<boolean>('singleProcessOOMKill') ?? false,
    systemReservedCgroup: source.text('system-reserved-cgroup', 'systemReservedCgroup'),
    kubeReservedCgroup: source.text('kube-reserved-cgroup', 'kubeReservedCgroup'),
    featureGates: gates,
  } satisfies Partial<KubeletConfiguration>;
}

interface AuthenticationField {
  readonly x509?: { readonly clientCAFile?: string };
  readonly webhook?: { readonly enabled?: boolean; readonly cacheTTL?: string };
  readonly anonymous?: { readonly enabled?: boolean };
}

interface AuthorizationField {
  readonly mode?: string;
  readonly webhook?: { readonly cacheAuthorizedTTL?: string; readonly cacheUnauthorizedTTL?: string };
}

function serverOf(source: SettingSource): KubeletServerSettings {
  const { x509, webhook, anonymous } = source.fileValue<AuthenticationField>('authentication') ?? {};
  const authorization = source.fileValue<AuthorizationField>('authorization') ?? {};
  // The file's own defaults differ from those of the flags.
  const pick = <T>(flag: string, inFile: T | undefined, fileDefault: T): T =>
    source.isGiven(flag)
      ? (source.flagValue(flag) as T)
      : source.hasFile
        ? (inFile ?? fileDefault)
        : (source.flagValue(flag) as T);
  const milliseconds = (flag: string, inFile: string | undefined) =>
    duration(source.isGiven(flag) || inFile === undefined ? String(source.flagValue(flag)) : inFile, flag);
  const mode = pick('authorization-mode', authorization.mode, 'Webhook');
  if (mode !== 'AlwaysAllow' && mode !== 'Webhook') throw new FlagError(`unknown authorization mode ${mode}`);
  return {
    enabled: source.flag('enable-server', 'enableServer'),
    address: source.text('address', 'address'),
    port: source.number('port', 'port'),
    readOnlyPort: pick('read-only-port', source.fileValue<number>('readOnlyPort'), 0),
    healthzBindAddress: source.text('healthz-bind-address', 'healthzBindAddress'),
    healthzPort: source.number('healthz-port', 'healthzPort'),
    tlsCertFile: source.text('tls-cert-file', 'tlsCertFile'),
    tlsPrivateKeyFile: source.text('tls-private-key-file', 'tlsPrivateKeyFile'),
    tlsMinVersion: source.text('tls-min-version', 'tlsMinVersion'),
    tlsCipherSuites: source.list('tls-cipher-suites', 'tlsCipherSuites'),
    clientCaFile: pick('client-ca-file', x509?.clientCAFile, ''),
    anonymousAuthentication: pick('anonymous-auth', anonymous?.enabled, false),
    webhookAuthentication: pick('authentication-token-webhook', webhook?.enabled, true),
    webhookAuthenticationCacheMs: milliseconds('authentication-token-webhook-cache-ttl', webhook?.cacheTTL),
    authorizationMode: mode,
    authorizedCacheMs: milliseconds(
      'authorization-webhook-cache-authorized-ttl',
      authorization.webhook?.cacheAuthorizedTTL,
    ),
    unauthorizedCacheMs: milliseconds(
      'authorization-webhook-cache-unauthorized-ttl',
      authorization.webhook?.cacheUnauthorizedTTL,
    ),
    debuggingHandlers: source.flag('enable-debugging-handlers', 'enableDebuggingHandlers'),
    streamingIdleTimeoutMs: source.duration('streaming-connection-idle-timeout', 'streamingConnectionIdleTimeout'),
    systemLogHandler: source.fileValue<boolean>('enableSystemLogHandler') ?? true,
    systemLogQuery: source.fileValue<boolean>('enableSystemLogQuery') ?? false,
  };
}

/** Thresholds that are named replace all defaults, unless the file asks to merge them. */
function evictionHard(source: SettingSource): Readonly<Record<string, string>> {
  const named = source.map<string>('eviction-hard', 'evictionHard');
  return source.fileValue<boolean>('mergeDefaultEvictionSettings')
    ? { ...defaultConfiguration.evictionHard, ...named }
    : named;
}

/** Empty: as the documents say, limited. */
function swapBehavior(source: SettingSource): SwapBehavior {
  const text = source.fileValue<{ readonly swapBehavior?: string }>('memorySwap')?.swapBehavior || 'LimitedSwap';
  const found = swapBehaviors.find((behavior) => behavior === text);
  if (!found)
    throw new FlagError(
      `invalid configuration: memorySwap.swapBehavior "${text}" must be one of: ${swapBehaviors.map((name) => `"${name}"`).join(', ')}`,
    );
  return found;
}

function pullVerification(source: SettingSource) {
  const policy = source.text(undefined, 'imagePullCredentialsVerificationPolicy');
  const allowlist = source.fileValue<readonly string[]>('preloadedImagesVerificationAllowlist') ?? [];
  const problem = verificationProblem({ policy, allowlist });
  if (problem) throw new FlagError(problem);
  return {
    imagePullCredentialsVerificationPolicy: policy as PullVerificationPolicy,
    preloadedImagesVerificationAllowlist: allowlist,
  } satisfies Partial<KubeletConfiguration>;
}

function shutdownPriorities(source: SettingSource): readonly ShutdownPhase[] {
  type Entry = { readonly priority?: number; readonly shutdownGracePeriodSeconds?: number };
  const entries = source.fileValue<readonly Entry[]>('shutdownGracePeriodByPodPriority') ?? [];
  return entries.map(({ priority = 0, shutdownGracePeriodSeconds = 0 }) => ({
    priority,
    seconds: shutdownGracePeriodSeconds,
  }));
}

/** `key=value:effect`, as the flag has it; the file has objects. */
function taints(source: SettingSource): readonly Taint[] {
  const flag = 'register-with-taints';
  if (!source.isGiven(flag)) return source.fileValue<readonly Taint[]>('registerWithTaints') ?? [];
  return (source.flagValue(flag) as readonly string[]).map((text) => {
    const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
    if (!match) throw new FlagError(`invalid taint spec: ${text}`);
    return { key: match[1]!, ...(match[2] ? { value: match[2] } : {}), effect: match[3] as Taint['effect'] };
  });
}

function checkedFile(file: unknown): Readonly<Record<string, unknown>> {
  const object = file as Readonly<Record<string, unknown>> | null;
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    throw new Error('the configuration file does not hold an object');
  if (object.apiVersion !== 'kubelet.config.k8s.io/v1beta1' || object.kind !== 'KubeletConfiguration') {
    throw new Error(
      `no kind "${String(object.kind ?? '')}" is registered for version "${String(object.apiVersion ?? '')}"`,
    );
  }
  const unknown = Object.keys(object).filter(
    (name) => name !== 'apiVersion' && name !== 'kind' && !Object.hasOwn(configurationFields, name),
  );
  if (unknown.length > 0)
    throw new Error(`strict decoding error: ${unknown.map((name) => `unknown field "${name}"`).join(', ')}`);
  for (const [name, value] of Object.entries(object)) checkType(name, value);
  return object;
}

function checkType(name: string, value: unknown): void {
  const kind = configurationFields[name]?.kind;
  const isRight =
    value === null ||
    kind === undefined ||
    (kind === 'bool' && typeof value === 'boolean') ||
    (/^u?int|^float/.test(kind) && typeof value === 'number') ||
    ((kind === 'string' || kind === 'duration') && typeof value === 'string') ||
    (kind === 'list' && Array.isArray(value)) ||
    ((kind === 'map' || kind === 'object') && typeof value === 'object');
  if (!isRight)
    throw new Error(
      `json: cannot unmarshal ${typeof value} into Go struct field KubeletConfiguration.${name} of type ${kind}`,
    );
}

function duration(text: string, name: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined)
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "${name}": time: invalid duration ${JSON.stringify(text)}`,
    );
  return milliseconds;
}

class SettingSource {
  readonly hasFile: boolean;
  readonly #flags: ParsedFlags;
  readonly #file: Readonly<Record<string, unknown>>;

  constructor(parsed: ParsedFlags, file: Readonly<Record<string, unknown>> | undefined) {
    this.#flags = parsed;
    this.#file = file ?? {};
    this.hasFile = file !== undefined;
  }

  isGiven(flag: string): boolean {
    return this.#flags.given.has(flag);
  }

  flagValue(flag: string): unknown {
    return this.#flags.values.get(flag);
  }

  fileValue<T>(field: string): T | undefined {
    return (this.#file[field] ?? undefined) as T | undefined;
  }

  text(flag: string | undefined, field?: string): string {
    return String(this.#value(flag, field) ?? '');
  }

  number(flag: string | undefined, field?: string): number {
    return Number(this.#value(flag, field) ?? 0);
  }

  flag(flag: string, field?: string): boolean {
    return this.#value(flag, field) === true;
  }

  duration(flag: string | undefined, field?: string): number {
    return duration(this.text(flag, field) || '0s', flag ?? field ?? '');
  }

  list(flag: string, field?: string): readonly string[] {
    return (this.#value(flag, field) as readonly string[] | undefined) ?? [];
  }

  map<T>(flag: string, field?: string): Readonly<Record<string, T>> {
    return (this.#value(flag, field) as Readonly<Record<string, T>> | undefined) ?? {};
  }

  oneOf<T extends string>(flag: string, field: string, values: readonly T[]): T {
    const value = this.text(flag, field);
    const found = values.find((candidate) => candidate === value);
    if (!found) throw new FlagError(`invalid configuration: ${field} "${value}" must be one of ${values.join(', ')}`);
    return found;
  }

  #value(flag: string | undefined, field: string | undefined): unknown {
    if (flag !== undefined && this.isGiven(flag)) return this.flagValue(flag);
    const inFile = field === undefined ? undefined : this.fileValue(field);
    if (inFile !== undefined) return inFile;
    return flag === undefined ? configurationFields[field ?? '']?.default : this.flagValue(flag);
  }
}

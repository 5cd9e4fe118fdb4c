/**
 * Flags of kube-controller-manager and the options that follow from them. Pure: reading command lines and files is the composition
 * root's. Defaults are v1.36's but for the grace period of silent Nodes, 40 s as this project's documents have it, and for flags of
 * older releases that are taken and do nothing.
 */
import { parseDuration } from '../apimachinery/time.ts';
import type { CertificateAuthority } from '../pki/authority.ts';
import type { TokenSigner } from '../pki/token-signer.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import type { FeatureGates } from '../serving/feature-gates.ts';
import type { FlagDefinition } from '../serving/flags.ts';
import type { CertificateSigningOptions } from './certificatesigningrequest/signing-controller.ts';
import { flags } from './gen/flags.ts';
import type { HorizontalPodAutoscalerOptions } from './horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts';
import type { NodeIpamOptions } from './node-ipam/node-ipam-controller.ts';
import type { NodeLifecycleOptions } from './node-lifecycle/node-lifecycle-controller.ts';
import type { AttachDetachOptions } from './persistentvolume-attach-detach/persistentvolume-attach-detach-controller.ts';
import type { PodGarbageCollectorOptions } from './pod-garbage-collector/pod-garbage-collector-controller.ts';
import type { QuotaEvaluator } from './resourcequota/resourcequota-controller.ts';

export interface ControllerManagerOptions {
  /** As `--controllers`: `*`, `name`, `-name`. Default `*`. */
  readonly controllers?: readonly string[] | undefined;
  /** How long the controllers that Pods of a Deployment wait for run alone; default: not at all. */
  readonly headStartMs?: number | undefined;
  readonly featureGates?: FeatureGates | undefined;
  /** A context that acts as this ServiceAccount of `kube-system`; default: all act as the manager itself. */
  readonly contextFor?: ((serviceAccount: string) => ComponentContext) | undefined;
  /** PEM, published to every Namespace and given out with tokens. */
  readonly rootCA?: string | undefined;
  /** Signs the tokens of Secrets; its issuer should be `kubernetes/serviceaccount`. */
  readonly signLegacyToken?: TokenSigner['sign'] | undefined;
  /** Signs for all built-in signers that `signers` does not name. */
  readonly certificateAuthority?: CertificateAuthority | undefined;
  readonly signers?: CertificateSigningOptions['authorities'] | undefined;
  readonly certificateDurationSeconds?: number | undefined;
  /** Absent: no Pod addresses are allocated (`--allocate-node-cidrs=false`). */
  readonly nodeIpam?: NodeIpamOptions | undefined;
  readonly nodeLifecycle?: NodeLifecycleOptions | undefined;
  /** How much of a quota each object takes, as admission counts it; absent: quotas' statuses are not kept. */
  readonly quotaEvaluator?: (() => Promise<QuotaEvaluator>) | undefined;
  readonly quotaSyncPeriodMs?: number | undefined;
  readonly autoscaling?: Omit<HorizontalPodAutoscalerOptions, 'workers'> | undefined;
  readonly attachDetach?: AttachDetachOptions | undefined;
  readonly legacyTokenCleanUpPeriodMs?: number | undefined;
  readonly podGarbageCollection?: PodGarbageCollectorOptions | undefined;
  readonly maxEndpointsPerSlice?: number | undefined;
  readonly garbageCollection?: boolean | undefined;
  /** See `NamespaceControllerOptions`; default 5 s. */
  readonly namespaceDeletionGraceMs?: number | undefined;
  /** Keys reconciled at once, by controller name; defaults are upstream's. */
  readonly workers?: Readonly<Record<string, number>> | undefined;
}

/** Taken so that old command lines still work, and otherwise ignored. */
const retiredFlags: readonly FlagDefinition[] = [
  { name: 'pod-eviction-timeout', type: 'duration', default: '5m0s', deprecated: true },
  { name: 'enable-taint-manager', type: 'bool', default: true, deprecated: true },
  { name: 'register-retry-count', type: 'int32', default: 10, deprecated: true },
  { name: 'experimental-cluster-signing-duration', type: 'duration', default: '8760h0m0s', deprecated: true },
  { name: 'horizontal-pod-autoscaler-use-rest-clients', type: 'bool', default: true, deprecated: true },
  { name: 'address', type: 'ip', default: '0.0.0.0', deprecated: true },
  { name: 'port', type: 'int', default: 0, deprecated: true },
];

export const controllerManagerFlags: readonly FlagDefinition[] = [
  ...flags.map((flag) => (flag.name === 'node-monitor-grace-period' ? { ...flag, default: '40s' } : flag)),
  ...retiredFlags,
];

/** Flag of each controller's number of workers. */
const workerFlags: Readonly<Record<string, string>> = {
  'cronjob-controller': 'concurrent-cron-job-syncs',
  'daemonset-controller': 'concurrent-daemonset-syncs',
  'deployment-controller': 'concurrent-deployment-syncs',
  'device-taint-eviction-controller': 'concurrent-device-taint-eviction-syncs',
  'endpoints-controller': 'concurrent-endpoint-syncs',
  'endpointslice-controller': 'concurrent-service-endpoint-syncs',
  'endpointslice-mirroring-controller': 'mirroring-concurrent-service-endpoint-syncs',
  'garbage-collector-controller': 'concurrent-gc-syncs',
  'horizontal-pod-autoscaler-controller': 'concurrent-horizontal-pod-autoscaler-syncs',
  'job-controller': 'concurrent-job-syncs',
  'namespace-controller': 'concurrent-namespace-syncs',
  'replicaset-controller': 'concurrent-replicaset-syncs',
  'replicationcontroller-controller': 'concurrent_rc_syncs',
  'resourceclaim-controller': 'concurrent-resourceclaim-syncs',
  'resourcequota-controller': 'concurrent-resource-quota-syncs',
  'serviceaccount-token-controller': 'concurrent-serviceaccount-token-syncs',
  'statefulset-controller': 'concurrent-statefulset-syncs',
  'ttl-after-finished-controller': 'concurrent-ttl-after-finished-syncs',
};

/**
 * Options from the values of `parseFlags(controllerManagerFlags, ...)`. What lies in files (certificates, keys, kubeconfigs) is
 * read by the caller and added.
 */
export function controllerManagerOptions(
  values: ReadonlyMap<string, unknown>,
  featureGates: FeatureGates = {},
): ControllerManagerOptions {
  const number = (name: string) => Number(values.get(name) ?? 0);
  const milliseconds = (name: string) => parseDuration(String(values.get(name) ?? '0')) ?? 0;
  const list = (name: string) =>
    String(values.get(name) ?? '')
      .split(',')
      .filter((item) => item !== '');
  const mask = (family: 4 | 6) =>
    number(`node-cidr-mask-size-ipv${family}`) || (family === 4 ? number('node-cidr-mask-size') : 0);
  const honoursOutOfService = featureGates.NodeOutOfServiceVolumeDetach ?? true;
  return {
    controllers: (values.get('controllers') as readonly string[] | undefined) ?? ['*'],
    featureGates,
    certificateDurationSeconds: milliseconds('cluster-signing-duration') / 1000,
    nodeIpam:
      values.get('allocate-node-cidrs') === true
        ? {
            clusterCidrs: list('cluster-cidr'),
            serviceCidrs: list('service-cluster-ip-range'),
            maskSizeIpv4: mask(4) || undefined,
            maskSizeIpv6: mask(6) || undefined,
          }
        : undefined,
    nodeLifecycle: {
      monitorPeriodMs: milliseconds('node-monitor-period'),
      monitorGraceMs: milliseconds('node-monitor-grace-period'),
      startupGraceMs: milliseconds('node-startup-grace-period'),
      evictionRate: number('node-eviction-rate'),
      secondaryEvictionRate: number('secondary-node-eviction-rate'),
      largeClusterThreshold: number('large-cluster-size-threshold'),
      unhealthyThreshold: number('unhealthy-zone-threshold'),
    },
    quotaSyncPeriodMs: milliseconds('resource-quota-sync-period'),
    autoscaling: {
      syncPeriodMs: milliseconds('horizontal-pod-autoscaler-sync-period'),
      tolerance: number('horizontal-pod-autoscaler-tolerance'),
      downscaleStabilizationMs: milliseconds('horizontal-pod-autoscaler-downscale-stabilization'),
      cpuInitializationMs: milliseconds('horizontal-pod-autoscaler-cpu-initialization-period'),
      initialReadinessDelayMs: milliseconds('horizontal-pod-autoscaler-initial-readiness-delay'),
    },
    attachDetach: {
      syncPeriodMs: milliseconds('attach-detach-reconcile-sync-period'),
      syncDisabled: values.get('disable-attach-detach-reconcile-sync') === true,
      neverByForce: values.get('disable-force-detach-on-timeout') === true,
      ignoresOutOfService: !honoursOutOfService,
    },
    legacyTokenCleanUpPeriodMs: milliseconds('legacy-service-account-token-clean-up-period'),
    podGarbageCollection: {
      terminatedThreshold: number('terminated-pod-gc-threshold'),
      ignoresOutOfService: !honoursOutOfService,
    },
    maxEndpointsPerSlice: number('max-endpoints-per-slice'),
    garbageCollection: values.get('enable-garbage-collector') !== false,
    workers: Object.fromEntries(Object.entries(workerFlags).map(([controller, flag]) => [controller, number(flag)])),
  };
}

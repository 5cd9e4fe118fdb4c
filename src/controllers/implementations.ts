/**
 * How each controller is started: its function, what it takes from the manager's options, and as whom it acts. A controller of
 * upstream's table that is missing here is not built. The code of a controller is loaded when it is started.
 */
import { withOwnImports } from '../base/own-imports.ts';
import { legacyTokenClaims } from '../pki/service-account-token.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import type { ControllerManagerOptions } from './options.ts';

export interface Implementation {
  /** Absent: acts as the manager itself. */
  readonly serviceAccount: string | undefined;
  readonly run: (context: ComponentContext, options: ControllerManagerOptions) => Promise<void>;
}

type Runner = (context: ComponentContext, options: { readonly workers?: number | undefined }) => Promise<void>;

/** A controller that takes nothing but its number of workers. */
function plain(name: string, serviceAccount: string, load: () => Promise<Runner>): readonly [string, Implementation] {
  const run: Implementation['run'] = async (context, options) => {
    const runner = await withOwnImports(load);
    await runner(context, { workers: options.workers?.[name] });
  };
  return [name, { serviceAccount, run }];
}

type Start<M> = (module: M, context: ComponentContext, options: ControllerManagerOptions) => Promise<void>;

/** A controller that takes something of its own. */
function of<M>(
  name: string,
  serviceAccount: string | undefined,
  load: () => Promise<M>,
  start: Start<M>,
): readonly [string, Implementation] {
  const run: Implementation['run'] = async (context, options) => start(await withOwnImports(load), context, options);
  return [name, { serviceAccount, run }];
}

/** For a controller that cannot work without what it was not given. */
async function notStarted(context: ComponentContext, controller: string, missing: string): Promise<void> {
  context.log.info('controller is not started', { controller, missing });
}

export const implementations: Readonly<Record<string, Implementation>> = Object.fromEntries([
  plain('deployment-controller', 'deployment-controller', () =>
    import('./deployment/deployment-controller.ts').then((module) => module.runDeploymentController),
  ),
  plain('replicaset-controller', 'replicaset-controller', () =>
    import('./replicaset/replicaset-controller.ts').then((module) => module.runReplicaSetController),
  ),
  plain('replicationcontroller-controller', 'replication-controller', () =>
    import('./replicationcontroller/replicationcontroller-controller.ts').then(
      (module) => module.runReplicationControllerController,
    ),
  ),
  plain('daemonset-controller', 'daemon-set-controller', () =>
    import('./daemonset/daemonset-controller.ts').then((module) => module.runDaemonSetController),
  ),
  plain('statefulset-controller', 'statefulset-controller', () =>
    import('./statefulset/statefulset-controller.ts').then((module) => module.runStatefulSetController),
  ),
  plain('cronjob-controller', 'cronjob-controller', () =>
    import('./cronjob/cronjob-controller.ts').then((module) => module.runCronJobController),
  ),
  plain('job-controller', 'job-controller', () =>
    import('./job/job-controller.ts').then((module) => module.runJobController),
  ),
  plain('ttl-after-finished-controller', 'ttl-after-finished-controller', () =>
    import('./ttl-after-finished/ttl-after-finished-controller.ts').then(
      (module) => module.runTtlAfterFinishedController,
    ),
  ),
  plain('endpoints-controller', 'endpoint-controller', () =>
    import('./endpoints/endpoints-controller.ts').then((module) => module.runEndpointsController),
  ),
  of(
    'endpointslice-controller',
    'endpointslice-controller',
    () => import('./endpointslice/endpointslice-controller.ts'),
    ({ runEndpointSliceController }, context, { maxEndpointsPerSlice, workers }) =>
      runEndpointSliceController(context, { maxEndpointsPerSlice, workers: workers?.['endpointslice-controller'] }),
  ),
  plain('endpointslice-mirroring-controller', 'endpointslicemirroring-controller', () =>
    import('./endpointslice-mirroring/endpointslice-mirroring-controller.ts').then(
      (module) => module.runEndpointSliceMirroringController,
    ),
  ),
  of(
    'namespace-controller',
    'namespace-controller',
    () => import('./namespace/namespace-controller.ts'),
    ({ runNamespaceController }, context, { namespaceDeletionGraceMs, workers }) =>
      runNamespaceController(context, {
        deletionGraceMs: namespaceDeletionGraceMs,
        workers: workers?.['namespace-controller'],
      }),
  ),
  of(
    'garbage-collector-controller',
    'generic-garbage-collector',
    () => import('./garbage-collector/garbage-collector-controller.ts'),
    ({ runGarbageCollectorController }, context, { garbageCollection, workers }) =>
      runGarbageCollectorController(context, {
        enabled: garbageCollection,
        workers: workers?.['garbage-collector-controller'],
      }),
  ),
  plain('disruption-controller', 'disruption-controller', () =>
    import('./disruption/disruption-controller.ts').then((module) => module.runDisruptionController),
  ),
  plain('clusterrole-aggregation-controller', 'clusterrole-aggregation-controller', () =>
    import('./clusterrole-aggregation/clusterrole-aggregation-controller.ts').then(
      (module) => module.runClusterRoleAggregationController,
    ),
  ),
  plain('ttl-controller', 'ttl-controller', () =>
    import('./ttl/ttl-controller.ts').then((module) => module.runTtlController),
  ),
  plain('service-cidr-controller', 'service-cidrs-controller', () =>
    import('./service-cidr/service-cidr-controller.ts').then((module) => module.runServiceCidrController),
  ),
  plain('bootstrap-signer-controller', 'bootstrap-signer', () =>
    import('./bootstrap-signer/bootstrap-signer-controller.ts').then((module) => module.runBootstrapSignerController),
  ),
  plain('token-cleaner-controller', 'token-cleaner', () =>
    import('./token-cleaner/token-cleaner-controller.ts').then((module) => module.runTokenCleanerController),
  ),
  plain('persistentvolumeclaim-protection-controller', 'pvc-protection-controller', () =>
    import('./persistentvolumeclaim-protection/persistentvolumeclaim-protection-controller.ts').then(
      (module) => module.runPersistentVolumeClaimProtectionController,
    ),
  ),
  plain('persistentvolume-binder-controller', 'persistent-volume-binder', () =>
    import('./persistentvolume-binder/persistentvolume-binder-controller.ts').then(
      (module) => module.runPersistentVolumeBinderController,
    ),
  ),
  of(
    'persistentvolume-attach-detach-controller',
    'attachdetach-controller',
    () => import('./persistentvolume-attach-detach/persistentvolume-attach-detach-controller.ts'),
    ({ runAttachDetachController }, context, { attachDetach }) => runAttachDetachController(context, attachDetach),
  ),
  plain('ephemeral-volume-controller', 'ephemeral-volume-controller', () =>
    import('./ephemeral-volume/ephemeral-volume-controller.ts').then((module) => module.runEphemeralVolumeController),
  ),
  plain('resourceclaim-controller', 'resource-claim-controller', () =>
    import('./resourceclaim/resourceclaim-controller.ts').then((module) => module.runResourceClaimController),
  ),
  of(
    'device-taint-eviction-controller',
    'device-taint-eviction-controller',
    () => import('./device-taint-eviction/device-taint-eviction-controller.ts'),
    ({ runDeviceTaintEvictionController }, context, { featureGates, workers }) =>
      runDeviceTaintEvictionController(context, {
        workers: workers?.['device-taint-eviction-controller'],
        rules: featureGates?.DRADeviceTaintRules,
      }),
  ),
  plain('persistentvolume-expander-controller', 'expand-controller', () =>
    import('./persistentvolume-expander/persistentvolume-expander-controller.ts').then(
      (module) => module.runPersistentVolumeExpanderController,
    ),
  ),
  plain('persistentvolume-protection-controller', 'pv-protection-controller', () =>
    import('./persistentvolume-protection/persistentvolume-protection-controller.ts').then(
      (module) => module.runPersistentVolumeProtectionController,
    ),
  ),
  plain('volumeattributesclass-protection-controller', 'volumeattributesclass-protection-controller', () =>
    import('./volumeattributesclass-protection/volumeattributesclass-protection-controller.ts').then(
      (module) => module.runVolumeAttributesClassProtectionController,
    ),
  ),
  of(
    'storage-version-migrator-controller',
    'storage-version-migrator-controller',
    () => import('./storage-version-migrator/storage-version-migrator-controller.ts'),
    ({ runStorageVersionMigrator }, context) => runStorageVersionMigrator(context),
  ),
  of(
    'horizontal-pod-autoscaler-controller',
    'horizontal-pod-autoscaler',
    () => import('./horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts'),
    ({ runHorizontalPodAutoscalerController }, context, { autoscaling, workers }) =>
      runHorizontalPodAutoscalerController(context, {
        ...autoscaling,
        workers: workers?.['horizontal-pod-autoscaler-controller'],
      }),
  ),
  of(
    'resourcequota-controller',
    'resourcequota-controller',
    () => import('./resourcequota/resourcequota-controller.ts'),
    async ({ runResourceQuotaController }, context, { quotaEvaluator, quotaSyncPeriodMs: syncPeriodMs, workers }) => {
      if (!quotaEvaluator) return await notStarted(context, 'resourcequota-controller', 'the rules of counting');
      await runResourceQuotaController(context, {
        evaluator: await quotaEvaluator(),
        syncPeriodMs,
        workers: workers?.['resourcequota-controller'],
      });
    },
  ),
  of(
    'serviceaccount-controller',
    'service-account-controller',
    () => import('./serviceaccount/serviceaccount-controller.ts'),
    ({ runServiceAccountController }, context) => runServiceAccountController(context),
  ),
  of(
    'legacy-serviceaccount-token-cleaner-controller',
    'legacy-service-account-token-cleaner',
    () => import('./legacy-serviceaccount-token-cleaner/legacy-serviceaccount-token-cleaner-controller.ts'),
    ({ runLegacyTokenCleanerController }, context, { legacyTokenCleanUpPeriodMs: cleanUpPeriodMs }) =>
      runLegacyTokenCleanerController(context, { cleanUpPeriodMs }),
  ),
  // The account by which others get their tokens can have none itself.
  of(
    'serviceaccount-token-controller',
    undefined,
    () => import('./serviceaccount-token/serviceaccount-token-controller.ts'),
    async ({ runServiceAccountTokenController }, context, { signLegacyToken, rootCA, workers }) => {
      if (!signLegacyToken)
        return await notStarted(context, 'serviceaccount-token-controller', 'a key to sign tokens with');
      await runServiceAccountTokenController(context, {
        workers: workers?.['serviceaccount-token-controller'],
        rootCA,
        issueToken: (of) => signLegacyToken(legacyTokenClaims(of)),
      });
    },
  ),
  of(
    'root-ca-certificate-publisher-controller',
    'root-ca-cert-publisher',
    () => import('./root-ca-certificate-publisher/root-ca-certificate-publisher-controller.ts'),
    async ({ runRootCACertificatePublisherController }, context, { rootCA }) => {
      if (!rootCA) return await notStarted(context, 'root-ca-certificate-publisher-controller', 'a root certificate');
      await runRootCACertificatePublisherController(context, { rootCA });
    },
  ),
  of(
    'validatingadmissionpolicy-status-controller',
    'validatingadmissionpolicy-status-controller',
    () => import('./validatingadmissionpolicy-status/validatingadmissionpolicy-status-controller.ts'),
    ({ runValidatingAdmissionPolicyStatusController }, context) =>
      runValidatingAdmissionPolicyStatusController(context),
  ),
  of(
    'node-lifecycle-controller',
    'node-controller',
    () => import('./node-lifecycle/node-lifecycle-controller.ts'),
    ({ runNodeLifecycleController }, context, { nodeLifecycle }) => runNodeLifecycleController(context, nodeLifecycle),
  ),
  of(
    'taint-eviction-controller',
    'node-controller',
    () => import('./taint-eviction/taint-eviction-controller.ts'),
    ({ runTaintEvictionController }, context) => runTaintEvictionController(context),
  ),
  of(
    'node-ipam-controller',
    'node-controller',
    () => import('./node-ipam/node-ipam-controller.ts'),
    async ({ runNodeIpamController }, context, { nodeIpam }) => {
      if (nodeIpam) await runNodeIpamController(context, nodeIpam);
    },
  ),
  of(
    'pod-garbage-collector-controller',
    'pod-garbage-collector',
    () => import('./pod-garbage-collector/pod-garbage-collector-controller.ts'),
    ({ runPodGarbageCollectorController }, context, { podGarbageCollection }) =>
      runPodGarbageCollectorController(context, podGarbageCollection),
  ),
  of(
    'certificatesigningrequest-approving-controller',
    'certificate-controller',
    () => import('./certificatesigningrequest/approving-controller.ts'),
    ({ runCertificateApprovingController }, context) => runCertificateApprovingController(context),
  ),
  of(
    'certificatesigningrequest-cleaner-controller',
    'certificate-controller',
    () => import('./certificatesigningrequest/cleaner-controller.ts'),
    ({ runCertificateCleanerController }, context) => runCertificateCleanerController(context),
  ),
  of(
    'certificatesigningrequest-signing-controller',
    'certificate-controller',
    () => import('./certificatesigningrequest/signing-controller.ts'),
    async ({ runCertificateSigningController }, context, options) => {
      const { certificateAuthority: all, signers } = options;
      if (!all && !signers) {
        return await notStarted(context, 'certificatesigningrequest-signing-controller', 'a certificate authority');
      }
      await runCertificateSigningController(context, {
        authorities: { apiServerClient: all, kubeletClient: all, kubeletServing: all, legacyUnknown: all, ...signers },
        durationSeconds: options.certificateDurationSeconds,
      });
    },
  ),
]);

/**
 * How each controller is started: its function, what it takes from the manager's options, and as whom it acts. A controller of
 * upstream's table that is missing here is not built.
 */
import { legacyTokenClaims } from '../pki/service-account-token.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { runBootstrapSignerController } from './bootstrap-signer/bootstrap-signer-controller.ts';
import { runCertificateApprovingController } from './certificatesigningrequest/approving-controller.ts';
import { runCertificateCleanerController } from './certificatesigningrequest/cleaner-controller.ts';
import { runCertificateSigningController } from './certificatesigningrequest/signing-controller.ts';
import { runClusterRoleAggregationController } from './clusterrole-aggregation/clusterrole-aggregation-controller.ts';
import { runCronJobController } from './cronjob/cronjob-controller.ts';
import { runDaemonSetController } from './daemonset/daemonset-controller.ts';
import { runDeploymentController } from './deployment/deployment-controller.ts';
import { runDisruptionController } from './disruption/disruption-controller.ts';
import { runEndpointsController } from './endpoints/endpoints-controller.ts';
import { runEndpointSliceController } from './endpointslice/endpointslice-controller.ts';
import { runEndpointSliceMirroringController } from './endpointslice-mirroring/endpointslice-mirroring-controller.ts';
import { runEphemeralVolumeController } from './ephemeral-volume/ephemeral-volume-controller.ts';
import { runGarbageCollectorController } from './garbage-collector/garbage-collector-controller.ts';
import { runHorizontalPodAutoscalerController } from './horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts';
import { runJobController } from './job/job-controller.ts';
import { runNamespaceController } from './namespace/namespace-controller.ts';
import { runNodeIpamController } from './node-ipam/node-ipam-controller.ts';
import { runNodeLifecycleController } from './node-lifecycle/node-lifecycle-controller.ts';
import type { ControllerManagerOptions } from './options.ts';
import { runPersistentVolumeBinderController } from './persistentvolume-binder/persistentvolume-binder-controller.ts';
import { runPersistentVolumeProtectionController } from './persistentvolume-protection/persistentvolume-protection-controller.ts';
import { runPersistentVolumeClaimProtectionController } from './persistentvolumeclaim-protection/persistentvolumeclaim-protection-controller.ts';
import { runPodGarbageCollectorController } from './pod-garbage-collector/pod-garbage-collector-controller.ts';
import { runReplicaSetController } from './replicaset/replicaset-controller.ts';
import { runReplicationControllerController } from './replicationcontroller/replicationcontroller-controller.ts';
import { runResourceQuotaController } from './resourcequota/resourcequota-controller.ts';
import { runRootCACertificatePublisherController } from './root-ca-certificate-publisher/root-ca-certificate-publisher-controller.ts';
import { runServiceAccountController } from './serviceaccount/serviceaccount-controller.ts';
import { runServiceAccountTokenController } from './serviceaccount-token/serviceaccount-token-controller.ts';
import { runStatefulSetController } from './statefulset/statefulset-controller.ts';
import { runTaintEvictionController } from './taint-eviction/taint-eviction-controller.ts';
import { runTokenCleanerController } from './token-cleaner/token-cleaner-controller.ts';
import { runTtlController } from './ttl/ttl-controller.ts';
import { runTtlAfterFinishedController } from './ttl-after-finished/ttl-after-finished-controller.ts';

export interface Implementation {
  /** Absent: acts as the manager itself. */
  readonly serviceAccount: string | undefined;
  readonly run: (context: ComponentContext, options: ControllerManagerOptions) => Promise<void>;
}

type Runner = (context: ComponentContext, options: { readonly workers?: number | undefined }) => Promise<void>;

/** A controller that takes nothing but its number of workers. */
function plain(name: string, serviceAccount: string, run: Runner): readonly [string, Implementation] {
  return [name, { serviceAccount, run: (context, options) => run(context, { workers: options.workers?.[name] }) }];
}

function of(
  name: string,
  serviceAccount: string | undefined,
  run: Implementation['run'],
): readonly [string, Implementation] {
  return [name, { serviceAccount, run }];
}

/** For a controller that cannot work without what it was not given. */
async function notStarted(context: ComponentContext, controller: string, missing: string): Promise<void> {
  context.log.info('controller is not started', { controller, missing });
}

export const implementations: Readonly<Record<string, Implementation>> = Object.fromEntries([
  plain('deployment-controller', 'deployment-controller', runDeploymentController),
  plain('replicaset-controller', 'replicaset-controller', runReplicaSetController),
  plain('replicationcontroller-controller', 'replication-controller', runReplicationControllerController),
  plain('daemonset-controller', 'daemon-set-controller', runDaemonSetController),
  plain('statefulset-controller', 'statefulset-controller', runStatefulSetController),
  plain('cronjob-controller', 'cronjob-controller', runCronJobController),
  plain('job-controller', 'job-controller', runJobController),
  plain('ttl-after-finished-controller', 'ttl-after-finished-controller', runTtlAfterFinishedController),
  plain('endpoints-controller', 'endpoint-controller', runEndpointsController),
  of('endpointslice-controller', 'endpointslice-controller', (context, { maxEndpointsPerSlice, workers }) =>
    runEndpointSliceController(context, { maxEndpointsPerSlice, workers: workers?.['endpointslice-controller'] }),
  ),
  plain('endpointslice-mirroring-controller', 'endpointslicemirroring-controller', runEndpointSliceMirroringController),
  of('namespace-controller', 'namespace-controller', (context, { namespaceDeletionGraceMs, workers }) =>
    runNamespaceController(context, {
      deletionGraceMs: namespaceDeletionGraceMs,
      workers: workers?.['namespace-controller'],
    }),
  ),
  of('garbage-collector-controller', 'generic-garbage-collector', (context, { garbageCollection, workers }) =>
    runGarbageCollectorController(context, {
      enabled: garbageCollection,
      workers: workers?.['garbage-collector-controller'],
    }),
  ),
  plain('disruption-controller', 'disruption-controller', runDisruptionController),
  plain(
    'clusterrole-aggregation-controller',
    'clusterrole-aggregation-controller',
    runClusterRoleAggregationController,
  ),
  plain('ttl-controller', 'ttl-controller', runTtlController),
  plain('bootstrap-signer-controller', 'bootstrap-signer', runBootstrapSignerController),
  plain('token-cleaner-controller', 'token-cleaner', runTokenCleanerController),
  plain(
    'persistentvolumeclaim-protection-controller',
    'pvc-protection-controller',
    runPersistentVolumeClaimProtectionController,
  ),
  plain('persistentvolume-binder-controller', 'persistent-volume-binder', runPersistentVolumeBinderController),
  plain('ephemeral-volume-controller', 'ephemeral-volume-controller', runEphemeralVolumeController),
  plain('persistentvolume-protection-controller', 'pv-protection-controller', runPersistentVolumeProtectionController),
  of('horizontal-pod-autoscaler-controller', 'horizontal-pod-autoscaler', (context, { autoscaling, workers }) =>
    runHorizontalPodAutoscalerController(context, {
      ...autoscaling,
      workers: workers?.['horizontal-pod-autoscaler-controller'],
    }),
  ),
  of('resourcequota-controller', 'resourcequota-controller', async (context, { quotaEvaluator, workers }) => {
    if (!quotaEvaluator) return await notStarted(context, 'resourcequota-controller', 'the rules of counting');
    await runResourceQuotaController(context, {
      evaluator: quotaEvaluator,
      workers: workers?.['resourcequota-controller'],
    });
  }),
  of('serviceaccount-controller', 'service-account-controller', (context) => runServiceAccountController(context)),
  // The account by which others get their tokens can have none itself.
  of('serviceaccount-token-controller', undefined, async (context, { signLegacyToken, rootCA, workers }) => {
    if (!signLegacyToken)
      return await notStarted(context, 'serviceaccount-token-controller', 'a key to sign tokens with');
    await runServiceAccountTokenController(context, {
      workers: workers?.['serviceaccount-token-controller'],
      rootCA,
      issueToken: (of) => signLegacyToken(legacyTokenClaims(of)),
    });
  }),
  of('root-ca-certificate-publisher-controller', 'root-ca-cert-publisher', async (context, { rootCA }) => {
    if (!rootCA) return await notStarted(context, 'root-ca-certificate-publisher-controller', 'a root certificate');
    await runRootCACertificatePublisherController(context, { rootCA });
  }),
  of('node-lifecycle-controller', 'node-controller', (context, { nodeLifecycle }) =>
    runNodeLifecycleController(context, nodeLifecycle),
  ),
  of('taint-eviction-controller', 'node-controller', (context) => runTaintEvictionController(context)),
  of('node-ipam-controller', 'node-controller', async (context, { nodeIpam }) => {
    if (nodeIpam) await runNodeIpamController(context, nodeIpam);
  }),
  of('pod-garbage-collector-controller', 'pod-garbage-collector', (context, { terminatedPodThreshold }) =>
    runPodGarbageCollectorController(context, { terminatedThreshold: terminatedPodThreshold }),
  ),
  of('certificatesigningrequest-approving-controller', 'certificate-controller', (context) =>
    runCertificateApprovingController(context),
  ),
  of('certificatesigningrequest-cleaner-controller', 'certificate-controller', (context) =>
    runCertificateCleanerController(context),
  ),
  of('certificatesigningrequest-signing-controller', 'certificate-controller', async (context, options) => {
    const { certificateAuthority: all, signers } = options;
    if (!all && !signers) {
      return await notStarted(context, 'certificatesigningrequest-signing-controller', 'a certificate authority');
    }
    await runCertificateSigningController(context, {
      authorities: { apiServerClient: all, kubeletClient: all, kubeletServing: all, legacyUnknown: all, ...signers },
      durationSeconds: options.certificateDurationSeconds,
    });
  }),
]);

/** Controllers of kube-controller-manager, kubernetes-1.36. Derived from facts/ by scripts/generate-controllers.ts: change the facts, not this file. */

export interface ControllerRow {
  readonly name: string;
  /** Older names that `--controllers` still takes. */
  readonly aliases: readonly string[];
  /** Whether `*` includes it. */
  readonly enabledByDefault: boolean;
  /** All must be on for it to run. */
  readonly gates: readonly { readonly name: string; readonly default: boolean }[];
  /** Runs in the cloud controller manager. */
  readonly cloud: boolean;
}

export const controllerRows: readonly ControllerRow[] = [
  {"name":"serviceaccount-token-controller","aliases":["serviceaccount-token"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"endpoints-controller","aliases":["endpoint"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"endpointslice-controller","aliases":["endpointslice"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"endpointslice-mirroring-controller","aliases":["endpointslicemirroring"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"replicationcontroller-controller","aliases":["replicationcontroller"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"pod-garbage-collector-controller","aliases":["podgc"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"resourcequota-controller","aliases":["resourcequota"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"namespace-controller","aliases":["namespace"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"serviceaccount-controller","aliases":["serviceaccount"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"garbage-collector-controller","aliases":["garbagecollector"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"daemonset-controller","aliases":["daemonset"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"job-controller","aliases":["job"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"podgroup-protection-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"GenericWorkload","default":false}],"cloud":false},
  {"name":"deployment-controller","aliases":["deployment"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"replicaset-controller","aliases":["replicaset"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"horizontal-pod-autoscaler-controller","aliases":["horizontalpodautoscaling"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"disruption-controller","aliases":["disruption"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"statefulset-controller","aliases":["statefulset"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"cronjob-controller","aliases":["cronjob"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"certificatesigningrequest-signing-controller","aliases":["csrsigning"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"certificatesigningrequest-approving-controller","aliases":["csrapproving"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"certificatesigningrequest-cleaner-controller","aliases":["csrcleaner"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"podcertificaterequest-cleaner-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"PodCertificateRequest","default":false}],"cloud":false},
  {"name":"ttl-controller","aliases":["ttl"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"bootstrap-signer-controller","aliases":["bootstrapsigner"],"enabledByDefault":false,"gates":[],"cloud":false},
  {"name":"token-cleaner-controller","aliases":["tokencleaner"],"enabledByDefault":false,"gates":[],"cloud":false},
  {"name":"node-ipam-controller","aliases":["nodeipam"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"node-lifecycle-controller","aliases":["nodelifecycle"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"service-lb-controller","aliases":["service"],"enabledByDefault":true,"gates":[],"cloud":true},
  {"name":"node-route-controller","aliases":["route"],"enabledByDefault":true,"gates":[],"cloud":true},
  {"name":"cloud-node-lifecycle-controller","aliases":["cloud-node-lifecycle"],"enabledByDefault":true,"gates":[],"cloud":true},
  {"name":"persistentvolume-binder-controller","aliases":["persistentvolume-binder"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"persistentvolume-attach-detach-controller","aliases":["attachdetach"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"persistentvolume-expander-controller","aliases":["persistentvolume-expander"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"clusterrole-aggregation-controller","aliases":["clusterrole-aggregation"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"persistentvolumeclaim-protection-controller","aliases":["pvc-protection"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"persistentvolume-protection-controller","aliases":["pv-protection"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"volumeattributesclass-protection-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"VolumeAttributesClass","default":true}],"cloud":false},
  {"name":"ttl-after-finished-controller","aliases":["ttl-after-finished"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"root-ca-certificate-publisher-controller","aliases":["root-ca-cert-publisher"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"kube-apiserver-serving-clustertrustbundle-publisher-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"ClusterTrustBundle","default":false}],"cloud":false},
  {"name":"ephemeral-volume-controller","aliases":["ephemeral-volume"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"storageversion-garbage-collector-controller","aliases":["storage-version-gc"],"enabledByDefault":true,"gates":[{"name":"APIServerIdentity","default":false},{"name":"StorageVersionAPI","default":false}],"cloud":false},
  {"name":"resourceclaim-controller","aliases":["resource-claim-controller"],"enabledByDefault":true,"gates":[{"name":"DynamicResourceAllocation","default":true}],"cloud":false},
  {"name":"resourcepoolstatusrequest-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"DRAResourcePoolStatus","default":false}],"cloud":false},
  {"name":"device-taint-eviction-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"DynamicResourceAllocation","default":true},{"name":"DRADeviceTaints","default":true}],"cloud":false},
  {"name":"legacy-serviceaccount-token-cleaner-controller","aliases":["legacy-service-account-token-cleaner"],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"validatingadmissionpolicy-status-controller","aliases":[],"enabledByDefault":true,"gates":[],"cloud":false},
  {"name":"taint-eviction-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"SeparateTaintEvictionController","default":true}],"cloud":false},
  {"name":"service-cidr-controller","aliases":[],"enabledByDefault":true,"gates":[{"name":"MultiCIDRServiceAllocator","default":true}],"cloud":false},
  {"name":"storage-version-migrator-controller","aliases":["svm"],"enabledByDefault":true,"gates":[{"name":"StorageVersionMigrator","default":false}],"cloud":false},
  {"name":"selinux-warning-controller","aliases":[],"enabledByDefault":false,"gates":[{"name":"SELinuxChangePolicy","default":true}],"cloud":false},
];

/** Types of meta/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */

export interface APIGroup {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly name: string;
  readonly versions: readonly GroupVersionForDiscovery[];
  readonly preferredVersion?: GroupVersionForDiscovery | undefined;
  readonly serverAddressByClientCIDRs?: readonly ServerAddressByClientCIDR[] | undefined;
}

export interface APIGroupList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly groups: readonly APIGroup[];
}

export interface APIResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly kind: string;
  readonly verbs: Verbs;
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  readonly storageVersionHash?: string | undefined;
}

export interface APIResourceList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly groupVersion: string;
  readonly resources: readonly APIResource[];
}

export interface APIVersions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly versions: readonly string[];
  readonly serverAddressByClientCIDRs: readonly ServerAddressByClientCIDR[];
}

export interface ApplyOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly dryRun?: readonly string[] | undefined;
  readonly force: boolean;
  readonly fieldManager: string;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number | undefined;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

export interface CreateOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly dryRun?: readonly string[] | undefined;
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: string | undefined;
}

export interface DeleteOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?: Preconditions | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly propagationPolicy?: string | undefined;
  readonly dryRun?: readonly string[] | undefined;
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean | undefined;
}

export interface FieldSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

export interface GetOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export interface GroupVersionForDiscovery {
  readonly groupVersion: string;
  readonly version: string;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?: readonly LabelSelectorRequirement[] | undefined;
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

export interface List {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata?: ListMeta | undefined;
  readonly items: readonly unknown[];
}

export interface ListMeta {
  readonly selfLink?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly continue?: string | undefined;
  readonly remainingItemCount?: number | undefined;
  readonly shardInfo?: ShardInfo | undefined;
}

export interface ListOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly watch?: boolean | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly sendInitialEvents?: boolean | undefined;
  readonly shardSelector?: string | undefined;
}

export interface ManagedFieldsEntry {
  readonly manager?: string | undefined;
  readonly operation?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly time?: string | undefined;
  readonly fieldsType?: string | undefined;
  readonly fieldsV1?: unknown | undefined;
  readonly subresource?: string | undefined;
}

export interface ObjectMeta {
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
  readonly namespace?: string | undefined;
  readonly selfLink?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly managedFields?: readonly ManagedFieldsEntry[] | undefined;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

export interface PartialObjectMetadata {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: ObjectMeta;
}

export interface PartialObjectMetadataList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: ListMeta;
  readonly items: readonly PartialObjectMetadata[];
}

export type Patch = Readonly<Record<string, never>>;

export interface PatchOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly dryRun?: readonly string[] | undefined;
  readonly force?: boolean | undefined;
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: string | undefined;
}

export interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface RootPaths {
  readonly paths: readonly string[];
}

export interface ServerAddressByClientCIDR {
  readonly clientCIDR: string;
  readonly serverAddress: string;
}

export interface ShardInfo {
  readonly selector: string;
}

export interface Status {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: ListMeta;
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly details?: StatusDetails | undefined;
  readonly code?: number | undefined;
}

export interface StatusCause {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly field?: string | undefined;
}

export interface StatusDetails {
  readonly name?: string | undefined;
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly uid?: string | undefined;
  readonly causes?: readonly StatusCause[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

export interface Table {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: ListMeta;
  readonly columnDefinitions: readonly TableColumnDefinition[];
  readonly rows: readonly TableRow[];
}

export interface TableColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly includeObject?: string | undefined;
}

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly conditions?: readonly TableRowCondition[] | undefined;
  readonly object?: unknown | undefined;
}

export interface TableRowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface TypeMeta {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
}

export interface UpdateOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly dryRun?: readonly string[] | undefined;
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: string | undefined;
}

export type Verbs = readonly string[];

export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

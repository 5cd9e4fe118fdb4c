/** Types of flowcontrol/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface ExemptPriorityLevelConfiguration {
  readonly nominalConcurrencyShares?: number | undefined;
  readonly lendablePercent?: number | undefined;
}

export interface FlowDistinguisherMethod {
  readonly type: string;
}

export interface FlowSchema {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: FlowSchemaSpec;
  readonly status?: FlowSchemaStatus | undefined;
}

export interface FlowSchemaCondition {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface FlowSchemaList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly FlowSchema[];
}

export interface FlowSchemaSpec {
  readonly priorityLevelConfiguration: PriorityLevelConfigurationReference;
  readonly matchingPrecedence?: number | undefined;
  readonly distinguisherMethod?: FlowDistinguisherMethod | undefined;
  readonly rules?: readonly PolicyRulesWithSubjects[] | undefined;
}

export interface FlowSchemaStatus {
  readonly conditions?: readonly FlowSchemaCondition[] | undefined;
}

export interface GroupSubject {
  readonly name: string;
}

export interface LimitResponse {
  readonly type: string;
  readonly queuing?: QueuingConfiguration | undefined;
}

export interface LimitedPriorityLevelConfiguration {
  readonly nominalConcurrencyShares?: number | undefined;
  readonly limitResponse?: LimitResponse | undefined;
  readonly lendablePercent?: number | undefined;
  readonly borrowingLimitPercent?: number | undefined;
}

export interface NonResourcePolicyRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface PolicyRulesWithSubjects {
  readonly subjects: readonly Subject[];
  readonly resourceRules?: readonly ResourcePolicyRule[] | undefined;
  readonly nonResourceRules?: readonly NonResourcePolicyRule[] | undefined;
}

export interface PriorityLevelConfiguration {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: PriorityLevelConfigurationSpec;
  readonly status?: PriorityLevelConfigurationStatus | undefined;
}

export interface PriorityLevelConfigurationCondition {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface PriorityLevelConfigurationList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PriorityLevelConfiguration[];
}

export interface PriorityLevelConfigurationReference {
  readonly name: string;
}

export interface PriorityLevelConfigurationSpec {
  readonly type: string;
  readonly limited?: LimitedPriorityLevelConfiguration | undefined;
  readonly exempt?: ExemptPriorityLevelConfiguration | undefined;
}

export interface PriorityLevelConfigurationStatus {
  readonly conditions?: readonly PriorityLevelConfigurationCondition[] | undefined;
}

export interface QueuingConfiguration {
  readonly queues?: number | undefined;
  readonly handSize?: number | undefined;
  readonly queueLengthLimit?: number | undefined;
}

export interface ResourcePolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly clusterScope?: boolean | undefined;
  readonly namespaces?: readonly string[] | undefined;
}

export interface ServiceAccountSubject {
  readonly namespace: string;
  readonly name: string;
}

export interface Subject {
  readonly kind: string;
  readonly user?: UserSubject | undefined;
  readonly group?: GroupSubject | undefined;
  readonly serviceAccount?: ServiceAccountSubject | undefined;
}

export interface UserSubject {
  readonly name: string;
}

export const flowSchemas: ResourceType<FlowSchema> = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  resource: 'flowschemas',
  kind: 'FlowSchema',
  namespaced: false,
  singular: 'flowschema',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const priorityLevelConfigurations: ResourceType<PriorityLevelConfiguration> = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  resource: 'prioritylevelconfigurations',
  kind: 'PriorityLevelConfiguration',
  namespaced: false,
  singular: 'prioritylevelconfiguration',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

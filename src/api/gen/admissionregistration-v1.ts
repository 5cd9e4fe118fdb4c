/** Types of admissionregistration/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type FailurePolicyType = 'Ignore' | 'Fail';

export type MatchPolicyType = 'Exact' | 'Equivalent';

export type OperationType = '*' | 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export type PatchType = 'ApplyConfiguration' | 'JSONPatch';

export type ReinvocationPolicyType = 'Never' | 'IfNeeded';

export type ScopeType = 'Cluster' | 'Namespaced' | '*';

export type SideEffectClass = 'Unknown' | 'None' | 'Some' | 'NoneOnDryRun';

export type ValidationAction = 'Deny' | 'Warn' | 'Audit';

export interface ApplyConfiguration {
  readonly expression?: string | undefined;
}

export interface AuditAnnotation {
  readonly key: string;
  readonly valueExpression: string;
}

export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

export interface JSONPatch {
  readonly expression?: string | undefined;
}

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

export interface MatchResources {
  readonly namespaceSelector?: metaV1.LabelSelector | undefined;
  readonly objectSelector?: metaV1.LabelSelector | undefined;
  readonly resourceRules?: readonly NamedRuleWithOperations[] | undefined;
  readonly excludeResourceRules?: readonly NamedRuleWithOperations[] | undefined;
  readonly matchPolicy?: MatchPolicyType | undefined;
}

export interface MutatingAdmissionPolicy {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: MutatingAdmissionPolicySpec;
}

export interface MutatingAdmissionPolicyBinding {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: MutatingAdmissionPolicyBindingSpec;
}

export interface MutatingAdmissionPolicyBindingList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly MutatingAdmissionPolicyBinding[];
}

export interface MutatingAdmissionPolicyBindingSpec {
  readonly policyName?: string | undefined;
  readonly paramRef?: ParamRef | undefined;
  readonly matchResources?: MatchResources | undefined;
}

export interface MutatingAdmissionPolicyList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly MutatingAdmissionPolicy[];
}

export interface MutatingAdmissionPolicySpec {
  readonly paramKind?: ParamKind | undefined;
  readonly matchConstraints?: MatchResources | undefined;
  readonly variables?: readonly Variable[] | undefined;
  readonly mutations?: readonly Mutation[] | undefined;
  readonly failurePolicy?: FailurePolicyType | undefined;
  readonly matchConditions?: readonly MatchCondition[] | undefined;
  readonly reinvocationPolicy?: ReinvocationPolicyType | undefined;
}

export interface MutatingWebhook {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly RuleWithOperations[] | undefined;
  readonly failurePolicy?: FailurePolicyType | undefined;
  readonly matchPolicy?: MatchPolicyType | undefined;
  readonly namespaceSelector?: metaV1.LabelSelector | undefined;
  readonly objectSelector?: metaV1.LabelSelector | undefined;
  readonly sideEffects: SideEffectClass;
  readonly timeoutSeconds?: number | undefined;
  readonly admissionReviewVersions: readonly string[];
  readonly reinvocationPolicy?: ReinvocationPolicyType | undefined;
  readonly matchConditions?: readonly MatchCondition[] | undefined;
}

export interface MutatingWebhookConfiguration {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly webhooks?: readonly MutatingWebhook[] | undefined;
}

export interface MutatingWebhookConfigurationList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly MutatingWebhookConfiguration[];
}

export interface Mutation {
  readonly patchType: PatchType;
  readonly applyConfiguration?: ApplyConfiguration | undefined;
  readonly jsonPatch?: JSONPatch | undefined;
}

export interface NamedRuleWithOperations {
  readonly resourceNames?: readonly string[] | undefined;
  readonly operations?: readonly OperationType[] | undefined;
  readonly apiGroups?: readonly string[] | undefined;
  readonly apiVersions?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly scope?: ScopeType | undefined;
}

export interface ParamKind {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}

export interface ParamRef {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly selector?: metaV1.LabelSelector | undefined;
  readonly parameterNotFoundAction?: string | undefined;
}

export interface Rule {
  readonly apiGroups?: readonly string[] | undefined;
  readonly apiVersions?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly scope?: ScopeType | undefined;
}

export interface RuleWithOperations {
  readonly operations?: readonly OperationType[] | undefined;
  readonly apiGroups?: readonly string[] | undefined;
  readonly apiVersions?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly scope?: ScopeType | undefined;
}

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string | undefined;
  readonly port?: number | undefined;
}

export interface TypeChecking {
  readonly expressionWarnings?: readonly ExpressionWarning[] | undefined;
}

export interface ValidatingAdmissionPolicy {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ValidatingAdmissionPolicySpec;
  readonly status?: ValidatingAdmissionPolicyStatus | undefined;
}

export interface ValidatingAdmissionPolicyBinding {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ValidatingAdmissionPolicyBindingSpec;
}

export interface ValidatingAdmissionPolicyBindingList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ValidatingAdmissionPolicyBinding[];
}

export interface ValidatingAdmissionPolicyBindingSpec {
  readonly policyName: string;
  readonly paramRef?: ParamRef | undefined;
  readonly matchResources?: MatchResources | undefined;
  readonly validationActions: readonly ValidationAction[];
}

export interface ValidatingAdmissionPolicyList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ValidatingAdmissionPolicy[];
}

export interface ValidatingAdmissionPolicySpec {
  readonly paramKind?: ParamKind | undefined;
  readonly matchConstraints?: MatchResources | undefined;
  readonly validations?: readonly Validation[] | undefined;
  readonly failurePolicy?: FailurePolicyType | undefined;
  readonly auditAnnotations?: readonly AuditAnnotation[] | undefined;
  readonly matchConditions?: readonly MatchCondition[] | undefined;
  readonly variables?: readonly Variable[] | undefined;
}

export interface ValidatingAdmissionPolicyStatus {
  readonly observedGeneration?: number | undefined;
  readonly typeChecking?: TypeChecking | undefined;
  readonly conditions?: readonly metaV1.Condition[] | undefined;
}

export interface ValidatingWebhook {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly RuleWithOperations[] | undefined;
  readonly failurePolicy?: FailurePolicyType | undefined;
  readonly matchPolicy?: MatchPolicyType | undefined;
  readonly namespaceSelector?: metaV1.LabelSelector | undefined;
  readonly objectSelector?: metaV1.LabelSelector | undefined;
  readonly sideEffects: SideEffectClass;
  readonly timeoutSeconds?: number | undefined;
  readonly admissionReviewVersions: readonly string[];
  readonly matchConditions?: readonly MatchCondition[] | undefined;
}

export interface ValidatingWebhookConfiguration {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly webhooks?: readonly ValidatingWebhook[] | undefined;
}

export interface ValidatingWebhookConfigurationList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ValidatingWebhookConfiguration[];
}

export interface Validation {
  readonly expression: string;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly messageExpression?: string | undefined;
}

export interface Variable {
  readonly name: string;
  readonly expression: string;
}

export interface WebhookClientConfig {
  readonly url?: string | undefined;
  readonly service?: ServiceReference | undefined;
  readonly caBundle?: string | undefined;
}

export const mutatingAdmissionPolicies: ResourceType<MutatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingadmissionpolicies',
  kind: 'MutatingAdmissionPolicy',
  namespaced: false,
  singular: 'mutatingadmissionpolicy',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const mutatingAdmissionPolicyBindings: ResourceType<MutatingAdmissionPolicyBinding> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingadmissionpolicybindings',
  kind: 'MutatingAdmissionPolicyBinding',
  namespaced: false,
  singular: 'mutatingadmissionpolicybinding',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const mutatingWebhookConfigurations: ResourceType<MutatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
  namespaced: false,
  singular: 'mutatingwebhookconfiguration',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const validatingAdmissionPolicies: ResourceType<ValidatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicies',
  kind: 'ValidatingAdmissionPolicy',
  namespaced: false,
  singular: 'validatingadmissionpolicy',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const validatingAdmissionPolicyBindings: ResourceType<ValidatingAdmissionPolicyBinding> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
  namespaced: false,
  singular: 'validatingadmissionpolicybinding',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const validatingWebhookConfigurations: ResourceType<ValidatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
  namespaced: false,
  singular: 'validatingwebhookconfiguration',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

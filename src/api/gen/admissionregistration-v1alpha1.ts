/** Types of admissionregistration/v1alpha1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as admissionregistrationV1 from './admissionregistration-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type FailurePolicyType = 'Ignore' | 'Fail';

export type MatchPolicyType = 'Exact' | 'Equivalent';

export type ParameterNotFoundActionType = 'Allow' | 'Deny';

export type PatchType = 'ApplyConfiguration' | 'JSONPatch';

export interface ApplyConfiguration {
  readonly expression?: string | undefined;
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
  readonly reinvocationPolicy?: admissionregistrationV1.ReinvocationPolicyType | undefined;
}

export interface Mutation {
  readonly patchType: PatchType;
  readonly applyConfiguration?: ApplyConfiguration | undefined;
  readonly jsonPatch?: JSONPatch | undefined;
}

export interface NamedRuleWithOperations {
  readonly resourceNames?: readonly string[] | undefined;
  readonly operations?: readonly admissionregistrationV1.OperationType[] | undefined;
  readonly apiGroups?: readonly string[] | undefined;
  readonly apiVersions?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly scope?: admissionregistrationV1.ScopeType | undefined;
}

export interface ParamKind {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}

export interface ParamRef {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly selector?: metaV1.LabelSelector | undefined;
  readonly parameterNotFoundAction?: ParameterNotFoundActionType | undefined;
}

export interface Variable {
  readonly name: string;
  readonly expression: string;
}

export const mutatingAdmissionPolicies: ResourceType<MutatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1alpha1',
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
  version: 'v1alpha1',
  resource: 'mutatingadmissionpolicybindings',
  kind: 'MutatingAdmissionPolicyBinding',
  namespaced: false,
  singular: 'mutatingadmissionpolicybinding',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

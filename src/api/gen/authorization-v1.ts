/** Types of authorization/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type ExtraValue = readonly string[];

export interface FieldSelectorAttributes {
  readonly rawSelector?: string | undefined;
  readonly requirements?: readonly metaV1.FieldSelectorRequirement[] | undefined;
}

export interface LabelSelectorAttributes {
  readonly rawSelector?: string | undefined;
  readonly requirements?: readonly metaV1.LabelSelectorRequirement[] | undefined;
}

export interface LocalSubjectAccessReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus | undefined;
}

export interface NonResourceAttributes {
  readonly path?: string | undefined;
  readonly verb?: string | undefined;
}

export interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs?: readonly string[] | undefined;
}

export interface ResourceAttributes {
  readonly namespace?: string | undefined;
  readonly verb?: string | undefined;
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly resource?: string | undefined;
  readonly subresource?: string | undefined;
  readonly name?: string | undefined;
  readonly fieldSelector?: FieldSelectorAttributes | undefined;
  readonly labelSelector?: LabelSelectorAttributes | undefined;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
}

export interface SelfSubjectAccessReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: SelfSubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus | undefined;
}

export interface SelfSubjectAccessReviewSpec {
  readonly resourceAttributes?: ResourceAttributes | undefined;
  readonly nonResourceAttributes?: NonResourceAttributes | undefined;
}

export interface SelfSubjectRulesReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: SelfSubjectRulesReviewSpec;
  readonly status?: SubjectRulesReviewStatus | undefined;
}

export interface SelfSubjectRulesReviewSpec {
  readonly namespace?: string | undefined;
}

export interface SubjectAccessReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus | undefined;
}

export interface SubjectAccessReviewSpec {
  readonly resourceAttributes?: ResourceAttributes | undefined;
  readonly nonResourceAttributes?: NonResourceAttributes | undefined;
  readonly user?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, ExtraValue>> | undefined;
  readonly uid?: string | undefined;
}

export interface SubjectAccessReviewStatus {
  readonly allowed: boolean;
  readonly denied?: boolean | undefined;
  readonly reason?: string | undefined;
  readonly evaluationError?: string | undefined;
}

export interface SubjectRulesReviewStatus {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
  readonly incomplete: boolean;
  readonly evaluationError?: string | undefined;
}

export const localSubjectAccessReviews: ResourceType<LocalSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'localsubjectaccessreviews',
  kind: 'LocalSubjectAccessReview',
  namespaced: true,
  singular: 'localsubjectaccessreview',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

export const selfSubjectAccessReviews: ResourceType<SelfSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
  singular: 'selfsubjectaccessreview',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

export const selfSubjectRulesReviews: ResourceType<SelfSubjectRulesReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectrulesreviews',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
  singular: 'selfsubjectrulesreview',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

export const subjectAccessReviews: ResourceType<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
  singular: 'subjectaccessreview',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

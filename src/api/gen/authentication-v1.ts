/** Types of authentication/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface BoundObjectReference {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
}

export type ExtraValue = readonly string[];

export interface SelfSubjectReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly status?: SelfSubjectReviewStatus | undefined;
}

export interface SelfSubjectReviewStatus {
  readonly userInfo?: UserInfo | undefined;
}

export interface TokenRequest {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: TokenRequestSpec;
  readonly status?: TokenRequestStatus | undefined;
}

export interface TokenRequestSpec {
  readonly audiences?: readonly string[] | undefined;
  readonly expirationSeconds?: number | undefined;
  readonly boundObjectRef?: BoundObjectReference | undefined;
}

export interface TokenRequestStatus {
  readonly token?: string | undefined;
  readonly expirationTimestamp?: string | undefined;
}

export interface TokenReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: TokenReviewSpec;
  readonly status?: TokenReviewStatus | undefined;
}

export interface TokenReviewSpec {
  readonly token: string;
  readonly audiences?: readonly string[] | undefined;
}

export interface TokenReviewStatus {
  readonly authenticated?: boolean | undefined;
  readonly user?: UserInfo | undefined;
  readonly audiences?: readonly string[] | undefined;
  readonly error?: string | undefined;
}

export interface UserInfo {
  readonly username?: string | undefined;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, ExtraValue>> | undefined;
}

export const selfSubjectReviews: ResourceType<SelfSubjectReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
  namespaced: false,
  singular: 'selfsubjectreview',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

export const tokenReviews: ResourceType<TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
  singular: 'tokenreview',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

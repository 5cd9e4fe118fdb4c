/** Types of authorization/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type * as authorizationV1 from './authorization-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type ExtraValue = readonly string[];

export interface NonResourceAttributes {
  readonly path?: string | undefined;
  readonly verb?: string | undefined;
}

export interface ResourceAttributes {
  readonly namespace?: string | undefined;
  readonly verb?: string | undefined;
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly resource?: string | undefined;
  readonly subresource?: string | undefined;
  readonly name?: string | undefined;
  readonly fieldSelector?: authorizationV1.FieldSelectorAttributes | undefined;
  readonly labelSelector?: authorizationV1.LabelSelectorAttributes | undefined;
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
  readonly group?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, ExtraValue>> | undefined;
  readonly uid?: string | undefined;
}

export interface SubjectAccessReviewStatus {
  readonly allowed: boolean;
  readonly denied?: boolean | undefined;
  readonly reason?: string | undefined;
  readonly evaluationError?: string | undefined;
}

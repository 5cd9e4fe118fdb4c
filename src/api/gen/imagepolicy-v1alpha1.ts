/** Types of imagepolicy/v1alpha1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface ImageReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ImageReviewSpec;
  readonly status?: ImageReviewStatus | undefined;
}

export interface ImageReviewContainerSpec {
  readonly image?: string | undefined;
}

export interface ImageReviewSpec {
  readonly containers?: readonly ImageReviewContainerSpec[] | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly namespace?: string | undefined;
}

export interface ImageReviewStatus {
  readonly allowed?: boolean | undefined;
  readonly reason?: string | undefined;
  readonly auditAnnotations?: Readonly<Record<string, string>> | undefined;
}

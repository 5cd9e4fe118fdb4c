/** Types of authentication/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type ExtraValue = readonly string[];

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

/** Types of admission/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type * as authenticationV1 from './authentication-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface AdmissionRequest {
  readonly uid?: string | undefined;
  readonly kind?: metaV1.GroupVersionKind | undefined;
  readonly resource?: metaV1.GroupVersionResource | undefined;
  readonly subResource?: string | undefined;
  readonly requestKind?: metaV1.GroupVersionKind | undefined;
  readonly requestResource?: metaV1.GroupVersionResource | undefined;
  readonly requestSubResource?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly operation?: string | undefined;
  readonly userInfo?: authenticationV1.UserInfo | undefined;
  readonly object?: unknown | undefined;
  readonly oldObject?: unknown | undefined;
  readonly dryRun?: boolean | undefined;
  readonly options?: unknown | undefined;
}

export interface AdmissionResponse {
  readonly uid?: string | undefined;
  readonly allowed?: boolean | undefined;
  readonly status?: metaV1.Status | undefined;
  readonly patch?: string | undefined;
  readonly patchType?: string | undefined;
  readonly auditAnnotations?: Readonly<Record<string, string>> | undefined;
  readonly warnings?: readonly string[] | undefined;
}

export interface AdmissionReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly request?: AdmissionRequest | undefined;
  readonly response?: AdmissionResponse | undefined;
}

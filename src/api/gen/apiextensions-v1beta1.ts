/** Types of apiextensions/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface ConversionRequest {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly unknown[];
}

export interface ConversionResponse {
  readonly uid: string;
  readonly convertedObjects: readonly unknown[];
  readonly result: metaV1.Status;
}

export interface ConversionReview {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly request?: ConversionRequest | undefined;
  readonly response?: ConversionResponse | undefined;
}

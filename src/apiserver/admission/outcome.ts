/** How one step of admission ended, as it is counted. */

export type AdmissionStep = 'admit' | 'validate';

export interface Outcome {
  readonly operation: string;
  /** Of validating webhooks upstream says `validating`. */
  readonly type: AdmissionStep | 'validating';
  readonly rejected: boolean;
}

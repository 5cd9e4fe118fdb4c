/** One feature gate, as the release has it. */

export interface FeatureGate {
  readonly stage: 'ALPHA' | 'BETA' | 'GA' | 'DEPRECATED';
  /** Unless somebody asks otherwise. */
  readonly isOn: boolean;
  /** It can be named, but not changed. */
  readonly isLocked?: boolean;
  /** What must be on for it to be. */
  readonly requires?: readonly string[];
}

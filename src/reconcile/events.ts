/** Events as users see them in `kubectl describe`: recorded without waiting, repeated ones counted up instead of repeated. */
import type { KubeObject } from '../apimachinery/meta.ts';

export interface EventDetails {
  /** The part of the object it is about, as in `spec.containers{web}`. */
  readonly fieldPath?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export interface EventRecorder {
  /**
   * Records that something happened to `object` (which must carry apiVersion and kind, as an informer's objects do). Never throws
   * and never waits: a failure to write is logged and dropped after upstream's retries.
   */
  record(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, details?: EventDetails): void;
}

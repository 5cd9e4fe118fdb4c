/** Events as users see them in `kubectl describe`: recorded without waiting, repeated ones counted up instead of repeated. */
import type { KubeObject } from '../apimachinery/meta.ts';

export interface EventRecorder {
  /**
   * Records that something happened to `object` (which must carry apiVersion and kind, or pass `kind`). Never throws and never
   * waits: a failure to write is logged and dropped after upstream's retries.
   */
  record(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

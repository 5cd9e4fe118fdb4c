/**
 * Whether an object may go on existing, from what its owners are: pure.
 *
 * One owner that stands is enough to stay (references to those that do not are then removed). With none left the object goes, the
 * way its own finalizers ask for; when an owner waits for it in foreground deletion and it has dependents of its own, it waits for
 * them in the same way.
 */
import type { KubeObject, OwnerReference } from '../../apimachinery/meta.ts';
import { foregroundFinalizer, orphanFinalizer } from './graph.ts';

export type OwnerState = 'solid' | 'absent' | 'waiting';

export interface ClassifiedOwner {
  readonly reference: OwnerReference;
  readonly state: OwnerState;
}

export type Verdict =
  | { readonly do: 'keep' }
  /** Stay, without the references to these uids. */
  | { readonly do: 'disown'; readonly uids: readonly string[] }
  | {
      readonly do: 'delete';
      readonly propagationPolicy: 'Background' | 'Foreground' | 'Orphan';
      readonly unblock: boolean;
    };

/**
 * `dependentsWait` says whether one of the object's dependents is itself waiting for its dependents: then its own blocking
 * references are given up, for a circle of them would wait for ever.
 */
export function judge(
  object: KubeObject,
  owners: readonly ClassifiedOwner[],
  dependents: { readonly any: boolean; readonly wait: boolean },
): Verdict {
  if (owners.length === 0) return { do: 'keep' };
  const uidsIn = (state: OwnerState) =>
    owners.filter((owner) => owner.state === state).map(({ reference }) => reference.uid);
  const waiting = uidsIn('waiting');
  const gone = [...uidsIn('absent'), ...waiting];
  if (gone.length < owners.length) return gone.length === 0 ? { do: 'keep' } : { do: 'disown', uids: gone };
  if (waiting.length > 0 && dependents.any) {
    return { do: 'delete', propagationPolicy: 'Foreground', unblock: dependents.wait };
  }
  return { do: 'delete', propagationPolicy: policyOf(object), unblock: false };
}

/** A finalizer that is there already says how its owner wanted it to go. */
function policyOf({ metadata }: KubeObject): 'Background' | 'Foreground' | 'Orphan' {
  if (metadata.finalizers?.includes(orphanFinalizer)) return 'Orphan';
  return metadata.finalizers?.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}

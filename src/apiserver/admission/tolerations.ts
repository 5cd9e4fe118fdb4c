/** Lists of tolerations as admission joins and judges them. */
import { semanticallyEqual } from '../../api/equality.ts';
import type { Toleration } from '../../api/gen/core-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';

/** Both lists, without those that another one already covers. */
export function mergeTolerations(own: readonly Toleration[], added: readonly Toleration[]): Draft<Toleration>[] {
  const all = [...own, ...added];
  const kept: Toleration[] = [];
  for (const [index, candidate] of all.entries()) {
    const widerBefore = kept.some((other) => covers(other, candidate));
    const widerLater = all
      .slice(index + 1)
      .some((other) => !semanticallyEqual(other, candidate) && covers(other, candidate));
    if (!widerBefore && !widerLater) kept.push(candidate);
  }
  return kept.map((toleration) => ({ ...toleration }));
}

/** Whether each is covered by one that is allowed; where nothing is said, all are. */
export function withinTolerations(tolerations: readonly Toleration[], allowed: readonly Toleration[]): boolean {
  return allowed.length === 0 || tolerations.every((toleration) => allowed.some((wide) => covers(wide, toleration)));
}

function covers(wide: Toleration, narrow: Toleration): boolean {
  if (semanticallyEqual(wide, narrow)) return true;
  if ((narrow.key ?? '') !== (wide.key ?? '') && (wide.key || wide.operator !== 'Exists')) return false;
  if (wide.effect && narrow.effect !== wide.effect) return false;
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds != null) {
    if (narrow.tolerationSeconds == null || narrow.tolerationSeconds > wide.tolerationSeconds) return false;
  }
  if (wide.operator === 'Exists') return true;
  return (
    (wide.operator || 'Equal') === 'Equal' && narrow.operator === 'Equal' && (narrow.value ?? '') === (wide.value ?? '')
  );
}

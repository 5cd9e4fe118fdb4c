/** Names of strategies by which candidates for a Lease are chosen: one of Kubernetes' own, or a domain's. */
import { type FieldError, type FieldPath, notSupported } from '../../apimachinery/field-error.ts';
import { validateQualifiedName } from '../validation.ts';

export const oldestEmulationVersion = 'OldestEmulationVersion';

/** Upstream appends the field's name once more. */
export function validateStrategy(at: FieldPath, strategy: string): FieldError[] {
  const here = at.child('strategy');
  if (strategy.includes('/')) return validateQualifiedName(here, strategy);
  return strategy === oldestEmulationVersion ? [] : [notSupported(here, strategy, [oldestEmulationVersion])];
}

/** Only what writes an object can be mutated: no deletions. */
import { type FieldError, type FieldPath, notSupported } from '../../../apimachinery/field-error.ts';
import type { MatchResources } from '../../gen/admissionregistration-v1.ts';

const operations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

export function validateMutatingOperations(at: FieldPath, match: MatchResources | undefined): FieldError[] {
  const here = at.child('resourceRules').child('operations');
  return (match?.resourceRules ?? []).flatMap((rule) =>
    (rule.operations ?? [])
      .filter((operation) => !operations.includes(operation))
      .map((operation) => notSupported(here, operation, operations)),
  );
}

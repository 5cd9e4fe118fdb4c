/**
 * Where the validation rules of a schema are judged, which is done in CEL. A definition's validation takes a judge as an argument: it asks
 * for rules only in schemas that are sound otherwise, since no type can be told in the others.
 */
import type { FieldError, FieldPath } from '../../../apimachinery/field-error.ts';
import type { StructuralSchema } from '../../../apimachinery/structural-schema/schema.ts';

export interface RuleScope {
  /** Where the whole object's schema stands. */
  readonly at: FieldPath;
  /** Whether a part has errors, so that its rules are not to be judged. */
  isFaulty(part: FieldPath): boolean;
  /** Rules and message expressions that were accepted before; they may use what only older environments have. */
  readonly known: { readonly rules: ReadonlySet<string>; readonly messages: ReadonlySet<string> };
  /** The schema is as it was: no limit on the cost of a single rule is held against it. */
  readonly unchanged: boolean;
}

export interface RuleJudge {
  /** Errors of all rules of a whole object's schema: syntax, types, cost. */
  schemaErrors(schema: StructuralSchema, scope: RuleScope): readonly FieldError[];
  /** Errors of a default by the rules of its schema. */
  defaultErrors(schema: StructuralSchema, value: unknown, at: FieldPath): readonly FieldError[];
}

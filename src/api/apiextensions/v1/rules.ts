/**
 * The validation rules of a definition's schemas, judged before any object is: whether they compile and cannot cost more than
 * a request may; and whether the defaults obey them. Asked only of schemas that are sound otherwise, since no type can be told in
 * the others.
 */

import { validateRules } from '../../../apimachinery/cel/kubernetes/rule-validation.ts';
import { objectCostBudget, SchemaRules } from '../../../apimachinery/cel/kubernetes/rules.ts';
import type { FieldError, FieldPath } from '../../../apimachinery/field-error.ts';
import type { StructuralSchema } from '../../../apimachinery/structural-schema/schema.ts';

export interface RuleScope {
  /** Where the whole object's schema stands. */
  readonly at: FieldPath;
  /** What is wrong with the schema otherwise: rules at or above such a part are not judged. */
  readonly schemaErrors: readonly FieldError[];
  /** Rules and message expressions that were accepted before; they may use what only later environments have. */
  readonly known: { readonly rules: ReadonlySet<string>; readonly messages: ReadonlySet<string> };
  /** The schema is as it was: no limit on the cost of a single rule is held against it. */
  readonly unchanged: boolean;
}

/** Errors of all rules of a whole object's schema: syntax, types, cost. */
export function ruleErrors(schema: StructuralSchema, scope: RuleScope): readonly FieldError[] {
  const { at, schemaErrors, known, unchanged } = scope;
  const isKnown = (expression: string) => known.rules.has(expression) || known.messages.has(expression);
  return validateRules(schema, at, {
    ageOf: (expression) => (isKnown(expression) ? 'stored' : 'new'),
    schemaErrors,
    ignoreExpressionCost: unchanged,
  });
}

/**
 * Judges defaults by the rules of their schemas, all of one schema within one budget: a default must do both where nothing was before it
 * and where it has been all along.
 */
export function defaultJudge(): (schema: StructuralSchema, value: unknown, at: FieldPath) => readonly FieldError[] {
  let budget = objectCostBudget;
  return (schema, value, at) => {
    if (budget < 0) return [];
    const rules = new SchemaRules(schema, { resourceRoot: schema.embeddedResource });
    const kept = rules.validate(value, { at, previous: value, ratchets: false, budget });
    const fresh = kept.errors.length === 0 ? rules.validate(value, { at, budget }) : kept;
    budget = Math.min(kept.remainingBudget, fresh.remainingBudget);
    return fresh.errors;
  };
}

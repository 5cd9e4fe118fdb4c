/**
 * Match conditions: all must be true, one that is false is enough to leave the request alone, and what else goes wrong is judged
 * by the failure policy.
 */
import type { CompiledExpression } from '../../../api/admissionregistration/expressions/compile.ts';
import { aggregate } from '../../../apimachinery/go-text.ts';
import { BudgetSpent, type Evaluation } from './evaluation.ts';

/** What came of conditions that failed or did not hold. */
export type ConditionsObserver = (outcome: { readonly errors: number; readonly excluded: boolean }) => void;

/** Throws an `Error` where a condition fails and the policy does not ignore that. */
export async function conditionsHold(
  conditions: readonly CompiledExpression[],
  evaluation: Evaluation,
  failurePolicy: string | undefined,
  observe: ConditionsObserver = () => {},
): Promise<boolean> {
  const ignores = failurePolicy === 'Ignore';
  const problems: string[] = [];
  let errors = 0;
  let isFalse = false;
  try {
    for (const condition of conditions) {
      const { value, problem } = await evaluation.evaluate(condition);
      if (problem !== undefined) problems.push(problem);
      isFalse ||= value === false;
      // Upstream looks no further than to the first that is false.
      if (!isFalse) errors = problems.length;
    }
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    observe({ errors: 0, excluded: ignores });
    if (ignores) return false;
    throw error;
  }
  if (!isFalse && problems.length === 0) return true;
  observe({ errors, excluded: isFalse || ignores });
  if (isFalse || ignores) return false;
  throw new Error(aggregate(problems));
}

/** Match conditions: all must be true, one that is false is enough to leave the request alone, and what else goes wrong is judged by the failure policy. */
import type { CompiledExpression } from '../../../api/admissionregistration/expressions/compile.ts';
import { aggregate } from '../../../apimachinery/go-text.ts';
import { BudgetSpent, type Evaluation } from './evaluation.ts';

/** Throws an `Error` where a condition fails and the policy does not ignore that. */
export async function conditionsHold(
  conditions: readonly CompiledExpression[],
  evaluation: Evaluation,
  failurePolicy: string | undefined,
): Promise<boolean> {
  const problems: string[] = [];
  let isFalse = false;
  try {
    for (const condition of conditions) {
      const { value, problem } = await evaluation.evaluate(condition);
      if (problem !== undefined) problems.push(problem);
      isFalse ||= value === false;
    }
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    if (failurePolicy === 'Ignore') return false;
    throw error;
  }
  if (isFalse) return false;
  if (problems.length === 0) return true;
  if (failurePolicy === 'Ignore') return false;
  throw new Error(aggregate(problems));
}

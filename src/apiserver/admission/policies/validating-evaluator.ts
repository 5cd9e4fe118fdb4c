/**
 * A ValidatingAdmissionPolicy's expressions, and what they say of one request: a decision for each validation, with the message that the
 * policy's author gave it, and what goes into the audit log. What goes wrong counts as the failure policy says.
 */
import {
  annotationResult,
  type CompiledExpression,
  conditionResult,
  messageResult,
  PolicyCompiler,
} from '../../../api/admissionregistration/expressions/compile.ts';
import type {
  AuditAnnotation,
  ValidatingAdmissionPolicy,
  Validation,
} from '../../../api/gen/admissionregistration-v1.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Bindings } from '../expressions/bindings.ts';
import { type ConditionsObserver, conditionsHold } from '../expressions/conditions.ts';
import {
  BudgetSpent,
  conditionsBudget,
  Evaluation,
  type EvaluationOptions,
  type Outcome,
  policyBudget,
} from '../expressions/evaluation.ts';
import type { PolicyErrorType } from '../extension-statistics.ts';

export interface Decision {
  readonly action: 'admit' | 'deny';
  /** Of a denial. */
  readonly message: string;
  /** Of the policy's author; empty where an expression could not be evaluated. */
  readonly reason: string;
  readonly errorType: PolicyErrorType;
  readonly elapsedMs: number;
}

export type Note =
  | { readonly key: string; readonly value: string; readonly problem?: undefined }
  | { readonly key: string; readonly problem: string };

export interface Verdict {
  /** One for each validation, unless the policy failed as a whole. */
  readonly decisions: readonly Decision[];
  readonly notes: readonly Note[];
}

interface Rule {
  readonly validation: Validation;
  readonly condition: CompiledExpression;
  readonly message: CompiledExpression | undefined;
}

interface Annotation {
  readonly annotation: AuditAnnotation;
  readonly value: CompiledExpression;
}

type Context = Pick<EvaluationOptions, 'ledger' | 'authorizer'> & {
  readonly clock: Clock;
  readonly observe?: ConditionsObserver;
};

/** A message that an expression gives is dropped when it is longer. */
const longestMessageBytes = 5 * 1024;
const admitted: Decision = { action: 'admit', message: '', reason: '', errorType: 'no_error', elapsedMs: 0 };

export class ValidatingEvaluator {
  readonly #compiler = new PolicyCompiler();
  readonly #failurePolicy: string;
  readonly #conditions: readonly CompiledExpression[];
  readonly #rules: readonly Rule[];
  readonly #annotations: readonly Annotation[];

  constructor({ spec }: ValidatingAdmissionPolicy) {
    const { variables = [], matchConditions = [], validations = [], auditAnnotations = [] } = spec;
    const scope = { params: spec.paramKind !== undefined, authorizer: true };
    const compiler = this.#compiler;
    for (const { name, expression } of variables) compiler.addVariable(name, expression, scope);
    this.#failurePolicy = spec.failurePolicy ?? 'Fail';
    this.#conditions = matchConditions.map(({ expression }) => compiler.compile(expression, scope, conditionResult));
    this.#rules = validations.map((validation) => ({
      validation,
      condition: compiler.compile(validation.expression, scope, conditionResult),
      message: validation.messageExpression
        ? compiler.compile(validation.messageExpression, { ...scope, authorizer: false }, messageResult)
        : undefined,
    }));
    this.#annotations = auditAnnotations.map((annotation) => ({
      annotation,
      value: compiler.compile(annotation.valueExpression, scope, annotationResult),
    }));
  }

  async evaluate(bindings: Bindings, { clock, observe, ...context }: Context): Promise<Verdict> {
    const beganMs = clock.monotonic();
    const evaluation = (budget: number) =>
      new Evaluation(bindings, { ...context, variables: this.#compiler.variables, budget });
    try {
      const concerned = await conditionsHold(
        this.#conditions,
        evaluation(conditionsBudget),
        this.#failurePolicy,
        observe,
      );
      if (!concerned) return { decisions: [], notes: [] };
    } catch (error) {
      return this.#failed(error, clock.monotonic() - beganMs);
    }
    const checks = evaluation(policyBudget);
    try {
      const outcomes: (Outcome & { readonly elapsedMs: number })[] = [];
      for (const { condition } of this.#rules) {
        const startMs = clock.monotonic();
        const outcome = await checks.evaluate(condition);
        outcomes.push({ ...outcome, elapsedMs: clock.monotonic() - startMs });
      }
      const messages = await this.#messages(evaluation(checks.remaining));
      const decisions = this.#rules.map(({ validation }, index): Decision => {
        const { value, problem, elapsedMs } = outcomes[index]!;
        if (problem !== undefined) return this.#failure(problem, errorTypeOf(problem), elapsedMs);
        if (messages.problem !== undefined) {
          return this.#failure(`failed messageExpression: ${messages.problem}`, 'out_of_budget', elapsedMs);
        }
        if (value === true) return admitted;
        return { ...denied(validation, messages.texts[index]), errorType: 'no_error', elapsedMs };
      });
      return { decisions, notes: await this.#notes(evaluation(policyBudget)) };
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error;
      return this.#failed(error, clock.monotonic() - beganMs);
    }
  }

  /** What cannot be evaluated admits nothing, unless failures are to be ignored. */
  #failure(message: string, errorType: PolicyErrorType, elapsedMs: number): Decision {
    const action = this.#failurePolicy === 'Ignore' ? 'admit' : 'deny';
    return { action, message, reason: '', errorType, elapsedMs };
  }

  #failed(error: unknown, elapsedMs: number): Verdict {
    const errorType = error instanceof BudgetSpent ? 'out_of_budget' : 'invalid_error';
    return { decisions: [this.#failure(messageOf(error), errorType, elapsedMs)], notes: [] };
  }

  async #messages(evaluation: Evaluation): Promise<Messages> {
    const texts: (string | undefined)[] = [];
    try {
      for (const { message } of this.#rules) {
        const value = message && (await evaluation.evaluate(message)).value;
        texts.push(typeof value === 'string' ? value : undefined);
      }
      return { texts };
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error;
      return { texts: [], problem: error.message };
    }
  }

  async #notes(evaluation: Evaluation): Promise<readonly Note[]> {
    const notes: Note[] = [];
    for (const { annotation, value: compiled } of this.#annotations) {
      const { key } = annotation;
      const { value, problem } = await evaluation.evaluate(compiled);
      if (problem !== undefined && this.#failurePolicy !== 'Ignore') notes.push({ key, problem });
      if (typeof value === 'string' && value.trim() !== '') notes.push({ key, value: value.trim() });
    }
    return notes;
  }
}

interface Messages {
  /** By validation; undefined where there is none. */
  readonly texts: readonly (string | undefined)[];
  readonly problem?: string;
}

const errorTypeOf = (problem: string): PolicyErrorType =>
  problem.startsWith('compilation error: ') ? 'compile_error' : 'invalid_error';

function denied(
  { expression, message = '', reason }: Validation,
  evaluated = '',
): Pick<Decision, 'action' | 'message' | 'reason'> {
  const text = evaluated.trim();
  const usable = Buffer.byteLength(text) <= longestMessageBytes && !text.includes('\n');
  const told = (usable && text) || message.trim() || `failed expression: ${expression.trim()}`;
  return { action: 'deny', message: told, reason: reason ?? 'Invalid' };
}

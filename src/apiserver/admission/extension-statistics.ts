/**
 * What webhooks and policies do, for `/metrics`, under upstream's names: how often each was asked and refused, was passed over because it did
 * not answer, was kept out of a request by its match conditions; and what each policy decided.
 */
import { counterFamily, histogramFamily } from '../../base/metrics/families.ts';
import { Counts, Timings } from '../../base/metrics/series.ts';
import type { Outcome } from './outcome.ts';

export interface WebhookOutcome extends Outcome {
  /** What the webhook answered, or what is made of it that it did not. */
  readonly code: number;
  /** Of a refusal; absent where nobody waited for the answer. */
  readonly errorType?: 'no_error' | 'calling_webhook_error' | 'apiserver_internal_error' | undefined;
}

export interface ConditionsOutcome extends Pick<Outcome, 'operation' | 'type'> {
  readonly name: string;
  readonly kind: 'webhook' | 'policy';
  readonly errors: number;
  readonly excluded: boolean;
}

export interface PolicyCheck {
  readonly policy: string;
  readonly binding: string;
  readonly errorType: PolicyErrorType;
}

export type PolicyErrorType = 'compile_error' | 'invalid_error' | 'out_of_budget' | 'no_error';
export type PolicyAction = 'allow' | 'deny' | 'audit' | 'warn';

/** Who keeps the one that `make` is asked for, once. */
interface ExtensionsHolder {
  extensions(make: () => ExtensionStatistics): ExtensionStatistics;
}

const highestCode = 600;
const conditionLimits: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const checkLimits: readonly number[] = [5e-7, 0.001, 0.01, 0.1, 1];

/** Loaded with the first webhook or policy, so that a cluster without any pays nothing. */
export function extensionsOf(statistics: ExtensionsHolder | undefined): ExtensionStatistics | undefined {
  return statistics?.extensions(() => new ExtensionStatistics());
}

export class ExtensionStatistics {
  readonly #requests = new Counts();
  readonly #rejections = new Counts();
  readonly #failedOpen = new Counts();
  readonly #conditionErrors = new Counts();
  readonly #conditionExclusions = new Counts();
  readonly #conditions = new Timings(conditionLimits);
  readonly #validating = new Timings(checkLimits);
  readonly #mutating = new Timings(checkLimits);

  webhook(name: string, { operation, type, rejected, code, errorType }: WebhookOutcome): void {
    const told = String(Math.min(code, highestCode));
    this.#requests.add({ code: told, name, operation, rejected: String(rejected), type });
    if (rejected && errorType) {
      this.#rejections.add({ error_type: errorType, name, operation, rejection_code: told, type });
    }
  }

  failedOpen(name: string, type: Outcome['type']): void {
    this.#failedOpen.add({ name, type });
  }

  /** Of conditions that failed or did not hold: upstream tells of no others. */
  conditions({ name, kind, operation, type, errors, excluded }: ConditionsOutcome, durationMs: number): void {
    const labels = { kind, name, operation, type };
    this.#conditions.add(labels, durationMs);
    if (errors > 0) this.#conditionErrors.add(labels, errors);
    // Upstream counts the exclusions of webhooks only.
    if (excluded && kind === 'webhook') this.#conditionExclusions.add(labels);
  }

  validatingPolicy({ policy, binding, errorType }: PolicyCheck, action: PolicyAction, durationMs: number): void {
    const labels = { enforcement_action: action, error_type: errorType, policy, policy_binding: binding };
    this.#validating.add(labels, durationMs);
  }

  mutatingPolicy({ policy, binding, errorType }: PolicyCheck, durationMs: number): void {
    this.#mutating.add({ error_type: errorType, policy, policy_binding: binding }, durationMs);
  }

  families(): readonly string[] {
    return [...this.#webhookFamilies(), ...this.#conditionFamilies(), ...this.#policyFamilies()];
  }

  #webhookFamilies(): readonly string[] {
    const about = 'identified by name and broken out for each admission type (validating or admit)';
    return [
      counterFamily(
        'apiserver_admission_webhook_request_total',
        `Admission webhook request total, ${about} and operation.`,
        this.#requests.samples(),
      ),
      counterFamily(
        'apiserver_admission_webhook_rejection_count',
        `Admission webhook rejection count, ${about} and operation.`,
        this.#rejections.samples(),
      ),
      counterFamily(
        'apiserver_admission_webhook_fail_open_count',
        `Admission webhook fail open count, ${about}.`,
        this.#failedOpen.samples(),
      ),
    ];
  }

  #conditionFamilies(): readonly string[] {
    const about = 'identified by name and broken out for each kind containing matchConditions (webhook or policy)';
    return [
      counterFamily(
        'apiserver_admission_match_condition_evaluation_errors_total',
        `Admission match condition evaluation errors count, ${about}, operation and admission type.`,
        this.#conditionErrors.samples(),
      ),
      counterFamily(
        'apiserver_admission_match_condition_exclusions_total',
        `Admission match condition evaluation exclusions count, ${about}, operation and admission type.`,
        this.#conditionExclusions.samples(),
      ),
      histogramFamily(
        'apiserver_admission_match_condition_evaluation_seconds',
        `Admission match condition evaluation time in seconds, ${about}, operation and admission type.`,
        this.#conditions.histogram(),
      ),
    ];
  }

  #policyFamilies(): readonly string[] {
    const validating = 'apiserver_validating_admission_policy_check';
    const mutating = 'apiserver_mutating_admission_policy_check';
    return [
      counterFamily(
        `${validating}_total`,
        'Validation admission policy check total, by policy, binding and enforcement action taken.',
        this.#validating.counts(),
      ),
      histogramFamily(
        `${validating}_duration_seconds`,
        'Validation admission latency for individual validation expressions in seconds, by policy, binding and enforcement action taken.',
        this.#validating.histogram(),
      ),
      counterFamily(
        `${mutating}_total`,
        'Mutation admission policy check total, by policy and binding.',
        this.#mutating.counts(),
      ),
      histogramFamily(
        `${mutating}_duration_seconds`,
        'Mutation admission latency for individual mutation expressions in seconds, by policy and binding.',
        this.#mutating.histogram(),
      ),
    ];
  }
}

/**
 * ValidatingAdmissionPolicy: every policy that a request concerns is evaluated for each of its bindings and each of their parameters. What a
 * denial means the binding says: the request is refused, the client warned, or the audit log told.
 */
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/gen/admissionregistration-v1.ts';
import { DecisionLedger } from '../../../apimachinery/cel/library/authorization.ts';
import { messageOf, StatusError } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { accessAuthorizer } from '../expressions/access.ts';
import { bindingsOf } from '../expressions/bindings.ts';
import type { ConditionsObserver } from '../expressions/conditions.ts';
import type { PolicyAction } from '../extension-statistics.ts';
import type { MatchedForm } from '../matching/rules.ts';
import { ObjectVersions } from '../object-versions.ts';
import { refusal } from '../refusal.ts';
import { type ParamType, paramsOf, paramTypeOf } from './params.ts';
import { type PolicyContext, requestNamespace } from './policy-context.ts';
import { matchPolicy } from './policy-match.ts';
import { type PolicyHook, PolicySource, type Source } from './policy-source.ts';
import { type Decision, ValidatingEvaluator } from './validating-evaluator.ts';

type Policy = ValidatingAdmissionPolicy;
type Binding = ValidatingAdmissionPolicyBinding;
type Hook = PolicyHook<Policy, Binding, ValidatingEvaluator>;

interface Denial {
  readonly policy: string;
  readonly binding?: string | undefined;
  readonly message: string;
  readonly reason: string;
}

export function validatingPolicies(
  context: PolicyContext,
  policies: Source<Policy>,
  bindings: Source<Binding>,
): (attributes: AdmissionAttributes) => Promise<void> {
  const source = new PolicySource(policies, bindings, (policy: Policy) => new ValidatingEvaluator(policy));
  return async (attributes) => {
    const review = new Review(context, attributes);
    for (const hook of source.hooks()) await review.policy(hook);
    const [first] = review.denials;
    if (first) throw refused(attributes, first);
  };
}

/** One request. */
class Review {
  readonly denials: Denial[] = [];
  readonly #context: PolicyContext;
  readonly #attributes: AdmissionAttributes;
  readonly #versions: ObjectVersions;
  readonly #ledger = new DecisionLedger();

  constructor(context: PolicyContext, attributes: AdmissionAttributes) {
    this.#context = context;
    this.#attributes = attributes;
    this.#versions = new ObjectVersions(attributes);
  }

  async policy(hook: Hook): Promise<void> {
    const { spec } = hook.policy;
    let form: MatchedForm | undefined;
    let params: ParamType | undefined;
    try {
      form = await matchPolicy(spec.matchConstraints, this.#attributes, this.#context.namespaces);
      if (!form) return;
      params = spec.paramKind && paramTypeOf(this.#context, spec.paramKind);
    } catch (error) {
      this.#misconfigured(hook, undefined, error);
      return;
    }
    const notes = new Map<string, Set<string>>();
    for (const binding of hook.bindings) await this.#binding(hook, { binding, form, params, notes });
    for (const [key, values] of notes) {
      this.#attributes.annotate?.(`${hook.policy.metadata.name}/${key}`, [...values].join(', '));
    }
  }

  async #binding(
    hook: Hook,
    at: {
      readonly binding: Binding;
      readonly form: MatchedForm;
      readonly params: ParamType | undefined;
      readonly notes: Map<string, Set<string>>;
    },
  ): Promise<void> {
    const { binding, form } = at;
    const attributes = this.#attributes;
    const { matchResources, paramRef } = binding.spec;
    let found: Awaited<ReturnType<typeof paramsOf>>;
    try {
      if (matchResources && !(await matchPolicy(matchResources, attributes, this.#context.namespaces))) return;
      found = await paramsOf(this.#context, at.params, paramRef, attributes.namespace);
    } catch (error) {
      this.#misconfigured(hook, binding, error);
      return;
    }
    const namespace = await requestNamespace(this.#context, attributes);
    const ledger = this.#ledger;
    const { clock, authorizer } = this.#context;
    const access = { ledger, authorizer: accessAuthorizer(authorizer), clock, observe: this.#observed(hook) };
    for (const params of found) {
      const bindings = bindingsOf({ attributes, form, versions: this.#versions, ledger, params, namespace });
      const { decisions, notes } = await hook.evaluator().evaluate(bindings, access);
      for (const [index, decision] of decisions.entries()) {
        if (decision.action === 'deny') this.#denied(hook.policy, binding, { decision, index });
        else if (decision.errorType !== 'no_error') this.#counted(hook.policy, binding, { decision, action: 'allow' });
      }
      for (const { key, ...note } of notes) {
        if ('value' in note && note.value !== undefined) add(at.notes, key, note.value.slice(0, longestNote));
        else this.#deny(hook.policy, binding, { message: note.problem ?? '', reason: '' });
      }
    }
  }

  /** Counts what match conditions keep from being judged. */
  #observed({ policy }: Hook): ConditionsObserver {
    const { clock, statistics } = this.#context;
    const beganMs = clock.monotonic();
    const { name = '' } = policy.metadata;
    const about = { name, kind: 'policy', operation: this.#attributes.operation, type: 'validate' } as const;
    return (outcome) => statistics()?.conditions({ ...about, ...outcome }, clock.monotonic() - beganMs);
  }

  #counted(
    { metadata: { name = '' } }: Policy,
    binding: Binding,
    { decision, action }: { readonly decision: Decision; readonly action: PolicyAction },
  ): void {
    const check = { policy: name, binding: binding.metadata.name ?? '', errorType: decision.errorType };
    this.#context.statistics()?.validatingPolicy(check, action, decision.elapsedMs);
  }

  #misconfigured({ policy }: Hook, binding: Binding | undefined, error: unknown): void {
    if (policy.spec.failurePolicy === 'Ignore') return;
    const what = binding ? 'binding' : 'policy';
    this.#deny(policy, binding, { message: `failed to configure ${what}: ${messageOf(error)}`, reason: '' });
  }

  #deny(policy: Policy, binding: Binding | undefined, { message, reason }: Pick<Decision, 'message' | 'reason'>): void {
    const { name = '' } = policy.metadata;
    this.denials.push({ policy: name, binding: binding?.metadata.name, message, reason });
  }

  #denied(
    policy: Policy,
    binding: Binding,
    { decision, index }: { readonly decision: Decision; readonly index: number },
  ) {
    const { name = '' } = policy.metadata;
    const bindingName = binding.metadata.name ?? '';
    for (const action of binding.spec.validationActions ?? []) {
      this.#counted(policy, binding, { decision, action: action.toLowerCase() as PolicyAction });
      if (action === 'Deny') this.#deny(policy, binding, decision);
      if (action === 'Warn') {
        const where = `ValidatingAdmissionPolicy '${name}' with binding '${bindingName}'`;
        this.#attributes.warn(`Validation failed for ${where}: ${decision.message}`);
      }
      if (action === 'Audit') this.#attributes.annotate?.(failureKey, failureNote(binding, decision, index));
    }
  }
}

const longestNote = 10 * 1024;
const failureKey = 'validation.policy.admission.k8s.io/validation_failure';

function failureNote({ metadata, spec }: Binding, { message }: Decision, expressionIndex: number): string {
  const { policyName: policy = '', validationActions = [] } = spec;
  return JSON.stringify([{ message, policy, binding: metadata.name ?? '', expressionIndex, validationActions }]);
}

/** Several bindings may say the same. */
function add(notes: Map<string, Set<string>>, key: string, value: string): void {
  const values = notes.get(key);
  if (values) values.add(value);
  else notes.set(key, new Set([value]));
}

const codes: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

function refused(attributes: AdmissionAttributes, { policy, binding, message, reason }: Denial): StatusError {
  const by = binding === undefined ? `'${policy}'` : `'${policy}' with binding '${binding}'`;
  const text = `ValidatingAdmissionPolicy ${by} denied request: ${message}`;
  const { status } = refusal(attributes, text);
  const causes = [...(status.details?.causes ?? []), { message: text }];
  return new StatusError({
    ...status,
    reason: reason || 'Invalid',
    code: codes[reason] ?? 422,
    details: { ...status.details, causes },
  });
}

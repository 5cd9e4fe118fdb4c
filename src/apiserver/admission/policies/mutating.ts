/**
 * MutatingAdmissionPolicy: every policy that a request concerns changes the object, for each of its bindings and each of their parameters, one
 * after another. When one changes the object, those that were applied before and ask for it are applied once more, after the
 * built-in plugins and webhooks.
 */
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../../../api/gen/admissionregistration-v1.ts';
import type { Namespace } from '../../../api/gen/core-v1.ts';
import { DecisionLedger } from '../../../apimachinery/cel/library/authorization.ts';
import { deducedShape, type Shape } from '../../../apimachinery/managed-fields/shape.ts';
import { type KubeObject, keyOf } from '../../../apimachinery/meta.ts';
import { jsonEqual } from '../../../apimachinery/patch/merge-patch.ts';
import { apiVersionOf } from '../../../apimachinery/resource.ts';
import { messageOf, StatusError } from '../../../apimachinery/status.ts';
import { tableCodec } from '../../encoding/resource-codec.ts';
import type { AdmissionAttributes, AdmissionRound } from '../admission.ts';
import { accessAuthorizer } from '../expressions/access.ts';
import { bindingsOf } from '../expressions/bindings.ts';
import { BudgetSpent } from '../expressions/evaluation.ts';
import type { PolicyErrorType } from '../extension-statistics.ts';
import type { MatchedForm } from '../matching/rules.ts';
import { ObjectVersions, snapshot } from '../object-versions.ts';
import { refusal } from '../refusal.ts';
import { Reinvocation } from '../reinvocation.ts';
import { MutatingEvaluator } from './mutating-evaluator.ts';
import { paramsOf, paramTypeOf } from './params.ts';
import { type PolicyContext, requestNamespace } from './policy-context.ts';
import { matchPolicy } from './policy-match.ts';
import { type PolicyHook, PolicySource, type Source } from './policy-source.ts';

type Policy = MutatingAdmissionPolicy;
type Binding = MutatingAdmissionPolicyBinding;
type Hook = PolicyHook<Policy, Binding, MutatingEvaluator>;

/** A policy with one binding and one parameter. */
interface Invocation {
  readonly hook: Hook;
  readonly binding: Binding;
  readonly form: MatchedForm;
  readonly params: KubeObject | undefined;
}

interface PolicyFailure {
  readonly message: string;
  readonly reason: string;
}

export function mutatingPolicies(
  context: PolicyContext,
  policies: Source<Policy>,
  bindings: Source<Binding>,
): (attributes: AdmissionAttributes, round?: AdmissionRound) => Promise<void> {
  const source = new PolicySource(policies, bindings, (policy: Policy) => new MutatingEvaluator(policy));
  return async (attributes, round) => {
    const failures: PolicyFailure[] = [];
    const invocations = await collect(context, source.hooks(), { attributes, failures });
    if (invocations.length > 0) await apply(context, invocations, { attributes, round, failures });
    if (failures.length > 0) throw refused(attributes, failures);
  };
}

async function collect(
  context: PolicyContext,
  hooks: readonly Hook[],
  { attributes, failures }: { readonly attributes: AdmissionAttributes; readonly failures: PolicyFailure[] },
): Promise<readonly Invocation[]> {
  const invocations: Invocation[] = [];
  for (const hook of hooks) {
    const { spec } = hook.policy;
    try {
      const form = await matchPolicy(spec.matchConstraints, attributes, context.namespaces);
      if (!form) continue;
      const type = spec.paramKind && paramTypeOf(context, spec.paramKind);
      for (const binding of hook.bindings) {
        const { matchResources, paramRef } = binding.spec;
        try {
          if (matchResources && !(await matchPolicy(matchResources, attributes, context.namespaces))) continue;
          const found = await paramsOf(context, type, paramRef, attributes.namespace);
          invocations.push(...found.map((params) => ({ hook, binding, form, params })));
        } catch (error) {
          failures.push(...failure(hook.policy, binding, `failed to configure binding: ${messageOf(error)}`));
        }
      }
    } catch (error) {
      failures.push(...failure(hook.policy, undefined, `failed to configure policy: ${messageOf(error)}`));
    }
  }
  return invocations;
}

interface Request {
  readonly attributes: AdmissionAttributes;
  readonly round: AdmissionRound | undefined;
  readonly failures: PolicyFailure[];
}

async function apply(context: PolicyContext, invocations: readonly Invocation[], request: Request): Promise<void> {
  const { attributes, round, failures } = request;
  const reinvocation = new Reinvocation('MutatingAdmissionPolicy', attributes, round);
  const namespace = await requestNamespace(context, attributes);
  const ledger = new DecisionLedger();
  try {
    for (const invocation of invocations) {
      const { hook, binding } = invocation;
      const key = keyOfInvocation(invocation);
      const skipped = !reinvocation.isDue(key);
      const beganMs = context.clock.monotonic();
      const counted = (errorType: PolicyErrorType) => {
        const check = { policy: hook.policy.metadata.name ?? '', binding: binding.metadata.name ?? '', errorType };
        context.statistics()?.mutatingPolicy(check, context.clock.monotonic() - beganMs);
      };
      try {
        const changed = await mutated(context, invocation, { attributes, namespace, ledger, skipped });
        if (changed !== undefined) counted('no_error');
        if (changed) reinvocation.changed();
        if (changed !== undefined && hook.policy.spec.reinvocationPolicy === 'IfNeeded') reinvocation.called(key);
      } catch (error) {
        if (error instanceof StatusError) throw error;
        counted(error instanceof BudgetSpent ? 'out_of_budget' : 'invalid_error');
        failures.push(...failure(hook.policy, binding, messageOf(error), 'Invalid'));
      }
    }
  } finally {
    reinvocation.end();
  }
}

interface Subject {
  readonly attributes: AdmissionAttributes;
  readonly namespace: Namespace | undefined;
  readonly ledger: DecisionLedger;
  readonly skipped: boolean;
}

/** Whether the object was changed; undefined where the policy is not applied. Throws an `Error` that its failure policy judges. */
async function mutated(
  { authorizer }: PolicyContext,
  { hook, form, params }: Invocation,
  { attributes, namespace, ledger, skipped }: Subject,
): Promise<boolean | undefined> {
  const evaluator = hook.evaluator();
  const versions = new ObjectVersions(attributes);
  const context = { ledger, authorizer: accessAuthorizer(authorizer) };
  const bindings = () => bindingsOf({ attributes, form, versions, ledger, params, namespace });
  if (!(await evaluator.concerns(bindings(), context)) || skipped) return undefined;
  const shape = shapeOf(attributes, form);
  const before = snapshot(attributes.object);
  for (const patcher of evaluator.patchers) {
    const object = versions.object(form.kind);
    if (!object) continue;
    const patched = await evaluator.patch(patcher, object, { bindings: bindings(), context, shape });
    versions.replace(form.kind, patched);
  }
  return !jsonEqual(before, attributes.object);
}

function shapeOf({ served }: AdmissionAttributes, { kind }: MatchedForm): Shape {
  const version = served?.stored?.versions.get(apiVersionOf(kind)) ?? served;
  return version ? version.codec.shape : (tableCodec(kind).shape ?? deducedShape);
}

function keyOfInvocation({ hook, binding, params }: Invocation): string {
  return [keyOf(hook.policy), keyOf(binding), params ? keyOf(params) : ''].join('\0');
}

/** None where failures are to be ignored. */
function failure({ metadata, spec }: Policy, binding: Binding | undefined, why: string, reason = ''): PolicyFailure[] {
  if (spec.failurePolicy === 'Ignore') return [];
  const name = metadata.name ?? '';
  const by = binding ? `policy '${name}' with binding '${binding.metadata.name}'` : `policy ${JSON.stringify(name)}`;
  return [{ message: `${by} denied request: ${why}`, reason }];
}

/** All are told; the first has the word. */
function refused(attributes: AdmissionAttributes, failures: readonly PolicyFailure[]): StatusError {
  const { status } = refusal(attributes, 'admission request denied by policy');
  const [first] = failures;
  const causes = failures.map(({ message }) => ({ message }));
  return new StatusError({
    ...status,
    message: first?.message ?? '',
    ...(first?.reason ? { reason: first.reason } : {}),
    details: { ...status.details, causes: [...(status.details?.causes ?? []), ...causes] },
  });
}

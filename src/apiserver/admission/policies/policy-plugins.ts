/**
 * MutatingAdmissionPolicy and ValidatingAdmissionPolicy as the chain sees them. The code that evaluates expressions is loaded when a policy is
 * first bound; until then a request costs a look at an empty list.
 */
import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../../api/gen/admissionregistration-v1.ts';
import { namespaces } from '../../../api/gen/core-v1.ts';
import { groupResource } from '../../../apimachinery/resource.ts';
import { onFirstCall } from '../../../base/lazy-module.ts';
import type { Informer } from '../../../reconcile/informer.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionRound } from '../admission.ts';
import { isConfiguration } from '../configuration-resources.ts';
import { type PluginContext, whenReady } from '../plugin-context.ts';

export function validatingAdmissionPolicy(context: PluginContext): AdmissionPlugin {
  const policies = context.informers.of(validatingAdmissionPolicies);
  const bindings = context.informers.of(validatingAdmissionPolicyBindings);
  const evaluate = onFirstCall(async () => {
    const [{ validatingPolicies }, { policyContext }] = await Promise.all([
      import('./validating.ts'),
      import('./policy-context.ts'),
    ]);
    return validatingPolicies(policyContext(context), policies, bindings);
  });
  const validate = whenBound(context, [policies, bindings], evaluate);
  return { name: 'ValidatingAdmissionPolicy', handles, validate: (attributes) => validate(attributes) };
}

export function mutatingAdmissionPolicy(context: PluginContext): AdmissionPlugin {
  const policies = context.informers.of(mutatingAdmissionPolicies);
  const bindings = context.informers.of(mutatingAdmissionPolicyBindings);
  const evaluate = onFirstCall(async () => {
    const [{ mutatingPolicies }, { policyContext }] = await Promise.all([
      import('./mutating.ts'),
      import('./policy-context.ts'),
    ]);
    return mutatingPolicies(policyContext(context), policies, bindings);
  });
  const admit = whenBound(context, [policies, bindings], evaluate);
  return { name: 'MutatingAdmissionPolicy', handles, replacesParts: true, admit };
}

/** Questions about who and whether: a policy that refused them could break the cluster. */
const reviews: ReadonlySet<string> = new Set([
  'selfsubjectreviews.authentication.k8s.io',
  'tokenreviews.authentication.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
]);

const handles: AdmissionPlugin['handles'] = (_operation, resource) =>
  !isConfiguration(resource) && !reviews.has(groupResource(resource));

type Evaluate = (attributes: AdmissionAttributes, round?: AdmissionRound) => Promise<void>;
type Known = Pick<Informer<unknown>, 'synced' | 'whenSynced' | 'list'>;

function whenBound(
  context: PluginContext,
  [policies, bindings]: readonly [policies: Known, bindings: Known],
  evaluate: Evaluate,
): (attributes: AdmissionAttributes, round?: AdmissionRound) => Promise<void> | undefined {
  const known = context.informers.of(namespaces);
  const isIdle = () => policies.list().length === 0 || bindings.list().length === 0;
  const run: Evaluate = async (attributes, round) => {
    await whenReady(context, policies, attributes);
    await whenReady(context, bindings, attributes);
    if (isIdle()) return;
    await whenReady(context, known, attributes);
    await evaluate(attributes, round);
  };
  return (attributes, round) => (policies.synced && bindings.synced && isIdle() ? undefined : run(attributes, round));
}

/**
 * Tells the authors of ValidatingAdmissionPolicies what their expressions get wrong about the kinds they are for: in `status.typeChecking`, as
 * warnings, for a policy works as it stands. Each generation is looked at once.
 */
import { type ValidatingAdmissionPolicy, validatingAdmissionPolicies } from '../../api/gen/admissionregistration-v1.ts';
import { onFirstCall } from '../../base/lazy-module.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';

const fieldManager = 'validatingadmissionpolicy-status';
/** Expressions are compiled on the thread that everything else runs on. */
const workers = 1;

/** Loaded for the first policy: most clusters have none. */
const warningsOf = onFirstCall(async () => {
  const [{ typeCheckWarnings }, { ServedKindTypes }] = await Promise.all([
    import('./type-check.ts'),
    import('./kind-types.ts'),
  ]);
  return (policy: ValidatingAdmissionPolicy, { client, log }: ComponentContext) =>
    typeCheckWarnings(policy, new ServedKindTypes(client), log);
});

export async function runValidatingAdmissionPolicyStatusController(context: ComponentContext): Promise<void> {
  const policies = context.informers.of(validatingAdmissionPolicies);
  const controller = createController(context, {
    name: 'validatingadmissionpolicy-status',
    workers,
    waitFor: [policies],
    async reconcile(name: string) {
      const policy = policies.get(name);
      if (!policy) return;
      const { generation = 0 } = policy.metadata;
      if (generation <= (policy.status?.observedGeneration ?? 0)) return;
      const expressionWarnings = await warningsOf(policy, context);
      const body = {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name },
        status: {
          observedGeneration: generation,
          typeChecking: expressionWarnings.length > 0 ? { expressionWarnings } : {},
        },
      };
      const options = { subresource: 'status', fieldManager, force: true };
      await context.client.patch(validatingAdmissionPolicies, { name }, { type: 'apply', body }, options);
    },
  });
  controller.watch(policies);
  await controller.run();
}

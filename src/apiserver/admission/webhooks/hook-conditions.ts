/** The match conditions of webhooks, compiled when a request first gets as far. */
import {
  type CompiledExpression,
  compileExpression,
  conditionResult,
} from '../../../api/admissionregistration/expressions/compile.ts';
import { DecisionLedger } from '../../../apimachinery/cel/library/authorization.ts';
import { forbidden, messageOf } from '../../../apimachinery/status.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { AdmissionMeter } from '../chain.ts';
import { accessAuthorizer } from '../expressions/access.ts';
import { bindingsOf } from '../expressions/bindings.ts';
import { type ConditionsObserver, conditionsHold } from '../expressions/conditions.ts';
import { conditionsBudget, Evaluation } from '../expressions/evaluation.ts';
import { extensionsOf } from '../extension-statistics.ts';
import type { MatchedForm } from '../matching/rules.ts';
import type { ObjectVersions } from '../object-versions.ts';
import type { Hook } from './hooks.ts';

export type HookConditions = (
  hook: Hook,
  subject: {
    readonly attributes: AdmissionAttributes;
    readonly form: MatchedForm;
    readonly versions: ObjectVersions;
  },
) => Promise<boolean>;

/** Throws 403 where conditions fail and the webhook does not ignore that. */
export function hookConditions(authorizer: Authorizer, meter: () => AdmissionMeter | undefined): HookConditions {
  const access = accessAuthorizer(authorizer);
  const known = new WeakMap<Hook, readonly CompiledExpression[]>();
  return async (hook, subject) => {
    const conditions = known.get(hook) ?? compile(hook);
    known.set(hook, conditions);
    const ledger = new DecisionLedger();
    const bindings = bindingsOf({ ...subject, ledger });
    const evaluation = new Evaluation(bindings, { ledger, authorizer: access, budget: conditionsBudget });
    const { clock, statistics } = meter() ?? {};
    const beganMs = clock?.monotonic() ?? 0;
    const { operation } = subject.attributes;
    const about = { name: hook.webhook.name, kind: 'webhook', operation, type: hook.type } as const;
    const observe: ConditionsObserver = (outcome) =>
      extensionsOf(statistics)?.conditions({ ...about, ...outcome }, (clock?.monotonic() ?? 0) - beganMs);
    try {
      return await conditionsHold(conditions, evaluation, hook.webhook.failurePolicy, observe);
    } catch (error) {
      const { resource, name } = subject.attributes;
      throw forbidden(resource, name, messageOf(error));
    }
  };
}

function compile({ webhook }: Hook): readonly CompiledExpression[] {
  const scope = { params: false, authorizer: true };
  return (webhook.matchConditions ?? []).map(({ expression }) => compileExpression(expression, scope, conditionResult));
}

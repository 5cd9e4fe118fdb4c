/** Validating webhooks: all that a request concerns are asked at the same time, and one no is enough. */
import { internalError, timeout } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { extensionsOf } from '../extension-statistics.ts';
import { ObjectVersions } from '../object-versions.ts';
import { callHook, FailedCall } from './call.ts';
import type { Dispatch, DispatchContext } from './dispatch-context.ts';
import { matchHook } from './hook-match.ts';
import type { Hook } from './hooks.ts';

const failedOpenKey = 'failed-open.validating.webhook.admission.k8s.io/';

export const validate: Dispatch = async (context, hooks, attributes) => {
  const versions = new ObjectVersions(attributes);
  const calls: (() => Promise<void>)[] = [];
  for (const hook of hooks) {
    const form = await matchHook(hook, { attributes, versions }, context);
    if (!form) continue;
    const index = calls.length;
    calls.push(() =>
      judged(context, { hook, index, attributes }, callHook(context, { hook, form, attributes, versions })),
    );
  }
  if (calls.length === 0) return;
  if (attributes.signal?.aborted) throw timeout('request did not complete within requested timeout');
  const outcomes = await Promise.allSettled(calls.map((call) => call()));
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused) throw refused.reason;
};

interface Judged {
  readonly hook: Hook;
  readonly index: number;
  readonly attributes: AdmissionAttributes;
}

/** Throws the refusal, or the failure of a webhook that must not fail. */
async function judged(
  { log, meter }: DispatchContext,
  { hook, index, attributes }: Judged,
  call: Promise<unknown>,
): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof FailedCall)) throw error;
    if (hook.webhook.failurePolicy !== 'Ignore') throw internalError(error.message, { cause: error });
    if (error.canceled) return;
    log.warn('a webhook could not be called; going on without it', { error: error.message });
    extensionsOf(meter()?.statistics)?.failedOpen(hook.webhook.name, hook.type);
    attributes.annotate?.(`${failedOpenKey}round_0_index_${index}`, hook.webhook.name);
  }
}

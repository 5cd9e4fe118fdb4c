/**
 * One call of an admission webhook, the same for both sorts: may it be called in a dry run, the question, the answer, what the answer adds to
 * the reply and the audit log. Three ends: allowed (with a patch perhaps), refused, and not to be reached, which is for the hook's
 * failure policy to judge.
 */
import { quote } from '../../../apimachinery/go-text.ts';
import { badRequest, internalError, messageOf, StatusError, serviceUnavailable } from '../../../apimachinery/status.ts';
import type { Random } from '../../../base/random.ts';
import { WebhookCallError } from '../../webhook-client/exchange.ts';
import type { WebhookClients } from '../../webhook-client/webhook-clients.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { AdmissionMeter } from '../chain.ts';
import { extensionsOf, type WebhookOutcome } from '../extension-statistics.ts';
import type { MatchedForm } from '../matching/rules.ts';
import type { ObjectVersions } from '../object-versions.ts';
import { requestFacts } from '../request-facts.ts';
import type { Hook } from './hooks.ts';
import { Rejection, rejection } from './rejection.ts';
import {
  decodeReview,
  type ReviewReply,
  type ReviewVersion,
  reviewOf,
  reviewVersion,
  type Verdict,
  verdictOf,
} from './review.ts';

/** The webhook gave no answer, or none that can be understood: its failure policy decides what that means. */
export class FailedCall extends Error {
  override readonly name = 'FailedCall';
  /** What metrics count the failure under. */
  readonly status: StatusError;
  /** Nobody waits for the answer any more. */
  readonly canceled: boolean;

  constructor(hook: string, why: string, status: StatusError, cause?: unknown) {
    super(`failed calling webhook ${quote(hook)}: ${why}`, { cause });
    this.status = status;
    this.canceled = cause instanceof WebhookCallError && cause.canceled;
  }
}

export interface CallContext {
  readonly clients: WebhookClients;
  readonly random: Random;
  readonly meter: () => AdmissionMeter | undefined;
}

export interface HookCall {
  readonly hook: Hook;
  readonly form: MatchedForm;
  readonly attributes: AdmissionAttributes;
  readonly versions: ObjectVersions;
}

const defaultTimeoutSeconds = 10;

/** Resolves with what was allowed. Rejects with `FailedCall`, or with the refusal. */
export async function callHook(context: CallContext, call: HookCall): Promise<Verdict> {
  const { clock, statistics } = context.meter() ?? {};
  const beganMs = clock?.monotonic() ?? 0;
  const { attributes, hook } = call;
  const counted = (outcome: Pick<WebhookOutcome, 'rejected' | 'code' | 'errorType'>) => {
    const told = { operation: attributes.operation, type: hook.type, ...outcome };
    extensionsOf(statistics)?.webhook(hook.webhook.name, told);
    statistics?.webhook(hook.webhook.name, told, ((clock?.monotonic() ?? 0) - beganMs) / 1000);
  };
  try {
    const verdict = await ask(context, call);
    counted({ rejected: false, code: 200 });
    return verdict;
  } catch (error) {
    counted(refusalOf(hook, error));
    throw error;
  }
}

/** How a call that came to nothing is counted. */
function refusalOf({ webhook }: Hook, error: unknown): Pick<WebhookOutcome, 'rejected' | 'code' | 'errorType'> {
  if (error instanceof FailedCall) {
    const errorType = error.canceled ? undefined : 'calling_webhook_error';
    return { rejected: webhook.failurePolicy !== 'Ignore', code: error.status.code, errorType };
  }
  if (error instanceof Rejection) return { rejected: true, code: error.code, errorType: 'no_error' };
  return { rejected: true, code: 0, errorType: 'apiserver_internal_error' };
}

async function ask(context: CallContext, call: HookCall): Promise<Verdict> {
  const { hook, form, attributes, versions } = call;
  const { webhook } = hook;
  if (attributes.dryRun) checkDryRun(hook);
  const version = attempt(
    hook,
    'could not create admission objects',
    badRequest('error creating admission objects'),
    () => reviewVersion(webhook.admissionReviewVersions),
  );
  const uid = context.random.uuid();
  const review = reviewOf(version, uid, requestFacts(attributes, form), {
    object: versions.object(form.kind),
    oldObject: versions.oldObject(form.kind),
  });
  const reply = await post(context, call, { version, review });
  const invalid = serviceUnavailable('error validating webhook response');
  const verdict = attempt(hook, 'received invalid webhook response', invalid, () =>
    verdictOf(version, reply, { uid, mutating: hook.type === 'admit' }),
  );
  for (const [key, value] of Object.entries(verdict.auditAnnotations)) {
    attributes.annotate?.(`${webhook.name}/${key}`, value);
  }
  for (const warning of verdict.warnings) attributes.warn(warning);
  if (!verdict.allowed) throw rejection(webhook.name, verdict.result);
  return verdict;
}

/** Throws 400 for a webhook that would leave traces. */
function checkDryRun({ webhook }: Hook): void {
  const { name, sideEffects } = webhook;
  if (sideEffects === 'None' || sideEffects === 'NoneOnDryRun') return;
  throw badRequest(`admission webhook ${quote(name)} does not support dry run`);
}

async function post(
  { clients }: CallContext,
  { hook, attributes }: HookCall,
  { version, review }: { readonly version: ReviewVersion; readonly review: object },
): Promise<ReviewReply> {
  const { name, clientConfig, timeoutSeconds = defaultTimeoutSeconds } = hook.webhook;
  let client: ReturnType<WebhookClients['of']>;
  try {
    client = clients.of(clientConfig);
  } catch (error) {
    throw new FailedCall(
      name,
      `could not get REST client: ${messageOf(error)}`,
      internalError(messageOf(error)),
      error,
    );
  }
  try {
    const reply = await client.post(review, { timeoutMs: timeoutSeconds * 1000, signal: attributes.signal });
    return decodeReview(version, reply);
  } catch (error) {
    const status = error instanceof StatusError ? error : serviceUnavailable('error calling webhook');
    throw new FailedCall(name, `failed to call webhook: ${messageOf(error)}`, status, error);
  }
}

function attempt<T>({ webhook }: Hook, what: string, status: StatusError, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw new FailedCall(webhook.name, `${what}: ${messageOf(error)}`, status, error);
  }
}

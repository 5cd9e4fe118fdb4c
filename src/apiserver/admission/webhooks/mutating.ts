/**
 * Mutating webhooks: called one after another, each seeing what those before it made of the object. When one changes the object, those that
 * were called before and ask for it (`IfNeeded`) are called once more, after the built-in plugins have had another look.
 */

import { kindStruct } from '../../../apimachinery/codec.ts';
import { jsonText } from '../../../apimachinery/exact-json.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { applyJsonPatch } from '../../../apimachinery/patch/json-patch.ts';
import { internalError, messageOf, serviceUnavailable, timeout } from '../../../apimachinery/status.ts';
import { extensionsOf } from '../extension-statistics.ts';
import { ObjectVersions } from '../object-versions.ts';
import { Reinvocation } from '../reinvocation.ts';
import { callHook, FailedCall, type HookCall } from './call.ts';
import type { Dispatch, DispatchContext } from './dispatch-context.ts';
import { matchHook } from './hook-match.ts';
import { rejection } from './rejection.ts';
import { parsePatch, type Verdict } from './review.ts';

const mutationKey = 'mutation.webhook.admission.k8s.io/';
const patchKey = 'patch.webhook.admission.k8s.io/';
const failedOpenKey = 'failed-open.mutation.webhook.admission.k8s.io/';

export const mutate: Dispatch = async (context, hooks, attributes, round) => {
  const reinvocation = new Reinvocation('MutatingAdmissionWebhook', attributes, round);
  const versions = new ObjectVersions(attributes);
  try {
    for (const [index, hook] of hooks.entries()) {
      const form = await matchHook(hook, { attributes, versions }, context);
      if (!form || !reinvocation.isDue(hook.uid)) continue;
      const position = `round_${round?.isSecond ? 1 : 0}_index_${index}`;
      const call = { hook, form, attributes, versions };
      if (await mutated(context, call, position)) reinvocation.changed();
      if (hook.webhook.reinvocationPolicy === 'IfNeeded') reinvocation.called(hook.uid);
    }
  } finally {
    reinvocation.end();
  }
};

/** Whether the object was changed. Throws the refusal, or the failure of a webhook that must not fail. */
async function mutated({ log, ...context }: DispatchContext, call: HookCall, position: string): Promise<boolean> {
  const { attributes, hook } = call;
  const { name, failurePolicy } = hook.webhook;
  let changed = false;
  try {
    const verdict = await callHook(context, call);
    changed = apply(call, verdict, position);
  } catch (error) {
    if (!(error instanceof FailedCall)) throw error;
    if (failurePolicy !== 'Ignore') throw internalError(error.message, { cause: error });
    if (!error.canceled) {
      log.warn('a webhook could not be called; going on without it', { error: error.message });
      extensionsOf(context.meter()?.statistics)?.failedOpen(name, hook.type);
      attributes.annotate?.(`${failedOpenKey}${position}`, name);
    }
    if (attributes.signal?.aborted) throw timeout('request did not complete within requested timeout');
  } finally {
    const note = { configuration: hook.configuration, webhook: name, mutated: changed };
    attributes.annotate?.(`${mutationKey}${position}`, JSON.stringify(note));
  }
  return changed;
}

function apply({ hook, form, attributes, versions }: HookCall, verdict: Verdict, position: string): boolean {
  const { name } = hook.webhook;
  if (verdict.patch === '') return false;
  const patch = readPatch(name, verdict.patch);
  if (patch.length === 0) return false;
  const object = versions.object(form.kind);
  if (!object) {
    throw internalError(
      `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`,
    );
  }
  if (verdict.patchType !== 'JSONPatch') {
    const why = `unsupported patch type ${JSON.stringify(verdict.patchType)}`;
    throw new FailedCall(name, why, rejection(name, verdict.result));
  }
  const changed = versions.replace(form.kind, patched(object, patch));
  const note = { configuration: hook.configuration, webhook: name, patch, patchType: 'JSONPatch' };
  attributes.annotate?.(`${patchKey}${position}`, jsonText(note), 'Request');
  return changed;
}

function readPatch(name: string, text: string): readonly unknown[] {
  const refused = (why: string, cause?: unknown) =>
    new FailedCall(
      name,
      `received undecodable patch in webhook response: ${why}`,
      serviceUnavailable('error decoding patch in webhook response'),
      cause,
    );
  let patch: unknown;
  try {
    patch = parsePatch(text);
  } catch (error) {
    throw refused(messageOf(error), error);
  }
  if (Array.isArray(patch)) return patch;
  if (patch === null) return [];
  throw refused(`json: cannot unmarshal ${typeof patch} into Go value of type jsonpatch.Patch`);
}

/** Throws 500 for a patch that does not apply, or leaves a list where the object was. */
function patched(object: KubeObject, patch: readonly unknown[]): KubeObject {
  try {
    const result = applyJsonPatch(object, patch);
    if (!Array.isArray(result)) return result;
    throw new Error(
      `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${kindStruct}`,
    );
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw internalError(messageOf(cause), { cause: error });
  }
}

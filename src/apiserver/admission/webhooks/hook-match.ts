/** Whether a webhook is to be called for a request, and in which version it is to see the object. */
import type { AdmissionAttributes } from '../admission.ts';
import { equivalentForms, type MatchedForm, ruleMatches } from '../matching/rules.ts';
import { type Namespaces, objectSelected } from '../matching/selectors.ts';
import type { ObjectVersions } from '../object-versions.ts';
import type { HookConditions } from './hook-conditions.ts';
import type { Hook } from './hooks.ts';

export interface MatchContext {
  readonly namespaces: Namespaces;
  readonly conditions: HookConditions;
}

export interface HookSubject {
  readonly attributes: AdmissionAttributes;
  readonly versions: ObjectVersions;
}

/** Undefined: it is not called. Throws what keeps that from being told. */
export async function matchHook(
  hook: Hook,
  { attributes, versions }: HookSubject,
  { namespaces, conditions }: MatchContext,
): Promise<MatchedForm | undefined> {
  // The rules come first, for they exclude most and cost least; an error of a selector counts only for what they mean.
  const form = matchedForm(hook, attributes);
  if (!form) return undefined;
  const inNamespace = await namespaces.selected(hook.namespaceSelector, attributes);
  if (inNamespace === false) return undefined;
  const selected = objectSelected(hook.objectSelector, attributes);
  if (selected === false) return undefined;
  if (inNamespace !== true) throw inNamespace;
  if (selected !== true) throw selected;
  if (!hook.webhook.matchConditions?.length) return form;
  return (await conditions(hook, { attributes, form, versions })) ? form : undefined;
}

function matchedForm({ webhook }: Hook, attributes: AdmissionAttributes): MatchedForm | undefined {
  const { rules = [], matchPolicy } = webhook;
  if (rules.some((rule) => ruleMatches(rule, attributes))) return attributes;
  if (matchPolicy !== 'Equivalent') return undefined;
  const forms = equivalentForms(attributes);
  for (const rule of rules) {
    for (const form of forms) {
      const { operation, subresource, namespace } = attributes;
      if (ruleMatches(rule, { operation, subresource, namespace, resource: form.resource })) return form;
    }
  }
  return undefined;
}

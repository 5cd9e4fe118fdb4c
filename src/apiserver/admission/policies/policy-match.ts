/** Which requests a policy, or one of its bindings, concerns: rules that mean and rules that exclude, names, and selectors. */
import type { MatchResources, NamedRuleWithOperations } from '../../../api/gen/admissionregistration-v1.ts';
import { labelMatcherOf } from '../../../apimachinery/labels.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { equivalentForms, type MatchedForm, ruleMatches } from '../matching/rules.ts';
import { type Namespaces, objectSelected } from '../matching/selectors.ts';

/** In which version the policy sees the object; undefined where the request does not concern it. Throws what keeps that from being told. */
export async function matchPolicy(
  match: MatchResources | undefined,
  attributes: AdmissionAttributes,
  namespaces: Namespaces,
): Promise<MatchedForm | undefined> {
  if (!match) throw new Error('policy contained no match constraints, a required field');
  const { matchPolicy: policy, resourceRules = [], excludeResourceRules = [] } = match;
  const whole = resourceRules.length === 0;
  const form: MatchedForm | undefined = whole ? attributes : matchedForm(resourceRules, policy, attributes);
  if (!form || matchedForm(excludeResourceRules, policy, attributes)) return undefined;
  const inNamespace = await namespaces.selected(() => selectorOf(match, 'namespaceSelector'), attributes);
  if (inNamespace === false) return undefined;
  const selected = objectSelected(() => selectorOf(match, 'objectSelector'), attributes);
  if (selected === false) return undefined;
  if (inNamespace !== true) throw inNamespace;
  if (selected !== true) throw selected;
  return form;
}

function selectorOf(match: MatchResources, field: 'namespaceSelector' | 'objectSelector') {
  return labelMatcherOf(match[field] ?? {});
}

function matchedForm(
  rules: readonly NamedRuleWithOperations[],
  matchPolicy: string | undefined,
  attributes: AdmissionAttributes,
): MatchedForm | undefined {
  const named = ({ resourceNames = [] }: NamedRuleWithOperations) =>
    resourceNames.length === 0 || resourceNames.includes(attributes.name);
  if (rules.some((rule) => named(rule) && ruleMatches(rule, attributes))) return attributes;
  if (matchPolicy !== 'Equivalent') return undefined;
  const { operation, subresource, namespace } = attributes;
  const forms = equivalentForms(attributes);
  for (const rule of rules) {
    for (const form of forms) {
      const matches = ruleMatches(rule, { operation, subresource, namespace, resource: form.resource });
      if (matches && named(rule)) return form;
    }
  }
  return undefined;
}

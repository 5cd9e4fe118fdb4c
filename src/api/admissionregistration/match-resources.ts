/** What webhooks and admission policies share: the requests they match, and where a webhook is called. */
import type { LabelSelector } from '../../apimachinery/gen/meta-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { fillAbsent } from '../defaulting.ts';
import type {
  MatchResources,
  ParamKind,
  ParamRef,
  Rule,
  WebhookClientConfig,
} from '../gen/admissionregistration-v1.ts';

/** Both selectors and the policy, the same for webhooks and for the policies' `MatchResources`. */
export function matchDefaults(
  match: Draft<Pick<MatchResources, 'matchPolicy' | 'namespaceSelector' | 'objectSelector'>>,
): void {
  fillAbsent(match, 'matchPolicy', 'Equivalent');
  fillAbsent(match, 'namespaceSelector', {});
  fillAbsent(match, 'objectSelector', {});
}

export function matchResourcesDefaults(match: Draft<MatchResources> | undefined): void {
  if (!match) return;
  matchDefaults(match);
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) ruleDefaults(rule);
}

export function ruleDefaults(rule: Draft<Rule>): void {
  fillAbsent(rule, 'scope', '*');
}

export function clientDefaults(client: Draft<WebhookClientConfig> | undefined): void {
  if (client?.service) fillAbsent(client.service, 'port', 443);
}

/** `v1/ConfigMap`. */
export function paramKindText(kind: ParamKind | undefined): string {
  return kind ? `${kind.apiVersion ?? ''}/${kind.kind ?? ''}` : '<unset>';
}

export function paramRefText(reference: ParamRef | undefined): string {
  if (reference?.name) return `${reference.namespace || '*'}/${reference.name}`;
  return reference?.selector ? selectorDump(reference.selector) : '<unset>';
}

/** Upstream prints a selector here as its programs do for debugging. */
function selectorDump({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.keys(matchLabels)
    .sort()
    .map((key) => `${key}: ${matchLabels[key]},`);
  const requirements = matchExpressions.map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  const expressions = `[]LabelSelectorRequirement{${requirements.join('')}}`;
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:${expressions},}`;
}

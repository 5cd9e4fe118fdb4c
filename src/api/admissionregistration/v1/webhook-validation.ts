/** Validation of webhooks of both sorts. What older servers let in may stay on an update, but no more of it may come. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import { dns1035Label, dns1123Subdomain } from '../../../apimachinery/names.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { MutatingWebhook, ValidatingWebhook } from '../../gen/admissionregistration-v1.ts';
import { refused, validateEnum } from '../../validation.ts';
import { validateWebhookClient } from '../client-validation.ts';
import {
  failurePolicies,
  matchPolicies,
  validateMatchConditions,
  validateRuleWithOperations,
} from '../rule-validation.ts';

type Webhook = ValidatingWebhook & Pick<MutatingWebhook, 'reinvocationPolicy'>;

const reviewVersions = ['v1', 'v1beta1'];
const sideEffects = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];
const noSideEffects = ['None', 'NoneOnDryRun'];

interface Rules {
  readonly sideEffects: readonly string[];
  readonly requireKnownVersion: boolean;
  readonly requireUniqueNames: boolean;
  readonly allowInvalidSelectors: boolean;
  readonly ignoreMatchConditions: boolean;
}

export function validateWebhooks(webhooks: readonly Webhook[], previous: readonly Webhook[] = []): FieldError[] {
  const rules = rulesFor(webhooks, previous);
  const names = new Set<string>();
  return webhooks.flatMap((webhook, index) => {
    const at = path('webhooks').index(index);
    const errors = [
      ...validateWebhook(at, webhook, rules),
      ...validateVersions(at.child('admissionReviewVersions'), webhook.admissionReviewVersions ?? [], rules),
    ];
    const { name = '' } = webhook;
    if (rules.requireUniqueNames && name !== '' && names.has(name)) errors.push(duplicate(at.child('name'), name));
    names.add(name);
    return errors;
  });
}

function rulesFor(webhooks: readonly Webhook[], previous: readonly Webhook[]): Rules {
  const selectorErrors = previous.flatMap((webhook) => validateSelectors(path(), webhook));
  const knowsVersion = ({ admissionReviewVersions: versions = [] }: Webhook) =>
    versions.length === 0 || versions.some((version) => reviewVersions.includes(version));
  return {
    sideEffects: previous.every((webhook) => noSideEffects.includes(webhook.sideEffects)) ? noSideEffects : sideEffects,
    requireKnownVersion: previous.every(knowsVersion),
    requireUniqueNames: new Set(previous.map(({ name }) => name)).size === previous.length,
    allowInvalidSelectors: selectorErrors.length > 0,
    ignoreMatchConditions:
      webhooks.length === previous.length &&
      webhooks.every((webhook, i) => semanticallyEqual(webhook.matchConditions, previous[i]?.matchConditions)),
  };
}

function validateWebhook(at: FieldPath, webhook: Webhook, rules: Rules): FieldError[] {
  const { timeoutSeconds, reinvocationPolicy } = webhook;
  const errors = validateFullyQualifiedName(at.child('name'), webhook.name ?? '');
  for (const [index, rule] of (webhook.rules ?? []).entries()) {
    errors.push(...validateRuleWithOperations(at.child('rules').index(index), rule));
  }
  errors.push(
    ...validateEnum(at.child('failurePolicy'), webhook.failurePolicy, failurePolicies),
    ...validateEnum(at.child('matchPolicy'), webhook.matchPolicy, matchPolicies),
  );
  if (webhook.sideEffects == null) {
    errors.push(required(at.child('sideEffects'), `must specify one of ${rules.sideEffects.join(', ')}`));
  } else errors.push(...validateEnum(at.child('sideEffects'), webhook.sideEffects, rules.sideEffects));
  if (timeoutSeconds != null && (timeoutSeconds < 1 || timeoutSeconds > 30)) {
    const message = 'the timeout value must be between 1 and 30 seconds';
    errors.push(invalid(at.child('timeoutSeconds'), timeoutSeconds, message));
  }
  if (!rules.allowInvalidSelectors) errors.push(...validateSelectors(at, webhook));
  errors.push(
    ...validateEnum(at.child('reinvocationPolicy'), reinvocationPolicy, ['IfNeeded', 'Never']),
    ...validateWebhookClient(at.child('clientConfig'), webhook.clientConfig),
  );
  if (rules.ignoreMatchConditions) return errors;
  return [...errors, ...validateMatchConditions(at.child('matchConditions'), webhook.matchConditions ?? [])];
}

function validateSelectors(at: FieldPath, { namespaceSelector, objectSelector }: Webhook): FieldError[] {
  return [
    ...validateLabelSelector(namespaceSelector, at.child('namespaceSelector')),
    ...validateLabelSelector(objectSelector, at.child('objectSelector')),
  ];
}

function validateVersions(at: FieldPath, versions: readonly string[], rules: Rules): FieldError[] {
  if (versions.length === 0) return [required(at, `must specify one of ${reviewVersions.join(', ')}`)];
  const seen = new Set<string>();
  const errors = versions.flatMap((version, index) => {
    if (seen.has(version)) return [invalid(at.index(index), version, 'duplicate version')];
    seen.add(version);
    return refused(at.index(index), version, dns1035Label(version));
  });
  if (!rules.requireKnownVersion || versions.some((version) => reviewVersions.includes(version))) return errors;
  return [...errors, invalid(at, versions, `must include at least one of ${reviewVersions.join(', ')}`)];
}

/** A domain of at least three parts: `hook.example.com`. */
function validateFullyQualifiedName(at: FieldPath, name: string): FieldError[] {
  if (name === '') return [required(at)];
  const messages = dns1123Subdomain(name);
  if (messages.length > 0) return refused(at, name, [messages.join(',')]);
  if (name.split('.').length >= 3) return [];
  return [invalid(at, name, 'should be a domain with at least three segments separated by dots')];
}

/**
 * `AuthorizationConfiguration`: which authorizers are asked, in which order. The shape of the file, and what may stand in it, in
 * upstream's words.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../apimachinery/field-error.ts';
import { dns1123Subdomain } from '../../apimachinery/names.ts';
import { parseDuration } from '../../apimachinery/time.ts';
import { compileMatchConditions, type MatchCondition } from './match-conditions.ts';

export interface AuthorizationConfiguration {
  readonly authorizers?: readonly AuthorizerConfiguration[] | undefined;
}

export interface AuthorizerConfiguration {
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  readonly webhook?: WebhookConfiguration | undefined;
}

export interface WebhookConfiguration {
  /** Durations, as in `5m`. */
  readonly authorizedTTL?: string | undefined;
  readonly unauthorizedTTL?: string | undefined;
  readonly timeout?: string | undefined;
  readonly cacheAuthorizedRequests?: boolean | undefined;
  readonly cacheUnauthorizedRequests?: boolean | undefined;
  readonly subjectAccessReviewVersion?: string | undefined;
  readonly matchConditionSubjectAccessReviewVersion?: string | undefined;
  readonly failurePolicy?: string | undefined;
  readonly connectionInfo?: { readonly type?: string | undefined; readonly kubeConfigFile?: string | undefined };
  readonly matchConditions?: readonly MatchCondition[] | undefined;
}

/** Values of `type` that upstream knows. */
const knownTypes = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC', 'Webhook'];
const longestTimeoutMs = 30_000;

/** What is unset, as upstream fills it in. */
export const webhookDefaults = {
  authorizedTTL: '5m0s',
  unauthorizedTTL: '30s',
  cacheAuthorizedRequests: true,
  cacheUnauthorizedRequests: true,
} as const;

export interface ValidationOptions {
  /** What is wrong with the file of this absolute path; undefined for a regular file. */
  fileProblem(path: string): string | undefined;
}

export function validateAuthorizationConfiguration(
  { authorizers = [] }: AuthorizationConfiguration,
  options: ValidationOptions,
): readonly FieldError[] {
  const at = path('authorizers');
  if (authorizers.length === 0) return [required(at, 'at least one authorization mode must be defined')];
  const types = new Set<string>();
  const names = new Set<string>();
  return authorizers.flatMap(({ type = '', name = '', webhook }, i): readonly FieldError[] => {
    const place = at.index(i);
    if (type === '') return [required(place.child('type'))];
    if (!knownTypes.includes(type)) return [notSupported(place.child('type'), type, knownTypes)];
    if (types.has(type) && type !== 'Webhook') return [duplicate(place.child('type'), type)];
    types.add(type);
    const errors = nameErrors(place.child('name'), name, names);
    names.add(name);
    if (type !== 'Webhook') {
      if (webhook) errors.push(invalid(place.child('webhook'), 'non-null', 'may only be specified when type=Webhook'));
      return errors;
    }
    if (!webhook) return [...errors, required(place.child('webhook'), 'required when type=Webhook')];
    return [...errors, ...webhookErrors(place, { ...webhookDefaults, ...webhook }, options)];
  });
}

/**
 * What `kube-apiserver` asks in addition: its own authorizers have fixed names, and those it started with stay. A text for each problem.
 */
export function nameProblems(
  { authorizers = [] }: AuthorizationConfiguration,
  requiredTypes: ReadonlySet<string> = new Set(),
): readonly string[] {
  const own = authorizers.filter(({ type }) => type !== 'Webhook');
  const missing = [...requiredTypes].filter((type) => !own.some((authorizer) => authorizer.type === type)).sort();
  return [
    ...own.flatMap(({ type = '', name = '' }) => {
      const expected = type.toLowerCase();
      return name === expected ? [] : [`expected name ${expected} for authorizer ${type} instead of ${name}`];
    }),
    ...(missing.length > 0 ? [`missing required types: [${missing.join(' ')}]`] : []),
  ];
}

function nameErrors(at: FieldPath, name: string, seen: ReadonlySet<string>): FieldError[] {
  if (name === '') return [required(at)];
  if (seen.has(name)) return [duplicate(at, name)];
  const problems = dns1123Subdomain(name);
  return problems.length === 0 ? [] : [invalid(at, name, `authorizer name is invalid: ${problems.join(', ')}`)];
}

function webhookErrors(at: FieldPath, webhook: WebhookConfiguration, options: ValidationOptions): FieldError[] {
  const { matchConditions = [] } = webhook;
  const timeoutMs = parseDuration(webhook.timeout ?? '') ?? 0;
  return [
    ...(timeoutMs !== 0 && (timeoutMs < 0 || timeoutMs > longestTimeoutMs)
      ? [invalid(at.child('timeout'), webhook.timeout, 'must be > 0s and <= 30s')]
      : durationErrors(at.child('timeout'), webhook.timeout)),
    ...durationErrors(at.child('authorizedTTL'), webhook.authorizedTTL),
    ...durationErrors(at.child('unauthorizedTTL'), webhook.unauthorizedTTL),
    ...choiceErrors(at.child('subjectAccessReviewVersion'), webhook.subjectAccessReviewVersion, ['v1', 'v1beta1']),
    ...conditionVersionErrors(at.child('matchConditionSubjectAccessReviewVersion'), webhook),
    ...choiceErrors(at.child('failurePolicy'), webhook.failurePolicy, ['NoOpinion', 'Deny']),
    ...connectionErrors(at.child('connectionInfo'), webhook, options),
    ...compileMatchConditions(matchConditions, at.child('matchConditions')).errors,
  ];
}

function durationErrors(at: FieldPath, text: string | undefined): FieldError[] {
  const durationMs = parseDuration(text ?? '') ?? 0;
  if (durationMs === 0) return [required(at)];
  return durationMs < 0 ? [invalid(at, text, 'must be > 0s')] : [];
}

function choiceErrors(at: FieldPath, value: string | undefined, choices: readonly string[]): FieldError[] {
  if (!value) return [required(at)];
  return choices.includes(value) ? [] : [notSupported(at, value, choices)];
}

function conditionVersionErrors(
  at: FieldPath,
  { matchConditionSubjectAccessReviewVersion: version, matchConditions = [] }: WebhookConfiguration,
): FieldError[] {
  if (!version) return matchConditions.length > 0 ? [required(at, 'required if match conditions are specified')] : [];
  return version === 'v1' ? [] : [notSupported(at, version, ['v1'])];
}

function connectionErrors(
  at: FieldPath,
  { connectionInfo: { type = '', kubeConfigFile } = {} }: WebhookConfiguration,
  { fileProblem }: ValidationOptions,
): FieldError[] {
  const file = at.child('kubeConfigFile');
  const errors = choiceErrors(at.child('type'), type, ['InClusterConfig', 'KubeConfigFile']);
  if (errors.length > 0) return errors;
  if (type === 'InClusterConfig')
    return kubeConfigFile === undefined
      ? []
      : [invalid(file, kubeConfigFile, 'can only be set when type=KubeConfigFile')];
  if (!kubeConfigFile) return [required(file)];
  if (!kubeConfigFile.startsWith('/')) return [invalid(file, kubeConfigFile, 'must be an absolute path')];
  const problem = fileProblem(kubeConfigFile);
  return problem === undefined ? [] : [invalid(file, kubeConfigFile, problem)];
}

/**
 * What may only be used where a quota covers it: ResourceQuota's part of `--admission-control-config-file`, and how a request is held
 * against it. Without a configuration everything may be used that no quota forbids.
 */
import type { ScopedResourceSelectorRequirement } from '../../../api/gen/core-v1.ts';
import { errorsText, path, required } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { type GroupVersionResource, groupResource } from '../../../apimachinery/resource.ts';
import { statusError } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { Amounts } from '../pod-quantities.ts';
import { refusal } from '../refusal.ts';
import { inScope } from './usage.ts';

export interface LimitedResource {
  readonly apiGroup?: string;
  readonly resource: string;
  /** A name of `ResourceQuota.spec.hard` that contains one of these needs a quota that speaks of it. */
  readonly matchContains?: readonly string[];
  /** An object within one of these needs a quota with such a scope. */
  readonly matchScopes?: readonly ScopedResourceSelectorRequirement[];
}

/** What the quotas of a namespace speak of, as far as it concerns the object. */
export interface Covered {
  readonly names: ReadonlySet<string>;
  readonly scopes: readonly ScopedResourceSelectorRequirement[];
}

/** By version; all have the same fields. */
const kinds: ReadonlyMap<unknown, string> = new Map([
  ['apiserver.config.k8s.io/v1', 'ResourceQuotaConfiguration'],
  ['resourcequota.admission.k8s.io/v1beta1', 'Configuration'],
  ['resourcequota.admission.k8s.io/v1alpha1', 'Configuration'],
]);
const fields = ['apiVersion', 'kind', 'limitedResources'];
const limitedFields = ['apiGroup', 'resource', 'matchContains', 'matchScopes'];

/** Throws when the configuration is none. */
export function limitedResourcesOf(configuration: unknown): readonly LimitedResource[] {
  const document = objectOf(configuration, 'the configuration');
  const { apiVersion = '', kind = '' } = document;
  if (kinds.get(apiVersion) !== kind)
    throw new Error(`no kind ${quote(String(kind))} is registered for version ${quote(String(apiVersion))}`);
  const entries = listOf(document.limitedResources, 'limitedResources').map((entry, index) =>
    objectOf(entry, `limitedResources[${index}]`),
  );
  const unknown = [
    ...unknownFields(document, fields, ''),
    ...entries.flatMap((entry, index) => unknownFields(entry, limitedFields, `limitedResources[${index}].`)),
  ];
  if (unknown.length > 0) throw new Error(`strict decoding error: ${unknown.join(', ')}`);
  for (const [index, { matchContains, matchScopes }] of entries.entries()) {
    listOf(matchContains, `limitedResources[${index}].matchContains`);
    const scopes = `limitedResources[${index}].matchScopes`;
    for (const [i, scope] of listOf(matchScopes, scopes).entries()) objectOf(scope, `${scopes}[${i}]`);
  }
  const at = path('limitedResources');
  const errors = entries.flatMap(({ resource }, i) => (resource ? [] : [required(at.index(i).child('resource'))]));
  if (errors.length > 0) throw new Error(errorsText(errors));
  return entries as unknown as readonly LimitedResource[];
}

/** Throws the refusal of what is limited and not covered. `usage` is what the object takes as it is to be stored. */
export function refuseUncovered(
  limited: readonly LimitedResource[],
  covered: Covered,
  { attributes, usage }: { readonly attributes: AdmissionAttributes; readonly usage: Amounts },
): void {
  const { resource, object } = attributes;
  const names = limitedNames(limited, resource, usage).filter((name) => !covered.names.has(name));
  if (names.length > 0) throw refusal(attributes, `insufficient quota to consume: ${names.sort().join(',')}`);
  // Upstream asks every entry for scopes, whatever resource it is about.
  const scopes = limited
    .flatMap(({ matchScopes }) => matchScopes ?? [])
    .filter((scope) => inScope(scope, resource, object))
    .filter(({ scopeName }) => !covered.scopes.some((scope) => scope.scopeName === scopeName));
  if (scopes.length === 0) return;
  const list = scopes.map(
    ({ scopeName, operator, values }) => `{${scopeName} ${operator} [${values?.join(' ') ?? ''}]}`,
  );
  const message = `insufficient quota to match these scopes: [${list.join(' ')}]`;
  throw statusError({ code: 500, reason: '', message });
}

function limitedNames(
  limited: readonly LimitedResource[],
  resource: GroupVersionResource,
  usage: Amounts,
): readonly string[] {
  const parts = limited
    .filter(
      (entry) => groupResource({ group: entry.apiGroup ?? '', resource: entry.resource }) === groupResource(resource),
    )
    .flatMap(({ matchContains }) => matchContains ?? []);
  const used = [...usage].filter(([, amount]) => amount.sign > 0).map(([name]) => name);
  return used.filter((name) => parts.some((part) => name.includes(part)));
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${what} is not an object`);
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new Error(`${what} is not a list`);
}

function unknownFields(value: object, known: readonly string[], prefix: string): readonly string[] {
  return Object.keys(value)
    .filter((name) => !known.includes(name))
    .map((name) => `unknown field "${prefix}${name}"`);
}

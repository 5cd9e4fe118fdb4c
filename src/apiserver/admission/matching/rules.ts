/** Which requests a rule of a webhook or policy means: operations, groups, versions, resources with subresources, and scope. */
import type { RuleWithOperations } from '../../../api/gen/admissionregistration-v1.ts';
import { apiVersionOf, type GroupVersionKind, type GroupVersionResource } from '../../../apimachinery/resource.ts';
import type { AdmissionAttributes } from '../admission.ts';

/** In which version a webhook or policy sees the object. */
export interface MatchedForm {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
}

type Subject = Pick<AdmissionAttributes, 'operation' | 'resource' | 'subresource' | 'namespace'>;

export function ruleMatches(rule: RuleWithOperations, subject: Subject): boolean {
  const { resource } = subject;
  return (
    inScope(rule.scope ?? '*', subject) &&
    includes(rule.operations, subject.operation) &&
    includes(rule.apiGroups, resource.group) &&
    includes(rule.apiVersions, resource.version) &&
    (rule.resources ?? []).some((entry) => namesResource(entry, resource.resource, subject.subresource))
  );
}

function includes(items: readonly string[] = [], wanted: string): boolean {
  return items.includes('*') || items.includes(wanted);
}

/** A namespace lies in itself, and still belongs to no namespace. */
function inScope(scope: string, { resource, namespace }: Subject): boolean {
  if (scope === '*') return true;
  const { group, version, resource: name } = resource;
  const ofCluster = namespace === '' || (group === '' && version === 'v1' && name === 'namespaces');
  if (scope === 'Namespaced') return !ofCluster;
  return scope === 'Cluster' && ofCluster;
}

/** Both parts may be a star; a star alone means resources without their subresources. */
function namesResource(entry: string, resource: string, subresource: string): boolean {
  const slash = entry.indexOf('/');
  const wantedResource = slash < 0 ? entry : entry.slice(0, slash);
  const wantedSubresource = slash < 0 ? '' : entry.slice(slash + 1);
  return (
    (wantedResource === '*' || wantedResource === resource) &&
    (wantedSubresource === '*' || wantedSubresource === subresource)
  );
}

/** The request's resource in its other versions (and groups, for Events). */
export function equivalentForms({ served }: AdmissionAttributes): readonly MatchedForm[] {
  const versions = served?.stored?.versions;
  if (!served || !versions || versions.size < 2) return [];
  return [...versions.values()]
    .filter((other) => other !== served && other.apiVersion !== apiVersionOf(served.row))
    .map(({ row }) => ({ resource: row, kind: row }));
}

/**
 * Nobody hands on what he does not hold: who writes a role must hold its rules (or `escalate`), who writes a binding must hold the
 * rules of the role it names (or `bind`). Always on, as a validating step in front of the admission plugins, because upstream does it
 * in storage, after mutation.
 */

import { semanticallyEqual } from '../../api/equality.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding } from '../../api/gen/rbac-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { forbidden, isNotFound, notFound } from '../../apimachinery/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission/admission.ts';
import { resourceAccess } from './access.ts';
import type { Authorizer } from './authorizer.ts';
import { compactRules, quotedList, ruleText, uncoveredRules } from './policy-rules.ts';
import type { RuleResolver } from './rule-resolver.ts';

const rbacGroup = 'rbac.authorization.k8s.io';
const everything: readonly PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

export function roleEscalation(options: {
  readonly authorizer: Authorizer;
  readonly resolver: RuleResolver;
}): AdmissionPlugin {
  const { authorizer, resolver } = options;
  return {
    name: 'RoleEscalation',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') && resource.group === rbacGroup && subresource === '',
    async validate(attributes) {
      const { user, resource, object, oldObject } = attributes;
      if (!object || user.groups.includes('system:masters')) return;
      if (oldObject && onlyGarbageCollectionFieldsDiffer(object as KubeObject, oldObject)) return;
      if (resource.resource === 'roles' || resource.resource === 'clusterroles') await checkRole(attributes);
      else if (resource.resource === 'rolebindings' || resource.resource === 'clusterrolebindings')
        await checkBinding(attributes);
    },
  };

  async function checkRole(attributes: AdmissionAttributes): Promise<void> {
    const { user, resource, namespace, oldObject } = attributes;
    const role = attributes.object as Role & Partial<Pick<ClusterRole, 'aggregationRule'>>;
    // Upstream asks under the name in the URL, which a creation does not have.
    const name = attributes.operation === 'CREATE' ? '' : attributes.name;
    const access = { verb: 'escalate', group: rbacGroup, resource: resource.resource, namespace, name };
    if ((await authorizer.authorize(resourceAccess(user, access))).decision === 'allow') return;
    refuseUncovered(attributes, role.rules ?? []);
    const aggregates = (candidate: unknown) =>
      !!(candidate as ClusterRole | undefined)?.aggregationRule?.clusterRoleSelectors?.length;
    if (!aggregates(role) && !aggregates(oldObject)) return;
    // An aggregated role can gather anything, so only who may do anything may say what it gathers.
    if (missing(attributes, everything).length > 0) {
      throw forbidden(
        resource,
        role.metadata.name ?? '',
        'must have cluster-admin privileges to use the aggregationRule',
      );
    }
  }

  async function checkBinding(attributes: AdmissionAttributes): Promise<void> {
    const { user, namespace } = attributes;
    const { roleRef } = attributes.object as RoleBinding | ClusterRoleBinding;
    const resource = roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    const access = { verb: 'bind', group: roleRef.apiGroup || rbacGroup, resource, namespace, name: roleRef.name };
    if ((await authorizer.authorize(resourceAccess(user, access))).decision === 'allow') return;
    const { group } = attributes.resource;
    let rules: readonly PolicyRule[];
    try {
      rules = resolver.rulesOf(roleRef, namespace);
    } catch (error) {
      // Upstream says that it is the binding which is not there.
      throw isNotFound(error) ? notFound({ group, resource: attributes.resource.resource }, roleRef.name) : error;
    }
    refuseUncovered(attributes, rules);
  }

  function refuseUncovered(attributes: AdmissionAttributes, rules: readonly PolicyRule[]): void {
    const uncovered = missing(attributes, rules);
    if (uncovered.length === 0) return;
    const { user, resource, object, namespace } = attributes;
    const texts = [...new Set(compactRules(uncovered).map(ruleText))].sort();
    const { errors } = resolver.rulesFor(user, namespace);
    const who = `user ${quote(user.name)} (groups=${quotedList(user.groups)})`;
    const suffix = errors.length === 0 ? '' : `; resolution errors: [${errors.join(' ')}]`;
    const message = `${who} is attempting to grant RBAC permissions not currently held:\n${texts.join('\n')}${suffix}`;
    throw forbidden(resource, object?.metadata.name ?? '', message);
  }

  function missing(attributes: AdmissionAttributes, rules: readonly PolicyRule[]): readonly PolicyRule[] {
    return uncoveredRules(resolver.rulesFor(attributes.user, attributes.namespace).rules, rules);
  }
}

/** The garbage collector must be able to remove finalizers and owners of roles whose rules it does not hold. */
function onlyGarbageCollectionFieldsDiffer(object: KubeObject, oldObject: KubeObject): boolean {
  const strip = ({ metadata, ...rest }: KubeObject) => {
    const {
      ownerReferences: _owners,
      finalizers: _finalizers,
      selfLink: _link,
      managedFields: _managed,
      ...kept
    } = metadata;
    return { ...rest, metadata: kept };
  };
  return semanticallyEqual(strip(object), strip(oldObject));
}

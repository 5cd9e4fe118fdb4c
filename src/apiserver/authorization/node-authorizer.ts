/**
 * Authorization mode `Node`: what a kubelet needs for the Pods bound to its node, and nothing more. It allows or has no opinion,
 * never denies. What it must know about the cluster is in `node-relations.ts`; which changes a node may make is NodeRestriction's.
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { parseFieldSelector } from '../../apimachinery/fields.ts';
import { quote } from '../../apimachinery/go-text.ts';
import type { RequestInfo, UserInfo } from '../request.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './authorizer.ts';
import { nodeNameOf } from './node-identity.ts';
import type { NodeRelations, RelatedKind } from './node-relations.ts';
import { ruleAllows } from './policy-rules.ts';
import type { RuleSource, UserRules } from './user-rules.ts';

const leaseNamespace = 'kube-node-lease';

/** `rules` are those that hold for every node alike (`gen/node-rules.json`). */
export function nodeAuthorizer(options: {
  readonly relations: NodeRelations;
  readonly rules: readonly PolicyRule[];
}): Authorizer & RuleSource {
  const { relations, rules } = options;
  return {
    name: 'Node',
    authorize({ user, info }: AuthorizationAttributes): AuthorizationDecision {
      const nodeName = nodeNameOf(user);
      if (nodeName === undefined) return noOpinion('');
      if (nodeName === '') return noOpinion(`unknown node for user ${quote(user.name)}`);
      if (info.isResource) {
        const check = checks[`${info.resource}.${info.group}`];
        if (check) return check({ nodeName, info, relations });
      }
      return rules.some((rule) => ruleAllows(rule, info)) ? allow : noOpinion('');
    },
    userRules(user: UserInfo): UserRules {
      if (nodeNameOf(user) === undefined)
        return { resourceRules: [], nonResourceRules: [], incomplete: false, errors: [] };
      const errors = ['node authorizer does not support user rule resolution'];
      return { resourceRules: [], nonResourceRules: [], incomplete: true, errors };
    },
  };
}

interface Question {
  readonly nodeName: string;
  readonly info: RequestInfo;
  readonly relations: NodeRelations;
}

type Check = (question: Question) => AuthorizationDecision;

const allow: AuthorizationDecision = { decision: 'allow', reason: '' };

function noOpinion(reason: string): AuthorizationDecision {
  return { decision: 'no-opinion', reason };
}

/** Resources that depend on what runs on the node; these never fall through to the static rules. */
const checks: Readonly<Record<string, Check>> = {
  'secrets.': (question) => readNamespaced(question, 'secret'),
  'configmaps.': (question) => readNamespaced(question, 'configmap'),
  'persistentvolumeclaims.': (question) =>
    question.info.subresource === 'status' ? updateStatus(question, 'pvc') : getOne(question, 'pvc'),
  'persistentvolumes.': (question) => getOne(question, 'pv'),
  'resourceclaims.resource.k8s.io': (question) => getOne(question, 'resourceclaim'),
  'volumeattachments.storage.k8s.io': (question) => getOne(question, 'volumeattachment'),
  'serviceaccounts.': serviceAccount,
  'leases.coordination.k8s.io': lease,
  'csinodes.storage.k8s.io': csiNode,
  'resourceslices.resource.k8s.io': resourceSlice,
  'podcertificaterequests.certificates.k8s.io': podCertificateRequest,
  'nodes.': node,
  'pods.': pod,
};

function relatedTo({ nodeName, info, relations }: Question, kind: RelatedKind): AuthorizationDecision {
  if (info.name === '') return noOpinion('No Object name found');
  const key = info.namespace === '' ? info.name : `${info.namespace}/${info.name}`;
  if (relations.related(nodeName, kind, key)) return allow;
  return noOpinion(`no relationship found between node '${nodeName}' and this object`);
}

function getOne(question: Question, kind: RelatedKind): AuthorizationDecision {
  if (question.info.verb !== 'get') return noOpinion('can only get individual resources of this type');
  if (question.info.subresource !== '') return noOpinion('cannot get subresource');
  return relatedTo(question, kind);
}

function readNamespaced(question: Question, kind: RelatedKind): AuthorizationDecision {
  const { verb, subresource, namespace } = question.info;
  if (!['get', 'list', 'watch'].includes(verb)) return noOpinion('can only read resources of this type');
  if (subresource !== '') return noOpinion('cannot read subresource');
  if (namespace === '') return noOpinion('can only read namespaced object of this type');
  return relatedTo(question, kind);
}

function updateStatus(question: Question, kind: RelatedKind): AuthorizationDecision {
  if (!['update', 'patch'].includes(question.info.verb)) return noOpinion('can only get/update/patch this type');
  return relatedTo(question, kind);
}

function serviceAccount(question: Question): AuthorizationDecision {
  const { verb, subresource, name } = question.info;
  if (verb === 'get' && subresource === '') return readNamespaced(question, 'serviceaccount');
  if (verb !== 'create' || name === '') return noOpinion('can only create tokens for individual service accounts');
  if (subresource !== 'token') return noOpinion('can only create token subresource of serviceaccount');
  return relatedTo(question, 'serviceaccount');
}

function lease({ nodeName, info }: Question): AuthorizationDecision {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(info.verb)) {
    return noOpinion('can only get, create, update, patch, or delete a node lease');
  }
  if (info.namespace !== leaseNamespace) {
    return noOpinion(`can only access leases in the ${quote(leaseNamespace)} system namespace`);
  }
  // A creation's name is not in the URL; NodeRestriction looks at the object.
  if (info.verb !== 'create' && info.name !== nodeName) {
    return noOpinion('can only access node lease with the same name as the requesting node');
  }
  return allow;
}

function csiNode({ nodeName, info }: Question): AuthorizationDecision {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(info.verb)) {
    return noOpinion('can only get, create, update, patch, or delete a CSINode');
  }
  if (info.subresource !== '') return noOpinion('cannot authorize CSINode subresources');
  if (info.verb !== 'create' && info.name !== nodeName) {
    return noOpinion('can only access CSINode with the same name as the requesting node');
  }
  return allow;
}

function resourceSlice(question: Question): AuthorizationDecision {
  const { verb, subresource, fieldSelector } = question.info;
  if (subresource !== '') return noOpinion('cannot authorize ResourceSlice subresources');
  if (verb === 'create') return allow;
  if (['get', 'update', 'patch', 'delete'].includes(verb)) return relatedTo(question, 'resourceslice');
  if (['watch', 'list', 'deletecollection'].includes(verb)) {
    if (selects(fieldSelector, 'spec.nodeName', question.nodeName)) return allow;
    return noOpinion('can only list/watch/deletecollection resourceslices with nodeName field selector');
  }
  const verbs = 'get, watch, list, create, update, patch, delete, deletecollection';
  return noOpinion(`only the following verbs are allowed for a ResourceSlice: ${verbs}`);
}

/** They are served only with their gate; a node finds its own by listing them. */
function podCertificateRequest({ nodeName, info }: Question): AuthorizationDecision {
  if (info.subresource !== '')
    return noOpinion('nodes may not access the status subresource of PodCertificateRequests');
  // Creates are further restricted by NodeRestriction.
  if (info.verb === 'create') return allow;
  if (info.verb === 'list' || info.verb === 'watch') {
    if (selects(info.fieldSelector, 'spec.nodeName', nodeName)) return allow;
    return noOpinion('can only list/watch podcertificaterequests with nodeName field selector');
  }
  return noOpinion(`nodes may not ${info.verb} podcertificaterequests`);
}

function node({ nodeName, info }: Question): AuthorizationDecision {
  if (info.subresource === '') {
    if (['create', 'update', 'patch'].includes(info.verb)) return allow;
    if (['get', 'list', 'watch'].includes(info.verb)) {
      if (info.name === nodeName) return allow;
      const what = info.name === '' ? 'all nodes' : `'${info.name}'`;
      return noOpinion(`node '${nodeName}' cannot read ${what}, only its own Node object`);
    }
  }
  if (info.subresource === 'status' && ['update', 'patch'].includes(info.verb)) return allow;
  return noOpinion('');
}

function pod(question: Question): AuthorizationDecision {
  const { verb, subresource, name, fieldSelector } = question.info;
  switch (subresource) {
    case '':
      if (verb === 'get') return getOne(question, 'pod');
      if (verb === 'list' || verb === 'watch') {
        if (selects(fieldSelector, 'spec.nodeName', question.nodeName)) return allow;
        if (name !== '') return readNamespaced(question, 'pod');
        return noOpinion('can only list/watch pods with spec.nodeName field selector');
      }
      if (verb === 'create' || verb === 'delete') return allow;
      break;
    case 'status':
      if (verb === 'update' || verb === 'patch') return allow;
      break;
    case 'eviction':
      if (verb === 'create') return allow;
      break;
  }
  return noOpinion('');
}

/** Whether the selector holds only for objects whose field has exactly this value. A malformed one is refused later, as such. */
function selects(fieldSelector: string | undefined, field: string, value: string): boolean {
  try {
    return parseFieldSelector(fieldSelector ?? '').exactValue(field) === value;
  } catch {
    return false;
  }
}

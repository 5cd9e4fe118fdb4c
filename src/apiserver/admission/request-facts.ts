/** A request as webhooks and expressions are told of it, but for the objects: who does what to which thing. */
import type { AdmissionRequest } from '../../api/gen/admission-v1.ts';
import type { GroupVersionKind, GroupVersionResource } from '../../apimachinery/resource.ts';
import type { AdmissionAttributes } from './admission.ts';
import type { MatchedForm } from './matching/rules.ts';

/** `form`: the version in which the object is shown. */
export function requestFacts(attributes: AdmissionAttributes, form: MatchedForm): Omit<AdmissionRequest, 'uid'> {
  const { subresource, name, namespace, operation, user, dryRun, options } = attributes;
  const subresourceFields = subresource === '' ? {} : { subResource: subresource };
  return {
    kind: kindOf(form.kind),
    resource: resourceOf(form.resource),
    ...subresourceFields,
    requestKind: kindOf(attributes.kind),
    requestResource: resourceOf(attributes.resource),
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: {
      ...(user.name ? { username: user.name } : {}),
      ...(user.uid ? { uid: user.uid } : {}),
      ...(user.groups.length > 0 ? { groups: user.groups } : {}),
      ...(user.extra && Object.keys(user.extra).length > 0 ? { extra: user.extra } : {}),
    },
    dryRun,
    options: operation === 'CONNECT' ? null : options,
  };
}

function kindOf({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind };
}

function resourceOf({ group, version, resource }: GroupVersionResource): GroupVersionResource {
  return { group, version, resource };
}

/** The types of what admission's expressions are given besides objects: the request and the namespace. */
import {
  boolType,
  type CelType,
  dynType,
  intType,
  listOf,
  mapOf,
  objectType,
  stringType,
  timestampType,
} from '../../../apimachinery/cel/index.ts';
import { unescapeIdentifier } from '../../../apimachinery/cel/kubernetes/identifiers.ts';

const strings = listOf(stringType);
const texts = mapOf(stringType, stringType);

const kind = object('GroupVersionKind', { group: stringType, version: stringType, kind: stringType });
const resource = object('GroupVersionResource', {
  group: stringType,
  version: stringType,
  resource: stringType,
});

/** `request`: an AdmissionRequest without its uid and its objects, which are variables of their own. */
export const requestType: CelType = object('AdmissionRequest', {
  kind,
  resource,
  subResource: stringType,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: object('UserInfo', {
    username: stringType,
    uid: stringType,
    groups: strings,
    extra: mapOf(stringType, strings),
  }),
  dryRun: boolType,
  options: dynType,
});

/** `namespaceObject`: what of a Namespace concerns others. */
export const namespaceType: CelType = object('Namespace', {
  metadata: object('NamespaceMetadata', {
    name: stringType,
    generateName: stringType,
    namespace: stringType,
    labels: texts,
    annotations: texts,
    // In capitals, as upstream; nothing stands under that name.
    UID: stringType,
    creationTimestamp: timestampType,
    deletionGracePeriodSeconds: intType,
    deletionTimestamp: timestampType,
    generation: intType,
    resourceVersion: stringType,
    finalizers: strings,
  }),
  spec: object('NamespaceSpec', { finalizers: strings }),
  status: object('NamespaceStatus', {
    conditions: listOf(
      object('NamespaceCondition', {
        status: stringType,
        type: stringType,
        lastTransitionTime: timestampType,
        message: stringType,
        reason: stringType,
      }),
    ),
    phase: stringType,
  }),
});

/** A field whose name is a keyword has a second spelling. */
function object(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return objectType(`kubernetes.${name}`, {
    field(spelling) {
      const property = Object.hasOwn(fields, spelling) ? spelling : unescapeIdentifier(spelling);
      const type = property === undefined || !Object.hasOwn(fields, property) ? undefined : fields[property];
      return type && { type, ...(property === spelling ? {} : { property: property! }) };
    },
  });
}

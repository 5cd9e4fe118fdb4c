/** What the variables of admission's expressions hold for one request. */
import type { Namespace } from '../../../api/gen/core-v1.ts';
import {
  AuthorizerValue,
  type DecisionLedger,
  ResourceCheckValue,
} from '../../../apimachinery/cel/library/authorization.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { MatchedForm } from '../matching/rules.ts';
import type { ObjectVersions } from '../object-versions.ts';
import { requestFacts } from '../request-facts.ts';

export interface ExpressionInput {
  readonly attributes: AdmissionAttributes;
  /** In which version objects are seen. */
  readonly form: MatchedForm;
  readonly versions: ObjectVersions;
  /** One for all expressions of a request. */
  readonly ledger: DecisionLedger;
  readonly params?: KubeObject | undefined;
  readonly namespace?: Namespace | undefined;
}

export type Bindings = Readonly<Record<string, unknown>>;

export function bindingsOf(input: ExpressionInput): Bindings {
  const { attributes, form, versions, ledger, params, namespace } = input;
  const { user, resource, subresource, name } = attributes;
  const authorizer = new AuthorizerValue(user, ledger);
  const asked = { group: resource.group, resource: resource.resource, fieldSelector: '', labelSelector: '' };
  return {
    object: versions.object(form.kind) ?? null,
    oldObject: versions.oldObject(form.kind) ?? null,
    request: requestFacts(attributes, form),
    params: params ?? null,
    namespaceObject: namespace ? namespaceView(namespace) : null,
    authorizer,
    'authorizer.requestResource': new ResourceCheckValue(authorizer, {
      ...asked,
      subresource,
      namespace: attributes.namespace,
      name,
    }),
  };
}

/** What of a Namespace concerns others: neither who owns its fields nor who owns it. */
function namespaceView({ metadata, spec, status }: Namespace): object {
  const { managedFields: _managedFields, ownerReferences: _owners, selfLink: _link, ...shown } = metadata;
  return { metadata: shown, spec: spec ?? {}, status: status ?? {} };
}

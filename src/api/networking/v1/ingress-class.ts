/** IngressClasses: which controller serves which Ingresses. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  path,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillAbsent } from '../../defaulting.ts';
import { type IngressClass, type IngressClassParametersReference, ingressClasses } from '../../gen/networking-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import {
  validateDnsLabel,
  validateDnsSubdomain,
  validateDomainPrefixedPath,
  validateEnum,
  validateImmutable,
  validatePathSegment,
} from '../../validation.ts';

const longestController = 250;
const defaultAnnotation = 'ingressclass.kubernetes.io/is-default-class';

export const ingressClassBehaviour: KindBehaviour<IngressClass> = {
  resource: ingressClasses,
  defaults({ spec }) {
    if (spec?.parameters) fillAbsent(spec.parameters, 'scope', 'Cluster');
  },
  countsGeneration: true,
  validate,
  validateUpdate: (ingressClass, previous) => [
    ...validateImmutable(path('spec', 'controller'), ingressClass.spec?.controller, previous.spec?.controller),
    ...validate(ingressClass),
  ],
  columns: [
    { ...nameColumn, cell: nameText },
    text('Controller', ({ spec }) => spec?.controller ?? '', {
      description: 'Controller that is responsible for handling this class',
    }),
    text('Parameters', parametersText, { description: 'A reference to a resource with additional parameters' }),
    ageColumn,
  ],
};

function validate({ spec }: IngressClass): FieldError[] {
  const at = path('spec', 'controller');
  const controller = spec?.controller ?? '';
  const errors = byteLength(controller) > longestController ? [tooLong(at, longestController)] : [];
  errors.push(...validateDomainPrefixedPath(at, controller));
  return spec?.parameters ? [...errors, ...validateParameters(path('spec', 'parameters'), spec.parameters)] : errors;
}

function validateParameters(at: FieldPath, parameters: IngressClassParametersReference): FieldError[] {
  const { apiGroup, kind, name, scope, namespace } = parameters;
  const errors = [
    ...(apiGroup != null ? validateDnsSubdomain(at.child('apiGroup'), apiGroup) : []),
    ...validatePathSegment(at.child('kind'), kind),
    ...validatePathSegment(at.child('name'), name),
  ];
  if (scope == null) return [...errors, required(at.child('scope'))];
  errors.push(...validateEnum(at.child('scope'), scope, ['Cluster', 'Namespace']));
  const namespaceAt = at.child('namespace');
  if (scope === 'Namespace') {
    if (namespace == null) errors.push(required(namespaceAt, "`parameters.scope` is set to 'Namespace'"));
    else errors.push(...validateDnsLabel(namespaceAt, namespace));
  }
  if (scope === 'Cluster' && namespace != null) {
    errors.push(forbidden(namespaceAt, "`parameters.scope` is set to 'Cluster'"));
  }
  return errors;
}

function nameText({ metadata }: { readonly metadata: IngressClass['metadata'] }): string {
  return metadata.annotations?.[defaultAnnotation] === 'true' ? `${metadata.name} (default)` : (metadata.name ?? '');
}

function parametersText({ spec }: IngressClass): string {
  const parameters = spec?.parameters;
  if (!parameters) return '<none>';
  const kind = parameters.apiGroup == null ? parameters.kind : `${parameters.kind}.${parameters.apiGroup}`;
  return `${kind}/${parameters.name}`;
}

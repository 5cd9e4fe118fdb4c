/** FlowSchemas: which requests belong to which priority level; the one of the lowest precedence decides. */
import { type FieldError, invalid, notSupported, path, required } from '../../../apimachinery/field-error.ts';
import { dns1123Subdomain } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillEmpty, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type FlowSchema, type FlowSchemaSpec, flowSchemas } from '../../gen/flowcontrol-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { keepMetadata, statusKeepsMetadata } from '../../strategy.ts';
import { refused, shown } from '../../validation.ts';
import { validateConditionTypes } from './condition-types.ts';
import { validateRules } from './flow-rule-validation.ts';
import { exemptName, mandatorySchemaSpec } from './mandatory.ts';

const precedence = { default: 1000, most: 10_000, exempt: 1 } as const;
const distinguishers = ['ByNamespace', 'ByUser'];

export const flowSchemaBehaviour: KindBehaviour<FlowSchema> = {
  resource: flowSchemas,
  countsGeneration: true,
  defaults(schema) {
    fillEmpty(partOf(schema, 'spec'), 'matchingPrecedence', precedence.default);
  },
  validate,
  subresources: {
    status: {
      prepareForUpdate(schema, previous, context) {
        statusKeepsMetadata.prepareForUpdate?.(schema, previous, context);
        keepMetadata(schema, previous, 'generateName');
      },
      validateUpdate: ({ status }) => validateConditionTypes(status),
    },
  },
  columns: [
    nameColumn,
    text('PriorityLevel', ({ spec }) => spec.priorityLevelConfiguration.name, {
      description: '`name` is the name of the priority level configuration being referenced Required.',
    }),
    text('MatchingPrecedence', ({ spec }) => spec.matchingPrecedence ?? 0),
    text('DistinguisherMethod', ({ spec }) => spec.distinguisherMethod?.type ?? '<none>'),
    ageColumn,
    text('MissingPL', ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?', {
      description: 'references a broken or non-existent PriorityLevelConfiguration',
    }),
  ],
  compareRows(a, b) {
    const order = (a.spec.matchingPrecedence ?? 0) - (b.spec.matchingPrecedence ?? 0);
    if (order !== 0) return order;
    return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
  },
};

function validate({ metadata, spec, status }: FlowSchema): FieldError[] {
  return [
    ...validatePrecedence(metadata.name ?? '', spec),
    ...validateReferences(spec),
    ...(spec.rules ?? []).flatMap((rule, index) => validateRules(path('spec', 'rules').index(index), rule)),
    ...validateMandatory(metadata.name ?? '', spec),
    ...validateConditionTypes(status),
  ];
}

function validateMandatory(name: string, spec: FlowSchemaSpec): FieldError[] {
  const fixed = mandatorySchemaSpec(name);
  if (!fixed || semanticallyEqual(spec, fixed)) return [];
  return [invalid(path('spec'), spec, `spec of '${name}' must equal the fixed value`)];
}

function validatePrecedence(name: string, { matchingPrecedence: value = 0 }: FlowSchemaSpec): FieldError[] {
  const at = path('spec', 'matchingPrecedence');
  if (value <= 0) return [invalid(at, value, 'must be a positive value')];
  if (value > precedence.most) return [invalid(at, value, `must not be greater than ${precedence.most}`)];
  if (value !== precedence.exempt || name === exemptName) return [];
  return [invalid(at, value, "only the schema named 'exempt' may have matchingPrecedence 1")];
}

function validateReferences({ distinguisherMethod: method, priorityLevelConfiguration }: FlowSchemaSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (method && !distinguishers.includes(method.type)) {
    errors.push(
      notSupported(path('spec', 'distinguisherMethod', 'type'), shown({ Type: method.type }), distinguishers),
    );
  }
  const at = path('spec', 'priorityLevelConfiguration', 'name');
  const name = priorityLevelConfiguration?.name;
  if (!name) return [...errors, required(at, 'must reference a priority level')];
  return [...errors, ...refused(at, name, dns1123Subdomain(name))];
}

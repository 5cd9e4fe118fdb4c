/**
 * The schema of one version of a CustomResourceDefinition: structural, within the API's standards, with defaults that obey it and rules
 * that can be judged.
 */
import { type FieldError, type FieldPath, forbidden, invalid } from '../../../apimachinery/field-error.ts';
import { validateDefaults } from '../../../apimachinery/structural-schema/default-validation.ts';
import { CustomObjects } from '../../../apimachinery/structural-schema/object-metadata.ts';
import {
  parseStructuralSchema,
  type StructuralSchema,
  UnsupportedSchemaError,
} from '../../../apimachinery/structural-schema/schema.ts';
import { structuralErrors } from '../../../apimachinery/structural-schema/structural.ts';
import { isEmpty } from '../../defaulting.ts';
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import { validateEmbeddedMetadata } from '../../metadata-validation.ts';
import { builtinSchema } from '../../schema.ts';
import type { Leniency } from './leniency.ts';
import { defaultJudge, ruleErrors } from './rules.ts';
import { schemaStandardErrors } from './schema-standards.ts';

export interface SchemaContext {
  /** Of the schema itself: `spec.versions[0].schema.openAPIV3Schema`. */
  readonly at: FieldPath;
  readonly leniency: Leniency;
  /** Whether status is kept apart, so that its part of the schema must stand on its own. */
  readonly keepsStatus: boolean;
  readonly unchanged: boolean;
}

export function validateSchema(props: JSONSchemaProps, context: SchemaContext): FieldError[] {
  const { at, leniency } = context;
  const errors = context.keepsStatus ? rootErrors(props, at) : [];
  if (props.nullable) errors.push(forbidden(at.child('nullable'), 'nullable cannot be true at the root'));
  const parsed = leniency.structural ? tryParse(props) : undefined;
  const schema = parsed instanceof UnsupportedSchemaError ? undefined : parsed;
  const shape = schema ? shapeErrors(schema, context) : [];
  errors.push(...shape, ...schemaStandardErrors(props, at, leniency));
  if (parsed instanceof UnsupportedSchemaError) return errors.length > 0 ? errors : [invalid(at, '', parsed.message)];
  if (schema && shape.length === 0) {
    const { known } = leniency;
    const { unchanged } = context;
    errors.push(...ruleErrors(schema, { at, schemaErrors: [...errors], known, unchanged }));
  }
  return errors;
}

function tryParse(props: JSONSchemaProps): StructuralSchema | UnsupportedSchemaError {
  try {
    return parseStructuralSchema(props);
  } catch (error) {
    if (error instanceof UnsupportedSchemaError) return error;
    throw error;
  }
}

/** Defaults can be tried on a structural schema only. */
function shapeErrors(schema: StructuralSchema, { at, leniency }: SchemaContext): FieldError[] {
  const errors = structuralErrors(schema, at);
  if (errors.length > 0) return errors;
  return validateDefaults(schema, at, {
    objects: new CustomObjects(builtinSchema()),
    validateMetadata: validateEmbeddedMetadata,
    requiresPruned: leniency.prunedDefaults,
    checkRules: defaultJudge(),
  });
}

/** In upstream's order, which is that of its struct; the first field that is not among them is reported. */
const allowedAtRoot =
  '[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]';
const firstForbidden = ['id', '$schema', '$ref'] as const;
const otherForbidden = [
  'nullable',
  'default',
  'enum',
  'maxProperties',
  'minProperties',
  'allOf',
  'oneOf',
  'anyOf',
  'not',
  'additionalProperties',
  'patternProperties',
  'dependencies',
  'additionalItems',
  'definitions',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
] as const;

/** The schema of status is cut out of the whole, so nothing beside its properties may bear on it. */
function rootErrors(props: JSONSchemaProps, at: FieldPath): FieldError[] {
  const says = (field: keyof JSONSchemaProps) => props[field] !== undefined && !isEmpty(props[field]);
  const detail = `only ${allowedAtRoot} fields are allowed at the root of the schema if the status subresource is enabled`;
  if (firstForbidden.some(says)) return [invalid(at, props, detail)];
  if (props.type && props.type !== 'object') {
    const typeDetail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalid(at.child('type'), props.type, typeDetail)];
  }
  return otherForbidden.some(says) ? [invalid(at, props, detail)] : [];
}

/**
 * Whether a schema is structural: whether every part of an object has one type and one place in the schema, so that pruning and
 * defaulting know what to do. What stands under `allOf`, `anyOf`, `oneOf` and `not` may restrict values, but adds no structure: types,
 * defaults, names of fields that the structure does not have.
 */
import { errorText, type FieldError, type FieldPath, forbidden, invalid, required } from '../field-error.ts';
import { compileGoRegexp } from '../go-regexp.ts';
import { additionalSchema } from './pruning.ts';
import type { StructuralSchema, ValueValidation } from './schema.ts';

type Level = 'root' | 'item' | 'field';

/** All violations, sorted by their texts. */
export function structuralErrors(schema: StructuralSchema, at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  checkStructure(schema, { level: 'root', at, errors });
  checkRestrictions(schema.value, schema, { structure: at, at, errors });
  return errors
    .map((error) => ({ error, text: errorText(error) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ error }) => error);
}

interface Place {
  readonly level: Level;
  readonly at: FieldPath;
  readonly errors: FieldError[];
}

const missingTypes: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function checkStructure(schema: StructuralSchema, place: Place): void {
  const { at, errors } = place;
  const additional = additionalSchema(schema);
  if (schema.type === 'array' && !schema.items) errors.push(required(at.child('items'), 'must be specified'));
  if (schema.items) checkStructure(schema.items, { level: 'item', at: at.child('items'), errors });
  for (const [name, property] of schema.properties)
    checkStructure(property, { level: 'field', at: at.child('properties').key(name), errors });
  if (additional) checkStructure(additional, { level: 'field', at: at.child('additionalProperties'), errors });
  checkExtensions(schema, place);
  checkValidation(schema.value, { ...place, intOrString: intOrStringForm(schema.value) });
  checkType(schema, place);
  checkObjectFields(schema, place);
}

function checkExtensions(schema: StructuralSchema, { level, at, errors }: Place): void {
  const { additionalProperties, embeddedResource, intOrString, preserveUnknownFields } = schema;
  const additionalAt = at.child('additionalProperties');
  if (additionalProperties !== undefined && level === 'root')
    errors.push(forbidden(additionalAt, 'must not be used at the root'));
  const exclusive = 'must be false if x-kubernetes-int-or-string is true';
  if (intOrString && preserveUnknownFields)
    errors.push(invalid(at.child('x-kubernetes-preserve-unknown-fields'), true, exclusive));
  if (intOrString && embeddedResource)
    errors.push(invalid(at.child('x-kubernetes-embedded-resource'), true, exclusive));
  if (!embeddedResource) return;
  if (additionalProperties !== undefined)
    errors.push(forbidden(additionalAt, 'must not be used if x-kubernetes-embedded-resource is set'));
  if (!preserveUnknownFields && schema.properties.size === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(required(at.child('properties'), detail));
  }
}

function checkType(schema: StructuralSchema, { level, at, errors }: Place): void {
  const { type, embeddedResource } = schema;
  const typeAt = at.child('type');
  if (embeddedResource && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? required(typeAt, detail) : invalid(typeAt, type, detail));
  } else if (type === '' && !schema.intOrString && !schema.preserveUnknownFields) {
    errors.push(required(typeAt, missingTypes[level]));
  }
  if (level === 'root' && type !== '' && type !== 'object')
    errors.push(invalid(typeAt, type, 'must be object at the root'));
}

/** Of `apiVersion`, `kind` and `metadata` of a whole object little may be said: they are every object's. */
function checkObjectFields(schema: StructuralSchema, { level, at, errors }: Place): void {
  const isObject = level === 'root' || schema.embeddedResource;
  const propertyAt = (name: string) => at.child('properties').key(name);
  for (const name of ['kind', 'apiVersion']) {
    const property = schema.properties.get(name);
    if (isObject && property && property.type !== 'string')
      errors.push(invalid(propertyAt(name).child('type'), property.type, 'must be string'));
  }
  const metadata = schema.properties.get('metadata');
  if (!metadata) return;
  if (isObject && metadata.type !== 'object')
    errors.push(invalid(propertyAt('metadata').child('type'), metadata.type, 'must be object'));
  if (level !== 'root') return;
  const names = [...metadata.properties.keys()];
  const namesOnly = names.every((name) => name === 'name' || name === 'generateName');
  const rest = { ...metadata, type: '', default: undefined, properties: namesOnly ? undefined : metadata.properties };
  if (isBlank(rest)) return;
  const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
  errors.push(forbidden(propertyAt('metadata'), detail));
}

/** Which of the two spellings of `x-kubernetes-int-or-string` may name types in alternatives. */
type IntOrStringForm = 'anyOf' | 'allOf' | undefined;

function intOrStringForm({ anyOf, allOf }: ValueValidation): IntOrStringForm {
  if (isIntegerOrString(anyOf)) return 'anyOf';
  return allOf[0] && isIntegerOrString(allOf[0].value.anyOf) ? 'allOf' : undefined;
}

function isIntegerOrString(alternatives: readonly StructuralSchema[]): boolean {
  const types = ['integer', 'string'];
  return (
    alternatives.length === 2 &&
    alternatives.every((schema, index) => schema.type === types[index] && isBlank({ ...schema, type: '' }))
  );
}

interface ValidationPlace extends Place {
  readonly intOrString: IntOrStringForm;
}

function checkValidation(value: ValueValidation, place: ValidationPlace): void {
  const { at, errors, intOrString } = place;
  const nested = (schema: StructuralSchema, step: FieldPath, form?: IntOrStringForm) =>
    checkNested(schema, { ...place, at: step, intOrString: form });
  if (intOrString !== 'anyOf')
    for (const [index, schema] of value.anyOf.entries()) nested(schema, at.child('anyOf').index(index));
  for (const [index, schema] of value.allOf.entries()) {
    const form = intOrString === 'allOf' && index === 0 ? 'anyOf' : undefined;
    nested(schema, at.child('allOf').index(index), form);
  }
  for (const [index, schema] of value.oneOf.entries()) nested(schema, at.child('oneOf').index(index));
  if (value.not) nested(value.not, at.child('not'));
  if (value.pattern === '') return;
  try {
    compileGoRegexp(value.pattern);
  } catch (error) {
    const detail = `must be a valid regular expression, but isn't: ${(error as Error).message}`;
    errors.push(invalid(at.child('pattern'), value.pattern, detail));
  }
}

function checkNested(schema: StructuralSchema, place: ValidationPlace): void {
  const { at, errors } = place;
  checkValidation(schema.value, place);
  if (schema.items) checkNested(schema.items, { ...place, at: at.child('items'), intOrString: undefined });
  for (const [name, property] of schema.properties) {
    const here = at.child('properties').key(name);
    checkNested(property, { level: 'field', at: here, errors, intOrString: undefined });
  }
  const found: readonly (readonly [field: string, set: boolean, detail: string])[] = [
    ['type', schema.type !== '', 'must be empty to be structural'],
    ['additionalProperties', (schema.additionalProperties ?? false) !== false, 'must be undefined to be structural'],
    ['default', schema.default !== undefined, 'must be undefined to be structural'],
    ['title', schema.title !== '', 'must be empty to be structural'],
    ['description', schema.description !== '', 'must be empty to be structural'],
    ['nullable', schema.nullable, 'must be false to be structural'],
    ['x-kubernetes-preserve-unknown-fields', schema.preserveUnknownFields, 'must be false to be structural'],
    ['x-kubernetes-embedded-resource', schema.embeddedResource, 'must be false to be structural'],
    ['x-kubernetes-int-or-string', schema.intOrString, 'must be false to be structural'],
    ['x-kubernetes-list-map-keys', schema.listMapKeys.length > 0, 'must be empty to be structural'],
    ['x-kubernetes-list-type', schema.listType !== undefined, 'must be undefined to be structural'],
    ['x-kubernetes-map-type', schema.mapType !== undefined, 'must be undefined to be structural'],
    ['x-kubernetes-validations', schema.rules.length > 0, 'must be empty to be structural'],
  ];
  for (const [field, set, detail] of found) if (set) errors.push(forbidden(at.child(field), detail));
  if (schema.properties.has('metadata')) {
    const detail = 'must not be specified in a nested context';
    errors.push(forbidden(at.child('properties').key('metadata'), detail));
  }
}

interface RestrictionPlace {
  /** Where the structure would have to say what the restriction is about. */
  readonly structure: FieldPath;
  readonly at: FieldPath;
  readonly errors: FieldError[];
}

/** Whatever is restricted must be part of the structure. */
function checkRestrictions(value: ValueValidation, schema: StructuralSchema, place: RestrictionPlace): void {
  const { at } = place;
  const visit = (nested: StructuralSchema, step: FieldPath) => checkRestriction(nested, schema, { ...place, at: step });
  if (value.not) visit(value.not, at.child('not'));
  for (const junctor of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [index, nested] of value[junctor].entries()) visit(nested, at.child(junctor).index(index));
}

function checkRestriction(
  nested: StructuralSchema,
  schema: StructuralSchema | undefined,
  { structure, at, errors }: RestrictionPlace,
): void {
  if (!schema) {
    errors.push(required(structure, `because it is defined in ${at}`));
    return;
  }
  checkRestrictions(nested.value, schema, { structure, at, errors });
  if (nested.items)
    checkRestriction(nested.items, schema.items, {
      structure: structure.child('items'),
      at: at.child('items'),
      errors,
    });
  for (const [name, property] of nested.properties) {
    const step = (from: FieldPath) => from.child('properties').key(name);
    checkRestriction(property, schema.properties.get(name), { structure: step(structure), at: step(at), errors });
  }
}

/** Whether a schema, or a part of it, says nothing at all. */
function isBlank(part: object): boolean {
  return Object.values(part).every((value) => {
    if (value === undefined || value === false || value === '') return true;
    if (Array.isArray(value)) return value.length === 0;
    if (value instanceof Map) return value.size === 0;
    return typeof value === 'object' && value !== null && isBlank(value);
  });
}

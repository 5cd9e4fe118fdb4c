/**
 * What a schema of a CustomResourceDefinition may say at all, beyond being structural: the parts of JSON schema that the API has no use
 * for, lists and maps that say how they are merged, and the form of validation rules. Whether the rules themselves are right is judged
 * by `rules.ts`.
 *
 * What a definition was stored with before a check existed is not held against it: see `SchemaDemands`.
 */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { resolveFieldPath } from '../../../apimachinery/structural-schema/field-path.ts';
import { parseStructuralSchema, UnsupportedSchemaError } from '../../../apimachinery/structural-schema/schema.ts';
import type { JSONSchemaProps, ValidationRule } from '../../gen/apiextensions-v1.ts';
import { entriesOf } from '../../validation.ts';

/** Checks that came later than some stored definitions. */
export interface SchemaDemands {
  readonly validTypes: boolean;
  readonly atomicSets: boolean;
  readonly soundKeys: boolean;
}

interface Place {
  readonly at: FieldPath;
  readonly demands: SchemaDemands;
  /** Why no default may stand here; undefined where one may. */
  readonly noDefaults?: string | undefined;
  /** Inside what every object has: `apiVersion`, `kind`, `metadata`. */
  readonly insideMetadata?: boolean | undefined;
  readonly isRoot?: boolean | undefined;
}

const nowhere = path();
const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);
const schemaTypes = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** All violations in a whole schema. */
export function schemaStandardErrors(schema: JSONSchemaProps, at: FieldPath, demands: SchemaDemands): FieldError[] {
  return checkSchema(schema, { at, demands, isRoot: true });
}

function checkSchema(schema: JSONSchemaProps, place: Place): FieldError[] {
  return [
    ...unsupported(schema, place),
    ...checkParts(schema, place),
    ...checkTopology(schema, place),
    ...(place.demands.soundKeys ? keyErrors(schema, place.at) : []),
    ...(schema['x-kubernetes-validations'] ?? []).flatMap((rule, index) =>
      checkRule(rule, schema, place.at.child('x-kubernetes-validations').index(index)),
    ),
  ];
}

function unsupported(schema: JSONSchemaProps, { at, demands, noDefaults, insideMetadata }: Place): FieldError[] {
  const { type = '', default: fallback } = schema;
  const errors: FieldError[] = [];
  const forbid = (field: string, detail: string) => errors.push(forbidden(at.child(field), detail));
  if (demands.validTypes && type !== '' && !schemaTypes.includes(type))
    errors.push(notSupported(at.child('type'), type, schemaTypes));
  if (fallback !== undefined && fallback !== null && noDefaults !== undefined)
    forbid('default', `must not be set ${noDefaults}`);
  if (schema.id) forbid('id', 'id is not supported');
  if (schema.additionalItems !== undefined) forbid('additionalItems', 'additionalItems is not supported');
  if (entriesOf(schema.patternProperties).length > 0) forbid('patternProperties', 'patternProperties is not supported');
  if (entriesOf(schema.definitions).length > 0) forbid('definitions', 'definitions is not supported');
  if (schema.dependencies) forbid('dependencies', 'dependencies is not supported');
  if (schema.$ref !== undefined) forbid('$ref', '$ref is not supported');
  if (type === 'null') forbid('type', 'type cannot be set to null, use nullable as an alternative');
  if (Array.isArray(schema.items) && schema.items.length > 0)
    forbid('items', 'items must be a schema object and not an array');
  if (insideMetadata && schema['x-kubernetes-embedded-resource'])
    forbid('x-kubernetes-embedded-resource', 'must not be used inside of resource meta');
  if (schema.uniqueItems) {
    forbid('uniqueItems', 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
  }
  return errors;
}

function checkParts(schema: JSONSchemaProps, place: Place): FieldError[] {
  const { at } = place;
  const inner: Place = { ...place, isRoot: false };
  const errors: FieldError[] = [];
  const check = (part: JSONSchemaProps | undefined, step: FieldPath, extra?: Partial<Place>) => {
    if (part) errors.push(...checkSchema(part, { ...inner, ...extra, at: step }));
  };
  const { additionalProperties } = schema;
  const additionalAt = at.child('additionalProperties');
  if (additionalProperties !== undefined && additionalProperties !== true && entriesOf(schema.properties).length > 0)
    errors.push(forbidden(additionalAt, 'additionalProperties and properties are mutual exclusive'));
  if (typeof additionalProperties === 'object') {
    const reason = 'inside additionalProperties applying to object metadata';
    check(additionalProperties, additionalAt, place.insideMetadata ? { noDefaults: reason } : {});
  }
  for (const [name, property] of entriesOf(schema.properties)) {
    const isObjectField = (place.isRoot || schema['x-kubernetes-embedded-resource']) && objectFields.has(name);
    check(property, at.child('properties').key(name), {
      ...(isObjectField ? { insideMetadata: true } : {}),
      ...(isObjectField && place.isRoot ? { noDefaults: `in top-level ${name}` } : {}),
    });
  }
  check(schema.not, at.child('not'));
  for (const junctor of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [index, part] of (schema[junctor] ?? []).entries()) check(part, at.child(junctor).index(index));
  for (const [name, part] of entriesOf(schema.definitions)) check(part, at.child('definitions').key(name));
  if (Array.isArray(schema.items))
    for (const [index, part] of schema.items.entries()) check(part as JSONSchemaProps, at.child('items').index(index));
  else check(schema.items as JSONSchemaProps | undefined, at.child('items'));
  for (const [name, part] of entriesOf(schema.dependencies))
    if (!Array.isArray(part)) check(part as JSONSchemaProps, at.child('dependencies').key(name));
  return errors;
}

/** How lists and maps are merged. */
function checkTopology(schema: JSONSchemaProps, { at, demands }: Place): FieldError[] {
  const errors: FieldError[] = [];
  const mapType = schema['x-kubernetes-map-type'];
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const listTypeAt = at.child('x-kubernetes-list-type');
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    errors.push(invalid(at.child('x-kubernetes-preserve-unknown-fields'), false, 'must be true or undefined'));
  if (mapType !== undefined) {
    if (schema.type !== 'object')
      errors.push(typeError(schema, at, 'must be object if x-kubernetes-map-type is specified'));
    if (mapType !== 'atomic' && mapType !== 'granular')
      errors.push(notSupported(at.child('x-kubernetes-map-type'), mapType, ['atomic', 'granular']));
  }
  if (listType !== undefined) {
    if (schema.type !== 'array')
      errors.push(typeError(schema, at, 'must be array if x-kubernetes-list-type is specified'));
    else if (demands.atomicSets && listType === 'set') errors.push(...setItemErrors(schema, at));
    if (listType !== 'atomic' && listType !== 'set' && listType !== 'map')
      errors.push(notSupported(listTypeAt, listType, ['atomic', 'set', 'map']));
  }
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    errors.push(listType === undefined ? required(listTypeAt, detail) : invalid(listTypeAt, listType, detail));
  }
  return listType === 'map' ? [...errors, ...mapItemErrors(schema, keys, at)] : errors;
}

function typeError({ type }: JSONSchemaProps, at: FieldPath, detail: string): FieldError {
  return type ? invalid(at.child('type'), type, detail) : required(at.child('type'), detail);
}

/** The one schema of a list's items. */
function itemsOf({ items }: JSONSchemaProps): JSONSchemaProps | undefined {
  return Array.isArray(items) ? undefined : (items as JSONSchemaProps | undefined);
}

export function isNonAtomicSet(schema: JSONSchemaProps): boolean {
  return schema['x-kubernetes-list-type'] === 'set' && setItemErrors(schema, nowhere).length > 0;
}

function setItemErrors(schema: JSONSchemaProps, at: FieldPath): FieldError[] {
  const items = itemsOf(schema);
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listType = items?.['x-kubernetes-list-type'];
  if (items?.type === 'array' && listType !== undefined && listType !== 'atomic')
    return [invalid(at.child('items', 'x-kubernetes-list-type'), listType, detail)];
  if (items?.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    return [invalid(at.child('items', 'x-kubernetes-map-type'), listType ?? null, detail)];
  return [];
}

function mapItemErrors(schema: JSONSchemaProps, keys: readonly string[], at: FieldPath): FieldError[] {
  const itemsAt = at.child('items');
  const keysAt = at.child('x-kubernetes-list-map-keys');
  const items = itemsOf(schema);
  const errors: FieldError[] = [];
  if (keys.length === 0) errors.push(required(keysAt, 'must not be empty if x-kubernetes-list-type is map'));
  if (schema.items === undefined) errors.push(required(itemsAt, 'must have a schema if x-kubernetes-list-type is map'));
  else if (!items)
    errors.push(invalid(itemsAt, schema.items, 'must only have a single schema if x-kubernetes-list-type is map'));
  if (!items) return errors;
  if (items.type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    return [...errors, invalid(itemsAt.child('type'), items.type ?? '', detail)];
  }
  const properties = new Map(entriesOf(items.properties));
  const seen = new Set<string>();
  for (const key of keys) {
    const property = properties.get(key);
    if (!property) errors.push(invalid(keysAt, keys, 'entries must all be names of item properties'));
    else if (property.type === 'array' || property.type === 'object') {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(invalid(itemsAt.child('properties').key(key).child('type'), items.type, detail));
    }
    if (seen.has(key)) errors.push(invalid(keysAt, keys, 'must not contain duplicate entries'));
    seen.add(key);
  }
  return errors;
}

/** Elements that are told apart must be there, and so must what tells them apart. */
export function keyErrors(schema: JSONSchemaProps, at: FieldPath = nowhere): FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  const items = itemsOf(schema);
  if (!items || (listType !== 'set' && listType !== 'map')) return [];
  const errors: FieldError[] = [];
  const itemsAt = at.child('items');
  if (items.nullable)
    errors.push(forbidden(itemsAt.child('nullable'), `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  if (listType === 'set') return errors;
  const properties = new Map(entriesOf(items.properties));
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const property = properties.get(key);
    if (!property) continue;
    const here = itemsAt.child('properties').key(key);
    const reason = 'this property is in x-kubernetes-list-map-keys, so it';
    if (!items.required?.includes(key) && (property.default ?? null) === null)
      errors.push(required(here.child('default'), `${reason} must have a default or be a required property`));
    if (property.nullable) errors.push(forbidden(here.child('nullable'), `${reason} cannot be nullable`));
  }
  return errors;
}

const ruleReasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const lineBreak = /[\n\r]/;

function checkRule(rule: ValidationRule, schema: JSONSchemaProps, at: FieldPath): FieldError[] {
  const { message = '', messageExpression = '', fieldPath = '', reason } = rule;
  const errors: FieldError[] = [];
  const messageAt = at.child('message');
  if (rule.rule.trim() === '') errors.push(required(at.child('rule'), 'rule is not specified'));
  else if (message !== '' && message.trim() === '')
    errors.push(invalid(messageAt, message, 'must be non-empty if specified'));
  else if (lineBreak.test(message.trim())) errors.push(invalid(messageAt, message, 'must not contain line breaks'));
  else if (lineBreak.test(rule.rule.trim()) && message.trim() === '')
    errors.push(required(messageAt, 'message must be specified if rule contains line breaks'));
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(required(at.child('messageExpression'), 'messageExpression must be non-empty if specified'));
  if (reason !== undefined && !ruleReasons.includes(reason))
    errors.push(notSupported(at.child('reason'), reason, ruleReasons));
  if (fieldPath === '') return errors;
  const pathAt = at.child('fieldPath');
  if (fieldPath.trim() === '') errors.push(invalid(pathAt, fieldPath, 'must be non-empty if specified'));
  if (lineBreak.test(fieldPath)) errors.push(invalid(pathAt, fieldPath, 'must not contain line breaks'));
  if (!leadsSomewhere(fieldPath, schema)) errors.push(invalid(pathAt, fieldPath, 'must be a valid path'));
  return errors;
}

/** In a schema that cannot be read, no path is wrong. */
function leadsSomewhere(fieldPath: string, schema: JSONSchemaProps): boolean {
  try {
    resolveFieldPath(fieldPath, parseStructuralSchema(schema));
    return true;
  } catch (error) {
    return error instanceof UnsupportedSchemaError;
  }
}

/**
 * The types of kinds as expressions see them, from the schemas that a server publishes (`/openapi/v3`): what the type check of
 * admission policies knows of custom resources and of kinds of aggregated servers.
 *
 * Fields are read when an expression reaches for them, so a document costs what is asked of it, however its parts refer to one
 * another. As with `schema-types.ts`, what a schema leaves open is not there for expressions, and a resource always has its kind,
 * `apiVersion`, and its metadata's `name` and `generateName`.
 */
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  objectType,
  stringType,
  timestampType,
} from '../index.ts';
import { escapeIdentifier, isReserved } from './identifiers.ts';

/** As far as types are concerned. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly items?: OpenApiSchema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
}

/** What `#/components/schemas/NAME` stands for. */
export type SchemaLookup = (reference: string) => OpenApiSchema | undefined;

/** The type of a whole resource, of this name in messages; undefined where expressions can see nothing of it. */
export function resourceTypeOf(schema: OpenApiSchema, name: string, lookup: SchemaLookup): CelType | undefined {
  return typeOf(schema, { name, lookup, passed: [], isResource: true });
}

interface Place {
  readonly name: string;
  readonly lookup: SchemaLookup;
  /** References on the way here. One that comes again stands for an object of which nothing is known, as upstream. */
  readonly passed: readonly string[];
  readonly isResource: boolean;
}

function typeOf(given: OpenApiSchema, place: Place): CelType | undefined {
  const reference = referenceOf(given);
  if (reference === undefined) return typeOfResolved(given, place);
  if (place.passed.includes(reference)) return objectType(place.name, { field: () => undefined });
  const schema = place.lookup(reference);
  return schema ? typeOfResolved(schema, { ...place, passed: [...place.passed, reference] }) : dynType;
}

/** References stand in an `allOf` where something else is said beside them. */
function referenceOf({ $ref, allOf = [] }: OpenApiSchema): string | undefined {
  return $ref ?? allOf.map(referenceOf).find((reference) => reference !== undefined);
}

function typeOfResolved(schema: OpenApiSchema, place: Place): CelType | undefined {
  if (schema['x-kubernetes-int-or-string']) return dynType;
  switch (schema.type) {
    case 'array': {
      const element = schema.items && nested(schema.items, place, '@idx');
      return element && listOf(element);
    }
    case 'object':
      return objectOrMap(schema, place);
    case 'string':
      return formats.get(schema.format ?? '') ?? stringType;
    case 'boolean':
      return boolType;
    case 'number':
      return doubleType;
    case 'integer':
      return intType;
    default:
      return undefined;
  }
}

const formats: ReadonlyMap<string, CelType> = new Map([
  ['byte', bytesType],
  ['duration', durationType],
  ['date', timestampType],
  ['date-time', timestampType],
]);

function nested(schema: OpenApiSchema, place: Place, step: string): CelType | undefined {
  const isResource = schema['x-kubernetes-embedded-resource'] ?? false;
  return typeOf(schema, { ...place, name: `${place.name}.${step}`, isResource });
}

function objectOrMap(schema: OpenApiSchema, place: Place): CelType | undefined {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'object') {
    const values = nested(additionalProperties, place, '@elem');
    return values && mapOf(stringType, values);
  }
  const properties = place.isResource ? withMetadata(schema, place) : schema.properties;
  const spelled = new Map<string, readonly [name: string, OpenApiSchema]>();
  for (const [name, property] of Object.entries(properties ?? {})) {
    const spelling = escapeIdentifier(name);
    if (spelling !== undefined) spelled.set(spelling, [name, property]);
  }
  return objectType(place.name, {
    field: (spelling) => {
      const found = spelled.get(spelling) ?? (isReserved(spelling) ? spelled.get(`__${spelling}__`) : undefined);
      if (!found) return undefined;
      const [property, propertySchema] = found;
      const type = nested(propertySchema, place, property);
      return type && { type, property };
    },
  });
}

const text: OpenApiSchema = { type: 'string' };
const leastMetadata: OpenApiSchema = { type: 'object', properties: { name: text, generateName: text } };

/** A schema that says of metadata what expressions see anyway, and maybe more, is taken at its word. */
function withMetadata({ properties = {} }: OpenApiSchema, { lookup }: Place): OpenApiSchema['properties'] {
  const reference = properties.metadata && referenceOf(properties.metadata);
  const metadata = reference === undefined ? properties.metadata : lookup(reference);
  const { name, generateName } = metadata?.properties ?? {};
  const texts = [properties.kind, properties.apiVersion, name, generateName];
  if (metadata?.type === 'object' && texts.every((schema) => schema?.type === 'string')) return properties;
  return { ...properties, kind: text, apiVersion: text, metadata: leastMetadata };
}

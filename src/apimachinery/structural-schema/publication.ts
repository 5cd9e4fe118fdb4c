/**
 * A structural schema as OpenAPI documents show it. Version 3 says all of it. Version 2 cannot, and kubectl takes it at its word, so there
 * whatever may be null or hold unknown fields says nothing of its parts, and alternatives are left out.
 */
import { setOwn } from '../json-text.ts';
import { additionalSchema } from './pruning.ts';
import { parseStructuralSchema, type StructuralSchema } from './schema.ts';

type Json = Record<string, unknown>;

export interface PublicationOptions {
  readonly dialect: 'v2' | 'v3';
  /** Schemas of what every object has: `apiVersion`, `kind`, `metadata`. */
  readonly objectFields: Readonly<Record<string, unknown>>;
}

/** A whole object; without a schema nothing is said of it. The caller adds which kind it is. */
export function publishObject(schema: StructuralSchema | undefined, options: PublicationOptions): Json {
  const hidesParts = options.dialect === 'v2' && schema?.preserveUnknownFields;
  if (!schema || hidesParts) return { type: 'object' };
  const published = publishSchema(schema, options);
  return { ...published, properties: { ...(published.properties as Json | undefined), ...options.objectFields } };
}

/** Any part of an object. */
export function publishSchema(schema: StructuralSchema, options: PublicationOptions): Json {
  const part = options.dialect === 'v2' ? expressible(schema) : spelledOut(schema);
  const nested = (inner: StructuralSchema) => publishSchema(inner, options);
  const { additionalProperties, items, properties, value } = part;
  const embeds = part.embeddedResource && !(options.dialect === 'v2' && part.preserveUnknownFields);
  const published = propertiesOf(properties, nested);
  if (embeds) Object.assign(published, options.objectFields);
  const required = embeds ? [...new Set([...value.required, 'kind', 'apiVersion'])] : value.required;
  const listed: Json = {
    description: part.description,
    type: part.type,
    title: part.title,
    nullable: part.nullable,
    default: part.default,
    externalDocs: part.externalDocs,
    example: part.example,
    ...value,
    required,
    allOf: value.allOf.map(nested),
    oneOf: value.oneOf.map(nested),
    anyOf: value.anyOf.map(nested),
    not: value.not && nested(value.not),
    items: items && nested(items),
    properties: published,
    'x-kubernetes-preserve-unknown-fields': part.preserveUnknownFields,
    'x-kubernetes-embedded-resource': part.embeddedResource,
    'x-kubernetes-int-or-string': part.intOrString,
    'x-kubernetes-list-map-keys': part.listMapKeys,
    'x-kubernetes-list-type': part.listType,
    'x-kubernetes-map-type': part.mapType,
    'x-kubernetes-validations': part.rules,
  };
  const said = Object.entries(listed).filter(
    ([field, content]) => (alwaysSaid.has(field) && content !== undefined) || says(content),
  );
  const additional = additionalSchema(part);
  if (additionalProperties !== undefined)
    said.push(['additionalProperties', additional ? nested(additional) : additionalProperties]);
  return Object.fromEntries(said);
}

function propertiesOf(
  properties: ReadonlyMap<string, StructuralSchema>,
  publish: (schema: StructuralSchema) => Json,
): Json {
  const published: Json = {};
  for (const [name, property] of properties) setOwn(published, name, publish(property));
  return published;
}

/** An empty one of these means something. */
const alwaysSaid: ReadonlySet<string> = new Set(['default', 'items', 'not']);

/** Numbers are said even if they are 0. */
function says(content: unknown): boolean {
  if (content === undefined || content === false || content === '') return false;
  return typeof content !== 'object' || content === null || Object.keys(content).length > 0;
}

const blank = parseStructuralSchema({});

/** A number or a text, in words that every reader of version 3 knows. */
function spelledOut(schema: StructuralSchema): StructuralSchema {
  const { value } = schema;
  const isSpelled = [value.anyOf, value.allOf[0]?.value.anyOf ?? []].some(
    (alternatives) => alternatives.map(({ type }) => type).join() === 'integer,string',
  );
  if (!schema.intOrString || isSpelled) return schema;
  const either = [
    { ...blank, type: 'integer' },
    { ...blank, type: 'string' },
  ];
  if (value.anyOf.length === 0) return { ...schema, value: { ...value, anyOf: either } };
  const first = { ...blank, value: { ...blank.value, anyOf: either } };
  return { ...schema, value: { ...value, allOf: [first, ...value.allOf] } };
}

/** What version 2 can say of it without forbidding what is allowed. */
function expressible(schema: StructuralSchema): StructuralSchema {
  const { nullable, preserveUnknownFields, value } = schema;
  const hidesParts = nullable || preserveUnknownFields;
  const items = hidesParts ? undefined : schema.items;
  const properties = hidesParts ? blank.properties : schema.properties;
  const untyped =
    nullable || (schema.type === 'array' && !items) || (schema.type === 'object' && preserveUnknownFields);
  const required = additionalSchema(schema)?.nullable
    ? []
    : value.required.filter((name) => !properties.get(name)?.nullable);
  return {
    ...schema,
    type: untyped ? '' : schema.type,
    nullable: false,
    items,
    properties,
    value: { ...value, required, allOf: [], anyOf: [], oneOf: [], not: undefined },
  };
}

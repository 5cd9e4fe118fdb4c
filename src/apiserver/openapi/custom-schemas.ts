/**
 * Schemas of custom resources as the documents show them: what the CustomResourceDefinition says, completed by the fields every
 * object has. Version 2 of OpenAPI cannot express all of JSON schema, so there what it does not know is left out.
 */
import type { DiscoveredResource } from '../discovery/discovery.ts';
import { describeField } from './descriptions.ts';
import type { Dialect, Json, SchemaCollector } from './schemas.ts';

/** `com.example.v1.Widget` of kind Widget in example.com/v1. */
export function customTypeName({
  group,
  version,
  kind,
}: Pick<DiscoveredResource, 'group' | 'version' | 'kind'>): string {
  return `${group.split('.').reverse().join('.')}.${version}.${kind}`;
}

export function customObjectSchema(
  resource: DiscoveredResource,
  schema: Json | undefined,
  schemas: SchemaCollector,
  dialect: Dialect,
): Json {
  const { group, version, kind } = resource;
  const { properties, ...rest } = (dialect === 'v2' ? withoutV3(schema ?? {}) : (schema ?? {})) as {
    properties?: Json;
  };
  return {
    type: 'object',
    ...(schema === undefined ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...rest,
    properties: { ...properties, ...typeFields(), metadata: { ...schemas.reference('meta/v1.ObjectMeta') } },
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
  };
}

export function customListSchema(
  resource: DiscoveredResource & { readonly listKind?: string | undefined },
  item: Json,
  schemas: SchemaCollector,
): Json {
  const { group, version, kind } = resource;
  return {
    description: `A list of ${kind} objects.`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeFields(),
      metadata: { ...schemas.reference('meta/v1.ListMeta') },
      items: { description: describeField('items'), type: 'array', items: item },
    },
    'x-kubernetes-group-version-kind': [{ group, kind: resource.listKind ?? `${kind}List`, version }],
  };
}

function typeFields(): Json {
  return {
    apiVersion: { description: describeField('apiVersion'), type: 'string' },
    kind: { description: describeField('kind'), type: 'string' },
  };
}

const unknownToV2: ReadonlySet<string> = new Set([
  'oneOf',
  'anyOf',
  'not',
  'nullable',
  'default',
  'x-kubernetes-validations',
]);

/** Anything may stand where version 2 cannot say what may. */
function withoutV3(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutV3);
  if (typeof schema !== 'object' || schema === null) return schema;
  const source = schema as Json;
  const loose =
    source.nullable === true ||
    source['x-kubernetes-preserve-unknown-fields'] === true ||
    source['x-kubernetes-int-or-string'] === true;
  const dropped = (key: string) =>
    unknownToV2.has(key) || (loose && ['type', 'properties', 'items', 'required', 'format'].includes(key));
  const entries = Object.entries(source).filter(([key]) => !dropped(key));
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (key !== 'properties') return [key, key === 'enum' ? value : withoutV3(value)];
      return [
        key,
        Object.fromEntries(Object.entries(value as Json).map(([name, property]) => [name, withoutV3(property)])),
      ];
    }),
  );
}

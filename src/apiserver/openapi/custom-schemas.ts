/**
 * Schemas of custom resources as the documents show them: what the CustomResourceDefinition says, completed by the fields every
 * object has.
 */
import { publishObject } from '../../apimachinery/structural-schema/publication.ts';
import { type JsonSchemaProps, parseStructuralSchema } from '../../apimachinery/structural-schema/schema.ts';
import type { DiscoveredResource } from '../discovery/discovered.ts';
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
  const structural = schema && parseStructuralSchema(schema as JsonSchemaProps);
  return {
    ...publishObject(structural, { dialect, objectFields: objectFields(schemas, dialect) }),
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
    ...selectableFields(resource),
  };
}

/** What every object has. A reference takes its description along as the dialect demands. */
function objectFields(schemas: SchemaCollector, dialect: Dialect): Json {
  const reference = schemas.reference('meta/v1.ObjectMeta');
  const description = "Standard object's metadata: name, labels and other things all objects have.";
  const metadata = dialect === 'v3' ? { description, allOf: [reference] } : { description, ...reference };
  return { ...typeFields(), metadata };
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
    ...selectableFields(resource),
  };
}

function selectableFields({ selectable = [] }: DiscoveredResource): Json {
  if (selectable.length === 0) return {};
  return { 'x-kubernetes-selectable-fields': selectable.map((fieldPath) => ({ fieldPath })) };
}

function typeFields(): Json {
  return {
    apiVersion: { description: describeField('apiVersion'), type: 'string' },
    kind: { description: describeField('kind'), type: 'string' },
  };
}

/** All schemas inside a schema of a CustomResourceDefinition, itself included. */
import type { CustomResourceDefinitionSpec, JSONSchemaProps } from '../../gen/apiextensions-v1.ts';

export function schemasWithin(schema: JSONSchemaProps): JSONSchemaProps[] {
  const all: JSONSchemaProps[] = [];
  const pending: (JSONSchemaProps | undefined)[] = [schema];
  for (let next = pending.pop(); next !== undefined || pending.length > 0; next = pending.pop()) {
    if (next === undefined) continue;
    all.push(next);
    pending.push(...partsOf(next).reverse());
  }
  return all;
}

function partsOf(schema: JSONSchemaProps): (JSONSchemaProps | undefined)[] {
  const { items, additionalProperties, additionalItems } = schema;
  return [
    ...(Array.isArray(items) ? items : [items as JSONSchemaProps | undefined]),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    schema.not,
    ...Object.values(schema.properties ?? {}),
    typeof additionalProperties === 'object' ? additionalProperties : undefined,
    ...Object.values(schema.patternProperties ?? {}),
    typeof additionalItems === 'object' ? additionalItems : undefined,
    ...Object.values(schema.definitions ?? {}),
    ...Object.values(schema.dependencies ?? {}).filter((part): part is JSONSchemaProps => !Array.isArray(part)),
  ];
}

/** The schemas of all versions, whole. */
export function schemasOf({ versions = [] }: CustomResourceDefinitionSpec): JSONSchemaProps[] {
  return versions.flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);
}

export function anySchema(spec: CustomResourceDefinitionSpec, has: (schema: JSONSchemaProps) => boolean): boolean {
  return schemasOf(spec).some((schema) => schemasWithin(schema).some(has));
}

/**
 * Structural schemas: what a CustomResourceDefinition says of its objects, in the form that pruning, defaulting, validation and
 * publishing work on. Immutable, made once per version of a definition.
 *
 * One type serves the structure and what stands in `allOf`, `anyOf`, `oneOf` and `not`; whether the latter only restrict and never
 * extend the structure is judged by `structural.ts`, not here. Defaults and enumerations are held as given, never copied, so what
 * takes one into an object copies it.
 */

/** `JSONSchemaProps` of apiextensions/v1, as far as it is read here. */
export interface JsonSchemaProps {
  readonly id?: string | undefined;
  readonly $schema?: string | undefined;
  readonly $ref?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string | undefined;
  readonly format?: string | undefined;
  readonly title?: string | undefined;
  readonly default?: unknown;
  readonly maximum?: number | undefined;
  readonly exclusiveMaximum?: boolean | undefined;
  readonly minimum?: number | undefined;
  readonly exclusiveMinimum?: boolean | undefined;
  readonly maxLength?: number | undefined;
  readonly minLength?: number | undefined;
  readonly pattern?: string | undefined;
  readonly maxItems?: number | undefined;
  readonly minItems?: number | undefined;
  readonly uniqueItems?: boolean | undefined;
  readonly multipleOf?: number | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly maxProperties?: number | undefined;
  readonly minProperties?: number | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: JsonSchemaProps | readonly JsonSchemaProps[] | undefined;
  readonly allOf?: readonly JsonSchemaProps[] | undefined;
  readonly oneOf?: readonly JsonSchemaProps[] | undefined;
  readonly anyOf?: readonly JsonSchemaProps[] | undefined;
  readonly not?: JsonSchemaProps | undefined;
  readonly properties?: Readonly<Record<string, JsonSchemaProps>> | undefined;
  readonly additionalProperties?: JsonSchemaProps | boolean | undefined;
  readonly patternProperties?: Readonly<Record<string, JsonSchemaProps>> | undefined;
  readonly dependencies?: Readonly<Record<string, JsonSchemaProps | readonly string[]>> | undefined;
  readonly additionalItems?: JsonSchemaProps | boolean | undefined;
  readonly definitions?: Readonly<Record<string, JsonSchemaProps>> | undefined;
  readonly externalDocs?: ExternalDocumentation | undefined;
  readonly example?: unknown;
  readonly nullable?: boolean | undefined;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean | undefined;
  readonly 'x-kubernetes-embedded-resource'?: boolean | undefined;
  readonly 'x-kubernetes-int-or-string'?: boolean | undefined;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[] | undefined;
  readonly 'x-kubernetes-list-type'?: string | undefined;
  readonly 'x-kubernetes-map-type'?: string | undefined;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[] | undefined;
}

export interface ExternalDocumentation {
  readonly description?: string | undefined;
  readonly url?: string | undefined;
}

/** A rule in CEL; here it is data. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string | undefined;
  readonly messageExpression?: string | undefined;
  readonly reason?: string | undefined;
  readonly fieldPath?: string | undefined;
  readonly optionalOldSelf?: boolean | undefined;
}

export interface StructuralSchema {
  /** `object`, `array`, `string`, `integer`, `number`, `boolean`; empty where anything or a number or text may stand. */
  readonly type: string;
  readonly nullable: boolean;
  /** Undefined where there is none; a default is never null. */
  readonly default: unknown;
  readonly description: string;
  readonly title: string;
  readonly externalDocs: ExternalDocumentation | undefined;
  readonly example: unknown;

  readonly properties: ReadonlyMap<string, StructuralSchema>;
  /** What else an object may hold: values of a schema, anything (`true`), nothing (`false`), unsaid (undefined). */
  readonly additionalProperties: StructuralSchema | boolean | undefined;
  readonly items: StructuralSchema | undefined;

  /** `x-kubernetes-preserve-unknown-fields`; false says nothing. */
  readonly preserveUnknownFields: boolean;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listType: string | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: string | undefined;
  readonly rules: readonly ValidationRule[];

  readonly value: ValueValidation;
}

/** What restricts values and adds nothing to the structure. */
export interface ValueValidation {
  readonly format: string;
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly maxLength: number | undefined;
  readonly minLength: number | undefined;
  readonly pattern: string;
  readonly maxItems: number | undefined;
  readonly minItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly multipleOf: number | undefined;
  readonly enum: readonly unknown[];
  readonly maxProperties: number | undefined;
  readonly minProperties: number | undefined;
  readonly required: readonly string[];
  readonly allOf: readonly StructuralSchema[];
  readonly oneOf: readonly StructuralSchema[];
  readonly anyOf: readonly StructuralSchema[];
  readonly not: StructuralSchema | undefined;
}

/** The schema uses what no structural schema can express. */
export class UnsupportedSchemaError extends Error {
  override readonly name = 'UnsupportedSchemaError';
}

const none: readonly never[] = Object.freeze([]);
const noProperties: ReadonlyMap<string, StructuralSchema> = new Map();

const unsupportedFields = {
  id: 'id',
  $schema: 'schema',
  $ref: '$ref',
  patternProperties: 'patternProperties',
  dependencies: 'dependencies',
  additionalItems: 'additionalItems',
  definitions: 'definitions',
} as const;

/** Throws `UnsupportedSchemaError`. The result need not be structural: see `structuralErrors`. */
export function parseStructuralSchema(props: JsonSchemaProps): StructuralSchema {
  refuseUnsupported(props);
  const { properties, additionalProperties } = props;
  const names = properties ? Object.keys(properties) : none;
  return {
    type: props.type ?? '',
    nullable: props.nullable ?? false,
    default: props.default ?? undefined,
    description: props.description ?? '',
    title: props.title ?? '',
    externalDocs: props.externalDocs,
    example: props.example ?? undefined,
    properties:
      names.length === 0
        ? noProperties
        : new Map(names.map((name) => [name, parseStructuralSchema(properties![name]!)])),
    additionalProperties:
      typeof additionalProperties === 'object' ? parseStructuralSchema(additionalProperties) : additionalProperties,
    items: props.items && parseStructuralSchema(props.items as JsonSchemaProps),
    preserveUnknownFields: props['x-kubernetes-preserve-unknown-fields'] ?? false,
    embeddedResource: props['x-kubernetes-embedded-resource'] ?? false,
    intOrString: props['x-kubernetes-int-or-string'] ?? false,
    listType: props['x-kubernetes-list-type'],
    listMapKeys: props['x-kubernetes-list-map-keys'] ?? none,
    mapType: props['x-kubernetes-map-type'],
    rules: props['x-kubernetes-validations'] ?? none,
    value: parseValueValidation(props),
  };
}

function parseValueValidation(props: JsonSchemaProps): ValueValidation {
  return {
    format: props.format ?? '',
    maximum: props.maximum,
    exclusiveMaximum: props.exclusiveMaximum ?? false,
    minimum: props.minimum,
    exclusiveMinimum: props.exclusiveMinimum ?? false,
    maxLength: props.maxLength,
    minLength: props.minLength,
    pattern: props.pattern ?? '',
    maxItems: props.maxItems,
    minItems: props.minItems,
    uniqueItems: props.uniqueItems ?? false,
    multipleOf: props.multipleOf,
    enum: props.enum ?? none,
    maxProperties: props.maxProperties,
    minProperties: props.minProperties,
    required: props.required ?? none,
    allOf: props.allOf?.map(parseStructuralSchema) ?? none,
    oneOf: props.oneOf?.map(parseStructuralSchema) ?? none,
    anyOf: props.anyOf?.map(parseStructuralSchema) ?? none,
    not: props.not && parseStructuralSchema(props.not),
  };
}

function refuseUnsupported(props: JsonSchemaProps): void {
  for (const [field, name] of Object.entries(unsupportedFields)) {
    const value = props[field as keyof typeof unsupportedFields];
    if (value !== undefined && (field === 'additionalItems' || !isEmpty(value))) {
      throw new UnsupportedSchemaError(`OpenAPIV3Schema '${name}' is not supported`);
    }
  }
  if (props['x-kubernetes-preserve-unknown-fields'] === false) {
    throw new UnsupportedSchemaError(
      "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
    );
  }
  if (Array.isArray(props.items)) {
    throw new UnsupportedSchemaError("OpenAPIV3Schema 'items' must be a schema, but is an array");
  }
}

function isEmpty(value: unknown): boolean {
  return value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

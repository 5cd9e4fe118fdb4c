/**
 * What is not held against a CustomResourceDefinition on update because the stored one had it already: definitions may be older than
 * a check, and must stay changeable.
 */

import { path } from '../../../apimachinery/field-error.ts';
import { draft } from '../../../apimachinery/meta.ts';
import { jsonEqual } from '../../../apimachinery/patch/merge-patch.ts';
import { prune } from '../../../apimachinery/structural-schema/pruning.ts';
import {
  parseStructuralSchema,
  type StructuralSchema,
  UnsupportedSchemaError,
} from '../../../apimachinery/structural-schema/schema.ts';
import { structuralErrors } from '../../../apimachinery/structural-schema/structural.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { CustomResourceDefinition, JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import { isNonAtomicSet, keyErrors, type SchemaDemands } from './schema-standards.ts';
import { anySchema, schemasOf, schemasWithin } from './schema-traversal.ts';
import { mostSelectableFields } from './selectable-fields.ts';

/** What is demanded; all of it of a new definition. */
export interface Leniency extends SchemaDemands {
  readonly schemas: boolean;
  readonly structural: boolean;
  readonly prunedDefaults: boolean;
  readonly reviewVersion: boolean;
  readonly validCaBundle: boolean;
  readonly immutableNames: boolean;
  readonly known: { readonly rules: ReadonlySet<string>; readonly messages: ReadonlySet<string> };
  /** Versions whose schema is as it was. */
  readonly unchangedSchemas: ReadonlySet<string>;
  /** Versions that may keep too many selectable fields. */
  readonly manySelectableFields: ReadonlySet<string>;
}

const nothing: ReadonlySet<string> = new Set();

export const strict: Leniency = {
  schemas: true,
  structural: true,
  prunedDefaults: true,
  validTypes: true,
  atomicSets: true,
  soundKeys: true,
  reviewVersion: true,
  validCaBundle: false,
  immutableNames: false,
  known: { rules: nothing, messages: nothing },
  unchangedSchemas: nothing,
  manySelectableFields: nothing,
};

export function leniencyTowards(next: CustomResourceDefinition, previous: CustomResourceDefinition): Leniency {
  const { spec } = previous;
  const old = new Map(spec.versions?.map((version) => [version.name, version]));
  const sameAsOld = (field: 'schema' | 'selectableFields') =>
    next.spec.versions?.filter((version) => semanticallyEqual(version[field], old.get(version.name)?.[field])) ?? [];
  const reviewVersions = spec.conversion?.webhook?.conversionReviewVersions ?? [];
  return {
    schemas: spec.versions?.every(({ schema }) => schema?.openAPIV3Schema !== undefined) ?? true,
    // Whatever prunes needs a structural schema, and only definitions of long ago do not prune.
    structural: next.spec.preserveUnknownFields !== true || schemasOf(spec).every(isStructural),
    prunedDefaults: schemasOf(spec).every(hasPrunedDefaults),
    validTypes: !anySchema(spec, ({ type = '' }) => type !== '' && !validTypes.has(type)),
    atomicSets: !anySchema(spec, isNonAtomicSet),
    soundKeys: !anySchema(spec, (schema) => keyErrors(schema).length > 0),
    reviewVersion: reviewVersions.length === 0 || reviewVersions.some(isReviewVersion),
    validCaBundle: isEstablished(previous),
    immutableNames: isEstablished(previous),
    known: knownRules(schemasOf(spec)),
    unchangedSchemas: new Set(sameAsOld('schema').map(({ name }) => name)),
    manySelectableFields: new Set(
      sameAsOld('selectableFields')
        .filter(({ selectableFields = [] }) => selectableFields.length > mostSelectableFields)
        .map(({ name }) => name),
    ),
  };
}

const validTypes: ReadonlySet<string> = new Set(['array', 'boolean', 'integer', 'number', 'object', 'string']);

/** Versions of ConversionReview that the server speaks. */
export function isReviewVersion(version: string): boolean {
  return version === 'v1' || version === 'v1beta1';
}

function isEstablished({ status }: CustomResourceDefinition): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Established' && value === 'True') ?? false;
}

function knownRules(schemas: readonly JSONSchemaProps[]): Leniency['known'] {
  const all = schemas.flatMap(schemasWithin).flatMap((schema) => schema['x-kubernetes-validations'] ?? []);
  return {
    rules: new Set(all.map(({ rule }) => rule)),
    messages: new Set(all.flatMap(({ messageExpression }) => messageExpression ?? [])),
  };
}

function structureOf(props: JSONSchemaProps): StructuralSchema | undefined {
  try {
    const schema = parseStructuralSchema(props);
    return structuralErrors(schema, path()).length === 0 ? schema : undefined;
  } catch (error) {
    if (error instanceof UnsupportedSchemaError) return undefined;
    throw error;
  }
}

function isStructural(props: JSONSchemaProps): boolean {
  return structureOf(props) !== undefined;
}

function hasPrunedDefaults(props: JSONSchemaProps): boolean {
  const schema = structureOf(props);
  return schema === undefined || defaultsArePruned(schema);
}

function defaultsArePruned(schema: StructuralSchema): boolean {
  const { additionalProperties, items, properties } = schema;
  if (schema.default !== undefined) {
    const pruned = draft(schema.default);
    prune(pruned, schema, { isObject: schema.embeddedResource });
    if (!jsonEqual(pruned, schema.default)) return false;
  }
  const parts = [
    ...properties.values(),
    items,
    typeof additionalProperties === 'object' ? additionalProperties : undefined,
  ];
  return parts.every((part) => part === undefined || defaultsArePruned(part));
}

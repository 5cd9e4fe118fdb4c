/**
 * The types that a structural schema gives to expressions. What the schema does not describe is not there for them: unknown fields
 * that are preserved, properties whose names have no spelling, lists of anything. An embedded resource has `apiVersion`, `kind` and
 * its metadata's `name` and `generateName`, declared or not.
 */
import type { StructuralSchema } from '../../structural-schema/schema.ts';
import { bytesType, durationType, dynType, stringType, timestampType } from '../index.ts';
import {
  type DeclaredType,
  declaredBool,
  declaredDouble,
  declaredInt,
  declaredList,
  declaredMap,
  declaredObject,
  declaredScalar,
  declaredString,
  maxRequestSizeBytes,
  mostEntries,
  mostItems,
  readBy,
} from './declared-type.ts';
import { escapeIdentifier } from './identifiers.ts';
import {
  nullFault,
  readBoolean,
  readInteger,
  readIntOrString,
  readListOf,
  readMap,
  readNumber,
  readObject,
  readText,
  type SchemaReader,
} from './schema-values.ts';

export interface SchemaTypeOptions {
  /** Whether the schema is a resource's as a whole, and so has metadata. */
  readonly resourceRoot?: boolean;
  /** The type's name in messages. */
  readonly name?: string;
}

/** The type of a schema, or undefined for one of which expressions can see nothing. */
export function declaredTypeOf(
  schema: StructuralSchema,
  { resourceRoot = false, name = 'selfType' }: SchemaTypeOptions = {},
): DeclaredType | undefined {
  const declared = declare(schema, resourceRoot, name);
  if (!declared) return undefined;
  const read = readerOf(schema, declared);
  return readBy(declared, (json, type) => {
    if (json !== null && json !== undefined) return read(json, type);
    return schema.nullable ? null : nullFault;
  });
}

function declare(schema: StructuralSchema, resourceRoot: boolean, name: string): DeclaredType | undefined {
  if (schema.intOrString) return declaredScalar(dynType, 1, textSize(schema, maxRequestSizeBytes - 2));
  switch (schema.type) {
    case 'array':
      return declareList(schema, name);
    case 'object':
      return typeof schema.additionalProperties === 'object' && !resourceRoot
        ? declareMap(schema, schema.additionalProperties, name)
        : declareObject(schema, resourceRoot, name);
    case 'string':
      return declareText(schema);
    case 'boolean':
      return declaredBool;
    case 'number':
      return declaredDouble;
    case 'integer':
      return declaredInt;
    default:
      return undefined;
  }
}

function readerOf(schema: StructuralSchema, declared: DeclaredType): SchemaReader {
  if (schema.intOrString) return readIntOrString;
  switch (schema.type) {
    case 'array':
      return readListOf(schema);
    case 'object':
      return declared.fields ? readObject(declared.fields) : readMap;
    case 'string':
      return readText(schema.value.format);
    case 'boolean':
      return readBoolean;
    case 'number':
      return readNumber;
    default:
      return readInteger;
  }
}

function declareList(schema: StructuralSchema, name: string): DeclaredType | undefined {
  const element = schema.items && nested(schema.items, `${name}.@idx`);
  return element && declaredList(element, limit(schema.value.maxItems) ?? mostItems(element));
}

function declareMap(schema: StructuralSchema, values: StructuralSchema, name: string): DeclaredType | undefined {
  const element = nested(values, `${name}.@elem`);
  return element && declaredMap(element, limit(schema.value.maxProperties) ?? mostEntries(element));
}

function nested(schema: StructuralSchema, name: string): DeclaredType | undefined {
  return declaredTypeOf(schema, { resourceRoot: schema.embeddedResource, name });
}

/** Quotes, colon and comma that a field takes besides its name and value. */
const fieldPunctuation = 4;

function declareObject(schema: StructuralSchema, resourceRoot: boolean, name: string): DeclaredType {
  const required = new Set(schema.value.required);
  const fields = new Map<string, DeclaredType>();
  let minSerializedSize = 2;
  for (const [property, propertySchema] of schema.properties) {
    const spelling = escapeIdentifier(property);
    const declared = nested(propertySchema, `${name}.${spelling}`);
    if (!declared) continue;
    if (spelling !== undefined) fields.set(spelling, declared);
    if (required.has(property) && propertySchema.default === undefined) {
      minSerializedSize += Buffer.byteLength(property) + declared.minSerializedSize + fieldPunctuation;
    }
  }
  if (resourceRoot && !describesMetadata(schema)) {
    const metadata = new Map([
      ['name', declaredString],
      ['generateName', declaredString],
    ]);
    fields.set('apiVersion', declaredString).set('kind', declaredString);
    fields.set('metadata', declaredObject(`${name}.metadata`, { fields: metadata }));
  }
  return declaredObject(name, { fields, minSerializedSize });
}

/** A schema that says of metadata what expressions see anyway, and maybe more, is taken at its word. */
function describesMetadata({ properties }: StructuralSchema): boolean {
  const metadata = properties.get('metadata');
  const texts = [
    properties.get('kind'),
    properties.get('apiVersion'),
    metadata?.properties.get('name'),
    metadata?.properties.get('generateName'),
  ];
  return metadata?.type === 'object' && texts.every((schema) => schema?.type === 'string');
}

function declareText(schema: StructuralSchema): DeclaredType {
  switch (schema.value.format) {
    case 'byte':
      return declaredScalar(bytesType, 2, limit(schema.value.maxLength) ?? maxRequestSizeBytes - 2);
    case 'duration':
      return declaredScalar(durationType, 3, 32);
    case 'date':
      return declaredScalar(timestampType, 12, 12);
    case 'date-time':
      return declaredScalar(timestampType, 21, 32);
    default:
      return declaredScalar(stringType, 2, textSize(schema, longestOf(schema.value.enum)));
  }
}

/** A character takes up to four bytes, and a limit counts characters. */
function textSize(schema: StructuralSchema, otherwise: number): number {
  const most = limit(schema.value.maxLength);
  return most === undefined ? otherwise : most * 4;
}

function longestOf(values: readonly unknown[]): number {
  if (values.length === 0) return maxRequestSizeBytes - 2;
  return Math.max(0, ...values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)));
}

const limit = (most: number | undefined) => (most === undefined ? undefined : Math.max(most, 0));

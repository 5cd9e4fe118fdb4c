/**
 * The types of built-in kinds as expressions see them, from the kind tables: what the type check of admission policies knows of
 * `object`. Types of fields are made when an expression reaches for them, for some kinds hold themselves.
 *
 * What may be one of several types (quantities, ports by number or name, raw objects) is dynamic.
 */
import type { FieldSchema, ScalarType, TypeSchema } from '../../schema.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  dynType,
  intType,
  listOf,
  mapOf,
  objectType,
  stringType,
  timestampType,
} from '../index.ts';
import { escapeIdentifier, isReserved } from './identifiers.ts';

const scalars: Readonly<Record<ScalarType, CelType>> = {
  string: stringType,
  int32: intType,
  int64: intType,
  bool: boolType,
  float64: doubleType,
  bytes: bytesType,
  quantity: dynType,
  intOrString: dynType,
  time: timestampType,
  microTime: timestampType,
  duration: stringType,
  rawExtension: dynType,
  json: dynType,
};

/** Types by the tables' own; holds what it has made. */
export class BuiltInTypes {
  readonly #types = new Map<string, CelType>();

  /** The type of a kind's or a part's schema. */
  of(schema: TypeSchema): CelType {
    if (schema.jsonList !== undefined || schema.jsonOneOf !== undefined) return dynType;
    const known = this.#types.get(schema.id);
    if (known) return known;
    const fields = new Map<string, FieldSchema>();
    for (const field of schema.fields) fields.set(escapeIdentifier(field.name) ?? field.name, field);
    const type = objectType(schema.id, {
      field: (name) => {
        const field = fields.get(name) ?? (isReserved(name) ? fields.get(`__${name}__`) : undefined);
        return field && { type: this.#ofField(field), property: field.name };
      },
    });
    this.#types.set(schema.id, type);
    return type;
  }

  #ofField({ list, map, ref, scalar }: FieldSchema): CelType {
    const type = ref ? this.of(ref) : scalar ? scalars[scalar] : dynType;
    if (list) return listOf(type);
    return map ? mapOf(stringType, type) : type;
  }
}

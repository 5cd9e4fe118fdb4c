/**
 * Whether the defaults of a schema obey it: they hold no unknown fields, their metadata is well-formed, and their values are valid. Judged
 * when a definition is accepted, so that no object is ever filled with what would be refused.
 *
 * A default inside metadata is tried out in an object made around it, for what it is can only be told there.
 */
import { errorsText, type FieldError, type FieldPath, invalid, path } from '../field-error.ts';
import { draft } from '../meta.ts';
import { jsonEqual } from '../patch/merge-patch.ts';
import { type CustomObjects, MetadataError, type ValidateMetadata } from './object-metadata.ts';
import { prune } from './pruning.ts';
import type { StructuralSchema } from './schema.ts';
import { SchemaValidator } from './validator.ts';

export interface DefaultDemands {
  readonly objects: CustomObjects;
  readonly validateMetadata: ValidateMetadata;
  /** Whether a default may hold no unknown fields; an older definition may have got away with them. */
  readonly requiresPruned: boolean;
  /** What validation rules have to say of a default that is valid otherwise. */
  readonly checkRules?:
    | ((schema: StructuralSchema, value: unknown, at: FieldPath) => readonly FieldError[])
    | undefined;
}

/** All errors of the defaults of a whole object's schema. */
export function validateDefaults(schema: StructuralSchema, at: FieldPath, demands: DefaultDemands): FieldError[] {
  const walk = new Walk(demands);
  walk.visit(schema.embeddedResource ? schema : { ...schema, embeddedResource: true }, at, undefined);
  return walk.errors;
}

/** The whole object that a part belongs to, and how an object is made around a value of that part. */
interface Surroundings {
  readonly root: StructuralSchema;
  readonly around: (value: unknown) => unknown;
  readonly insideMetadata: boolean;
}

class Walk {
  readonly errors: FieldError[] = [];
  readonly #demands: DefaultDemands;

  constructor(demands: DefaultDemands) {
    this.#demands = demands;
  }

  visit(schema: StructuralSchema, at: FieldPath, outer: Surroundings | undefined): void {
    const here: Surroundings =
      outer && !schema.embeddedResource ? outer : { root: schema, around: (value) => value, insideMetadata: false };
    if (schema.default !== undefined) {
      const problems = here.insideMetadata ? this.#inMetadata(schema, at, here) : this.#ordinary(schema, at);
      this.errors.push(...problems);
    }
    if (schema.items) {
      const around = (value: unknown) => here.around([value]);
      this.visit(schema.items, at.child('items'), { ...here, around });
    }
    for (const [name, property] of schema.properties) {
      const around = (value: unknown) => here.around({ [name]: value });
      const insideMetadata = here.insideMetadata || (schema.embeddedResource && objectFields.has(name));
      this.visit(property, at.child('properties').key(name), { ...here, around, insideMetadata });
    }
  }

  #ordinary(schema: StructuralSchema, at: FieldPath): readonly FieldError[] {
    const defaultAt = at.child('default');
    const errors: FieldError[] = [];
    const value = draft(schema.default);
    if (this.#demands.requiresPruned) {
      prune(value, schema, { isObject: schema.embeddedResource });
      if (!jsonEqual(value, schema.default))
        errors.push(invalid(defaultAt, schema.default, 'must not have unknown fields'));
    }
    const metadata = this.#metadataErrors(draft(schema.default), schema, defaultAt);
    return [...errors, ...(metadata.length > 0 ? metadata : this.#valueErrors(schema, defaultAt))];
  }

  #inMetadata(schema: StructuralSchema, at: FieldPath, { root, around }: Surroundings): readonly FieldError[] {
    const defaultAt = at.child('default');
    const object = { kind: 'Validation', apiVersion: 'validation/v1', ...(around(draft(schema.default)) as object) };
    const errors = this.#metadataErrors(object, root, path());
    if (errors.length === 0) return this.#valueErrors(schema, defaultAt);
    const detail = `must result in valid metadata: ${errorsText(errors)}`;
    return [invalid(defaultAt, schema.default, detail)];
  }

  #metadataErrors(value: unknown, schema: StructuralSchema, at: FieldPath): readonly FieldError[] {
    const { objects, validateMetadata } = this.#demands;
    try {
      objects.coerceEmbedded(value, schema, at);
    } catch (error) {
      if (error instanceof MetadataError) return [error.error];
      throw error;
    }
    return objects.validateEmbedded(value, schema, { validateMetadata, at });
  }

  #valueErrors(schema: StructuralSchema, at: FieldPath): readonly FieldError[] {
    const errors = new SchemaValidator(schema).validate(schema.default, { at });
    return errors.length > 0 ? errors : (this.#demands.checkRules?.(schema, schema.default, at) ?? []);
  }
}

const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

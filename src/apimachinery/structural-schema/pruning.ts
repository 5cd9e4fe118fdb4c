/**
 * Taking out of an object what its schema does not know. What it takes out is reported as field validation reports it; what is kept
 * is not judged, only walked.
 *
 * `x-kubernetes-preserve-unknown-fields` keeps what is unknown at its place and below, until a schema says more of a part again. Of
 * a whole object, at the root or embedded, `apiVersion`, `kind` and `metadata` belong to every object and are not looked at.
 */
import { isObject } from '../patch/merge-patch.ts';
import type { StructuralSchema } from './schema.ts';

const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

export interface PruneOptions {
  /** Whether the value is a whole object, which has `apiVersion`, `kind` and `metadata` without its schema saying so. */
  readonly isObject?: boolean | undefined;
}

/** Prunes in place. Returns the paths of what was taken out, sorted: `spec.items[0].colour`. Without a schema nothing is known. */
export function prune(
  value: unknown,
  schema: StructuralSchema | undefined,
  { isObject = false }: PruneOptions = {},
): string[] {
  const pruner = new Pruner();
  if (isObject) pruner.wholeObject(value, schema);
  else pruner.prune(value, schema);
  return pruner.unknown.sort();
}

/** How field validation says it. */
export function unknownFieldText(path: string): string {
  return `unknown field "${path}"`;
}

/** The schema of an entry that is no property: only a schema says anything of it, `true` does not. */
export function additionalSchema({ additionalProperties }: StructuralSchema): StructuralSchema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

class Pruner {
  readonly unknown: string[] = [];
  readonly #path: string[] = [];

  wholeObject(value: unknown, schema: StructuralSchema | undefined): void {
    if (!isObject(value)) return;
    this.#object(value as Record<string, unknown>, schema, true, schema?.preserveUnknownFields ?? false);
  }

  prune(value: unknown, schema: StructuralSchema | undefined): void {
    if (typeof value !== 'object' || value === null) return;
    const preserves = schema?.preserveUnknownFields ?? false;
    if (Array.isArray(value)) this.#list(value, schema, preserves);
    else this.#object(value as Record<string, unknown>, schema, schema?.embeddedResource ?? false, preserves);
  }

  /** In what is preserved, only the parts with a schema of their own are pruned. */
  #preserved(value: unknown, schema: StructuralSchema | undefined): void {
    if (!schema || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) this.#list(value, schema, true);
    else this.#object(value as Record<string, unknown>, schema, schema.embeddedResource, true);
  }

  #list(items: readonly unknown[], schema: StructuralSchema | undefined, preserves: boolean): void {
    for (const [index, item] of items.entries()) {
      this.#path.push(`[${index}]`);
      if (preserves) this.#preserved(item, schema?.items);
      else this.prune(item, schema?.items);
      this.#path.pop();
    }
  }

  #object(
    object: Record<string, unknown>,
    schema: StructuralSchema | undefined,
    embedded: boolean,
    preserves: boolean,
  ): void {
    for (const key of Object.keys(object)) {
      if (embedded && objectFields.has(key)) continue;
      const property = schema?.properties.get(key);
      if (!property && (!schema || schema.additionalProperties === undefined)) {
        if (!preserves) this.#drop(object, key);
        continue;
      }
      this.#path.push(this.#path.length === 0 ? key : `.${key}`);
      this.prune(object[key], property ?? additionalSchema(schema!));
      this.#path.pop();
    }
  }

  #drop(object: Record<string, unknown>, key: string): void {
    delete object[key];
    if (this.#path.length > 0) this.unknown.push(`${this.#path.join('')}.${key}`);
    else if (!objectFields.has(key)) this.unknown.push(key);
  }
}

/**
 * Values against a schema. A schema is compiled once into closures; a value is walked once, and all that is wrong with it is found
 * together, in upstream's words and with its quirks: which checks a wrong type leaves out, which of several alternatives is explained.
 *
 * On update, what was wrong before and has not changed is let pass (ratcheting): a part is compared with the part it was, elements of
 * `x-kubernetes-list-type: map` by their keys. What stands in other lists, or is looked at through `allOf` and its kin, is judged anew.
 */
import { type FieldError, type FieldPath, tooMany } from '../field-error.ts';
import { canonicalJson } from './canonical-json.ts';
import { Correlation, uncorrelated } from './correlation.ts';
import { Findings } from './findings.ts';
import { type Check, compileJunctors } from './junctors.ts';
import { additionalSchema } from './pruning.ts';
import { compileEnum, compileFormat, compileNumber, compileText, compileType } from './scalar-checks.ts';
import type { StructuralSchema } from './schema.ts';

export interface ValidateOptions {
  /** Where the value stands; the root of an object when absent. */
  readonly at?: FieldPath | undefined;
  /** What the value was. Given on update only. */
  readonly previous?: unknown;
}

/** Validates values of one schema; keeps what it compiled and no other state. */
export class SchemaValidator {
  readonly #schema: StructuralSchema;
  #check: Check | undefined;

  constructor(schema: StructuralSchema) {
    this.#schema = schema;
  }

  /** All errors. Never throws, whatever JSON the value is. */
  validate(value: unknown, { at, previous }: ValidateOptions = {}): FieldError[] {
    this.#check ??= compileSchema(this.#schema);
    const findings = new Findings(at);
    this.#check(value, findings, uncorrelated);
    if (findings.count === 0 || previous === undefined) return findings.errors();
    // Only what is wrong needs to be compared with what it was.
    const changed = new Findings(at, new Correlation());
    checkPart(this.#check, value, changed, { schema: this.#schema, previous });
    return changed.errors();
  }
}

/** The count returned is of checks passed, as upstream has it: see `junctors.ts`. */
function compileSchema(schema: StructuralSchema): Check {
  const type = compileType(schema);
  const junctors = compileJunctors(schema.value, compileSchema);
  const text = compileText(schema);
  const format = compileFormat(schema);
  const number = compileNumber(schema);
  const list = compileList(schema);
  const allowed = compileEnum(schema);
  const object = compileObject(schema);
  return (value, findings, previous) => {
    if (value === null || value === undefined) {
      const matches = type?.(null, findings) ?? 1;
      allowed?.(null, findings);
      return matches;
    }
    // Every check that applies counts, and so do the alternatives, the enumeration and the schema itself.
    let matches = 4 + (type ? 1 + type(value, findings) : 0) + (junctors?.(value, findings, previous) ?? 0);
    if (typeof value === 'string') {
      matches += format ? 2 : 1;
      text?.(value, findings);
      format?.(value, findings);
    } else if (typeof value === 'number' || typeof value === 'bigint') {
      matches += 2;
      number?.(Number(value), findings);
    } else if (Array.isArray(value)) matches += 2 + (list?.(value, findings, previous) ?? 0);
    allowed?.(value, findings);
    if (typeof value === 'object' && !Array.isArray(value))
      matches += 1 + (object?.(value as Readonly<Record<string, unknown>>, findings, previous) ?? 0);
    return matches;
  };
}

interface Part {
  readonly schema: StructuralSchema;
  readonly previous: unknown;
}

/** Checks a part; if it is what it was, its errors are let pass. */
function checkPart(check: Check, value: unknown, findings: Findings, { schema, previous }: Part): number {
  const before = findings.count;
  const matches = check(value, findings, previous);
  const { correlation } = findings;
  if (previous !== uncorrelated && findings.count > before && correlation?.equal(schema, value, previous))
    findings.forget(before);
  return matches;
}

type PartsCheck<T> = (value: T, findings: Findings, previous: unknown) => number;

function compileList(schema: StructuralSchema): PartsCheck<readonly unknown[]> | undefined {
  const { items } = schema;
  const { minItems, maxItems, uniqueItems } = schema.value;
  if (!items && minItems === undefined && maxItems === undefined && !uniqueItems) return undefined;
  const check = items && compileSchema(items);
  return (list, findings, previous) => {
    let matches = 0;
    if (check) {
      for (const [index, item] of list.entries()) {
        const counterpart =
          previous === uncorrelated
            ? uncorrelated
            : (findings.correlation?.element(schema, previous, item) ?? uncorrelated);
        findings.path.push(`[${index}]`);
        matches += checkPart(check, item, findings, { schema: items!, previous: counterpart });
        findings.path.pop();
      }
    }
    const { length } = list;
    if (minItems !== undefined && length < minItems) findings.unfit(length, `should have at least ${minItems} items`);
    if (maxItems !== undefined && length > maxItems)
      findings.special(`should have at most ${maxItems} items`, (at) => tooMany(at, length, maxItems));
    if (uniqueItems && new Set(list.map(canonicalJson)).size < length)
      findings.unfit('', "shouldn't contain duplicates");
    return matches;
  };
}

function compileObject(schema: StructuralSchema): PartsCheck<Readonly<Record<string, unknown>>> | undefined {
  const { properties } = schema;
  const { minProperties, maxProperties, required } = schema.value;
  const bounded = minProperties !== undefined || maxProperties !== undefined;
  const compiled = [...properties].map(([name, property]) => ({
    name,
    step: `.${name}`,
    schema: property,
    check: compileSchema(property),
  }));
  const additional = compileAdditional(schema);
  if (!bounded && required.length === 0 && compiled.length === 0 && !additional) return undefined;
  return (object, findings, previous) => {
    if (bounded) checkCount(Object.keys(object).length, schema, findings);
    let matches = additional?.(object, findings, previous) ?? 0;
    const isRoot = findings.path.length === 0;
    for (const { name, step, schema: part, check } of compiled) {
      if (!Object.hasOwn(object, name)) continue;
      const counterpart = isRoot && isTypeField(name) ? uncorrelated : previousField(findings, previous, name);
      findings.path.push(isRoot ? name : step);
      matches += checkPart(check, object[name], findings, { schema: part, previous: counterpart });
      findings.path.pop();
    }
    for (const name of required) if (!Object.hasOwn(object, name)) findings.missing(name);
    return matches;
  };
}

/** Objects of all versions are compared in one, so a changed version could not be told. */
function isTypeField(name: string): boolean {
  return name === 'kind' || name === 'apiVersion';
}

function previousField(findings: Findings, previous: unknown, name: string): unknown {
  return previous === uncorrelated ? uncorrelated : (findings.correlation?.field(previous, name) ?? uncorrelated);
}

function compileAdditional(schema: StructuralSchema): PartsCheck<Readonly<Record<string, unknown>>> | undefined {
  const { properties, additionalProperties } = schema;
  if (additionalProperties === false) {
    return (object, findings) => {
      for (const key of Object.keys(object)) if (!properties.has(key)) findings.notAllowed(key);
      return 0;
    };
  }
  const part = additionalSchema(schema);
  if (!part) return undefined;
  const check = compileSchema(part);
  return (object, findings, previous) => {
    let matches = 0;
    for (const key of Object.keys(object)) {
      if (properties.has(key)) continue;
      findings.path.push(`.${key}`);
      matches += checkPart(check, object[key], findings, {
        schema: part,
        previous: previousField(findings, previous, key),
      });
      findings.path.pop();
    }
    return matches;
  };
}

function checkCount(count: number, { value: { minProperties, maxProperties } }: StructuralSchema, findings: Findings) {
  if (minProperties !== undefined && count < minProperties)
    findings.unfit(count, `should have at least ${minProperties} properties`);
  if (maxProperties !== undefined && count > maxProperties)
    findings.special(`should have at most ${maxProperties} properties`, (at) => tooMany(at, count, maxProperties));
}

/**
 * The rules of a schema applied to objects. All places of a schema that have rules are compiled when the first object comes; an
 * object is walked once, rules before the parts below, and each evaluation is paid from one budget. When that is spent, no further
 * rule runs, and the object is refused.
 *
 * On update a rule sees the value as it was (`oldSelf`) where it is known which value that was: fields of maps by name, elements of
 * lists of type `map` by their keys. And what was wrong already and is the same again is no error but a warning (ratcheting), unless
 * the rule is about the change.
 */
import {
  duplicate,
  errorText,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  omittedValue,
  required,
} from '../../field-error.ts';
import { Correlation, uncorrelated } from '../../structural-schema/correlation.ts';
import type { StructuralSchema, ValidationRule } from '../../structural-schema/schema.ts';
import { adapt, CelError, CelOptional, type CelType, type Evaluation, isCelError, type Program } from '../index.ts';
import type { DeclaredType } from './declared-type.ts';
import { escapeIdentifier } from './identifiers.ts';
import { type CompiledRule, compileRules } from './rule-compilation.ts';
import { hasRules } from './rule-validation.ts';
import { declaredTypeOf } from './schema-types.ts';

/** What all rules of one object may cost together. */
export const objectCostBudget = 10_000_000;
const longestMessageBytes = 5 * 1024;

export interface RuleContext {
  /** Where the value stands; the object itself if absent. */
  readonly at?: FieldPath;
  /** What the value was; absent on create. */
  readonly previous?: unknown;
  /** Whether what was so before is only warned of; default true. */
  readonly ratchets?: boolean;
  /** What is left of the request's budget. */
  readonly budget?: number;
  readonly interrupted?: () => boolean;
}

export interface RuleVerdict {
  readonly errors: readonly FieldError[];
  /** What is wrong but was so before. */
  readonly warnings: readonly string[];
  /** Negative where it ran out. */
  readonly remainingBudget: number;
}

/** An object whose form is wrong is not judged by rules, and says so: with such an error among those found, this is added. */
export function suppressedRules(errors: readonly FieldError[]): FieldError | undefined {
  if (!errors.some(({ type }) => blocking.has(type))) return undefined;
  const words =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return invalid(new FieldPath('<nil>'), null, words);
}

const blocking: ReadonlySet<FieldError['type']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** The rules of one schema; keeps what it compiled and no other state. */
export class SchemaRules {
  readonly #schema: StructuralSchema;
  readonly #resourceRoot: boolean;
  #node: RuleNode | undefined | 'none';

  constructor(schema: StructuralSchema, { resourceRoot = true } = {}) {
    this.#schema = schema;
    this.#resourceRoot = resourceRoot;
  }

  /** Never throws, whatever JSON the value is. */
  validate(value: unknown, context: RuleContext = {}): RuleVerdict {
    const { at = new FieldPath(''), previous, ratchets = true, budget = objectCostBudget, interrupted } = context;
    const node = this.#compiled();
    if (!node) return { errors: [], warnings: [], remainingBudget: budget };
    const run = new RuleRun(budget, ratchets && previous !== undefined, interrupted);
    run.visit(node, {
      at,
      value,
      previous: previous ?? uncorrelated,
      ...run.ratchetingFrom(node.schema, value, previous),
    });
    return { errors: run.errors, warnings: run.warnings, remainingBudget: run.remaining };
  }

  #compiled(): RuleNode | undefined {
    if (this.#node === undefined) {
      const declared = declaredTypeOf(this.#schema, { resourceRoot: this.#resourceRoot });
      this.#node = (hasRules(this.#schema) && ruleNode(this.#schema, this.#schema, declared)) || 'none';
    }
    return this.#node === 'none' ? undefined : this.#node;
  }
}

/** A place of a schema with rules at it or below. */
interface RuleNode {
  readonly schema: StructuralSchema;
  readonly type: CelType | undefined;
  readonly rules: readonly CompiledRule[];
  readonly items: RuleNode | undefined;
  readonly values: RuleNode | undefined;
  readonly properties: ReadonlyMap<string, RuleNode>;
  /** Rules that `allOf` adds to the same place. */
  readonly allOf: readonly RuleNode[];
}

/** `ruled` has the rules, `schema` the structure; they differ within `allOf`. */
function ruleNode(
  ruled: StructuralSchema,
  schema: StructuralSchema,
  declared: DeclaredType | undefined,
): RuleNode | undefined {
  const { additionalProperties: values } = schema;
  const ruledValues = ruled.additionalProperties;
  const node: RuleNode = {
    schema,
    type: declared?.type,
    rules: declared ? compileRules({ ...schema, rules: ruled.rules }, declared, () => 'stored') : [],
    items: ruled.items && schema.items && ruleNode(ruled.items, schema.items, declared?.element),
    values:
      typeof ruledValues === 'object' && typeof values === 'object'
        ? ruleNode(ruledValues, values, declared?.element)
        : undefined,
    properties: propertyNodes(ruled, schema, declared),
    allOf: ruled.value.allOf.map((part) => ruleNode(part, schema, declared)).filter((part) => part !== undefined),
  };
  const empty = node.rules.length === 0 && node.properties.size === 0 && node.allOf.length === 0;
  return empty && !node.items && !node.values ? undefined : node;
}

function propertyNodes(
  ruled: StructuralSchema,
  schema: StructuralSchema,
  declared: DeclaredType | undefined,
): ReadonlyMap<string, RuleNode> {
  const nodes = new Map<string, RuleNode>();
  for (const [name, property] of ruled.properties) {
    const structure = schema.properties.get(name);
    if (!structure) continue;
    const spelling = escapeIdentifier(name);
    // A name without a spelling has no field, but what is below may have rules of its own.
    const type =
      spelling === undefined
        ? declaredTypeOf(structure, { resourceRoot: structure.embeddedResource })
        : declared?.fields?.get(spelling);
    const node = type && ruleNode(property, structure, type);
    if (node) nodes.set(name, node);
  }
  return nodes;
}

/** A part of an object next to what it was, for ratcheting. */
interface Pair {
  readonly schema: StructuralSchema;
  readonly next: unknown;
  readonly previous: unknown;
}

interface Visit {
  readonly at: FieldPath;
  readonly value: unknown;
  /** The value that rules see as `oldSelf`. */
  readonly previous: unknown;
  readonly pair: Pair | undefined;
  readonly parentPair: Pair | undefined;
}

type JsonObject = Readonly<Record<string, unknown>>;

const budgetSpent = 'validation failed due to running out of cost budget, no further validation rules will be run';

class RuleRun {
  readonly errors: FieldError[] = [];
  readonly warnings: string[] = [];
  remaining: number;
  readonly #correlation = new Correlation();
  readonly #ratchets: boolean;
  readonly #interrupted: (() => boolean) | undefined;

  constructor(budget: number, ratchets: boolean, interrupted: (() => boolean) | undefined) {
    this.remaining = budget;
    this.#ratchets = ratchets;
    this.#interrupted = interrupted;
  }

  ratchetingFrom(schema: StructuralSchema, next: unknown, previous: unknown): Pick<Visit, 'pair' | 'parentPair'> {
    return { pair: this.#ratchets ? { schema, next, previous } : undefined, parentPair: undefined };
  }

  visit(node: RuleNode, visit: Visit): void {
    if (this.remaining < 0 || visit.value === null || visit.value === undefined) return;
    this.#applyRules(node, visit);
    for (const part of node.allOf) this.visit(part, { ...visit, pair: undefined });
    if (this.remaining < 0) return;
    if (Array.isArray(visit.value)) this.#visitElements(node, visit, visit.value);
    else if (typeof visit.value === 'object') this.#visitFields(node, visit, visit.value as JsonObject);
  }

  #visitElements({ items, schema }: RuleNode, visit: Visit, elements: readonly unknown[]): void {
    if (!items) return;
    for (const [index, element] of elements.entries()) {
      const counterpart = (previous: unknown) => this.#correlation.element(schema, previous, element);
      const previous = counterpart(visit.previous);
      const pairs = this.#pairBelow(visit, items.schema, element, counterpart);
      this.visit(items, { at: visit.at.index(index), value: element, previous, ...pairs });
    }
  }

  #visitFields({ properties, values, schema }: RuleNode, visit: Visit, fields: JsonObject): void {
    if (!values && properties.size === 0) return;
    const correlates = schema.mapType === undefined || schema.mapType === 'granular' || schema.mapType === 'atomic';
    for (const [name, value] of Object.entries(fields)) {
      for (const node of [values, properties.get(name)]) {
        if (!node) continue;
        const counterpart = (previous: unknown) => this.#correlation.field(previous, name);
        const previous = correlates ? counterpart(visit.previous) : uncorrelated;
        const at = node === values ? visit.at.key(name) : visit.at.child(name);
        this.visit(node, { at, value, previous, ...this.#pairBelow(visit, node.schema, value, counterpart) });
      }
    }
  }

  /** Where a part has no counterpart, the nearest part around it that has one decides. */
  #pairBelow(
    { pair, parentPair }: Visit,
    schema: StructuralSchema,
    next: unknown,
    counterpart: (previous: unknown) => unknown,
  ): Pick<Visit, 'pair' | 'parentPair'> {
    if (!pair) return { pair, parentPair };
    const previous = counterpart(pair.previous);
    return { pair: previous === uncorrelated ? undefined : { schema, next, previous }, parentPair: pair };
  }

  #unchanged({ pair, parentPair }: Visit): boolean {
    const decisive = pair ?? parentPair;
    return decisive !== undefined && this.#correlation.equal(decisive.schema, decisive.next, decisive.previous);
  }

  #applyRules(node: RuleNode, visit: Visit): void {
    if (node.rules.length === 0) return;
    if (this.remaining <= 0) {
      this.#stop(invalid(placeOf(visit), node.schema.type, budgetSpent));
      return;
    }
    const { value: self, previous: oldSelf } = visit;
    const known = oldSelf !== uncorrelated && oldSelf !== null && oldSelf !== undefined;
    for (const rule of node.rules) {
      this.#applyRule(rule, { node, visit, bindings: known ? { self, oldSelf } : { self } });
      if (this.remaining < 0) return;
    }
  }

  #applyRule(compiled: CompiledRule, context: RuleRunContext): void {
    const { node, visit, bindings } = context;
    const { rule, program } = compiled;
    const fault = (detail: string) => invalid(placeOf(visit), node.schema.type, detail);
    if (compiled.error !== undefined) this.errors.push(fault(`rule compile error: ${compiled.error}`));
    if (!program || (compiled.usesOldSelf && !('oldSelf' in bindings) && rule.optionalOldSelf !== true)) return;
    const evaluation = this.#evaluate(program, rule.optionalOldSelf === true ? asOptional(bindings, node) : bindings);
    if (evaluation.cost > this.remaining) {
      this.#stop(fault(budgetSpent));
      return;
    }
    this.remaining -= evaluation.cost;
    if (isCelError(evaluation.value)) {
      const error = fault(evaluationFault(evaluation.value.message, ruleText(rule)));
      if (evaluation.cancelled) this.#stop(error);
      else this.errors.push(error);
    } else if (evaluation.value !== true) this.#report(compiled, context);
  }

  #evaluate(program: Program, bindings: JsonObject): Evaluation {
    return program.evaluate(bindings, this.#interrupted ? { interrupted: this.#interrupted } : {});
  }

  /** The value does not obey the rule. */
  #report(compiled: CompiledRule, { node, visit, bindings }: RuleRunContext): void {
    const { rule, fieldPath } = compiled;
    const at = fieldPath === '' ? placeOf(visit) : visit.at.child(fieldPath);
    const add = (error: FieldError) => {
      if (!compiled.usesOldSelf && this.#unchanged(visit)) this.warnings.push(errorText(error));
      else this.errors.push(error);
    };
    let detail: string | undefined;
    if (compiled.message) {
      const message = this.#message(compiled.message, rule, bindings);
      if (typeof message === 'object') {
        add(invalid(at, node.schema.type, message.fatal));
        this.remaining = -1;
        return;
      }
      detail = message;
    }
    const { type } = node.schema;
    const shown = type === 'object' || type === 'array' ? omittedValue : visit.value;
    add(reasoned(rule, at, shown, detail ?? failedRule(rule)));
  }

  /** The evaluated message; undefined where it gives none, so that the rule's own serves; an object where nothing may follow. */
  #message(
    program: Program,
    rule: ValidationRule,
    bindings: JsonObject,
  ): string | undefined | { readonly fatal: string } {
    const evaluation = this.#evaluate(program, bindings);
    if (evaluation.cost > this.remaining) {
      const words = 'messageExpression evaluation failed due to running out of cost budget';
      return { fatal: `${words}, no further validation rules will be run` };
    }
    if (evaluation.cancelled) {
      const words = 'no further validation rules will be run due to call cost exceeds limit for messageExpression';
      return { fatal: `${words}: ${JSON.stringify(rule.messageExpression)}` };
    }
    this.remaining -= evaluation.cost;
    if (typeof evaluation.value !== 'string') return undefined;
    const message = evaluation.value.trim();
    const usable = message !== '' && !message.includes('\n') && Buffer.byteLength(message) <= longestMessageBytes;
    return usable ? message : undefined;
  }

  #stop(error: FieldError): void {
    this.errors.push(error);
    this.remaining = -1;
  }
}

/** What concerns the object as a whole has no path, and upstream prints Go's word for that. */
const placeOf = ({ at }: Visit): FieldPath => (at.toString() === '' ? new FieldPath('<nil>') : at);

interface RuleRunContext {
  readonly node: RuleNode;
  readonly visit: Visit;
  readonly bindings: JsonObject;
}

/** With `oldSelf` as an optional value; one that cannot be read is an error, not an absence. */
function asOptional({ self, oldSelf }: JsonObject, { type }: RuleNode): JsonObject {
  const previous = oldSelf === undefined ? undefined : adapt(oldSelf, type!);
  return { self, oldSelf: previous instanceof CelError ? previous : new CelOptional(previous) };
}

const ruleText = ({ rule, message = '' }: ValidationRule) => (message === '' ? rule.trim() : message.trim());

const failedRule = (rule: ValidationRule) =>
  (rule.message ?? '') === '' ? `failed rule: ${ruleText(rule)}` : ruleText(rule);

function evaluationFault(error: string, rule: string): string {
  if (error.startsWith('no such overload')) {
    const words = 'call arguments did not match a supported operator, function or macro signature for rule';
    return `'${error}': ${words}: ${rule}`;
  }
  if (error.startsWith('operation cancelled: actual cost limit exceeded')) {
    return `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`;
  }
  return `${error} evaluating rule: ${rule}`;
}

function reasoned({ reason }: ValidationRule, at: FieldPath, value: unknown, detail: string): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(at, detail);
    case 'FieldValueRequired':
      return required(at, detail);
    case 'FieldValueDuplicate':
      return duplicate(at, value);
    default:
      return invalid(at, value, detail);
  }
}

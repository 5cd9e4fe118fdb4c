/**
 * What is wrong with the rules of a schema, before any value is judged by them: whether they compile, whether they ask for a previous
 * value where there is none to be told, and whether they could cost more than a request may. Their form (what is empty, what has line
 * breaks) is judged with the rest of the schema, and below such a fault nothing is compiled.
 */
import { type FieldError, type FieldPath, forbidden, internal, invalid } from '../../field-error.ts';
import type { StructuralSchema, ValidationRule } from '../../structural-schema/schema.ts';
import { unbounded } from '../index.ts';
import type { DeclaredType } from './declared-type.ts';
import { escapeIdentifier } from './identifiers.ts';
import { type AgeOf, type CompiledRule, compileRules } from './rule-compilation.ts';
import { declaredTypeOf } from './schema-types.ts';

/** The most that one expression may be estimated to cost, over all values it can run on in a request. */
const expressionCostLimit = 10_000_000;
/** The most for all expressions of a schema together. */
const schemaCostLimit = 100_000_000;
/** How many of the most expensive expressions are named. */
const namedCulprits = 4;

export interface RuleValidationOptions {
  readonly ageOf: AgeOf;
  /** Errors of the schema that are known already: where there is one, rules at or above it are not compiled. */
  readonly schemaErrors?: readonly FieldError[];
  /** For a schema that has not changed: what was accepted may stay, whatever it may cost. */
  readonly ignoreExpressionCost?: boolean;
}

/** `at` is where the schema stands: `spec.versions[0].schema.openAPIV3Schema`. */
export function validateRules(schema: StructuralSchema, at: FieldPath, options: RuleValidationOptions): FieldError[] {
  const faulty = new Set((options.schemaErrors ?? []).map(({ field }) => field));
  const walk = new CompilationWalk(options, faulty);
  const declared = hasRules(schema) ? declaredTypeOf(schema, { resourceRoot: true }) : undefined;
  walk.visit({
    schema,
    declared,
    at,
    cardinality: 1,
    uncorrelatable: undefined,
    resourceRoot: true,
  });
  return [...walk.errors, ...walk.totalFaults(at)];
}

/** Whether any place of the schema has rules; those in `allOf` do not count by themselves. */
export function hasRules(schema: StructuralSchema): boolean {
  if (schema.rules.length > 0) return true;
  if (schema.items && hasRules(schema.items)) return true;
  if (typeof schema.additionalProperties === 'object' && hasRules(schema.additionalProperties)) return true;
  return [...schema.properties.values()].some(hasRules);
}

const rulesAt = (at: FieldPath) => at.child('x-kubernetes-validations');

interface Child {
  readonly kind: 'property' | 'value' | 'item';
  readonly name: string;
  readonly schema: StructuralSchema;
  readonly at: FieldPath;
}

function childrenOf(schema: StructuralSchema, at: FieldPath): Child[] {
  const { additionalProperties, items } = schema;
  const children: Child[] = [];
  if (typeof additionalProperties === 'object') {
    children.push({ kind: 'value', name: '', schema: additionalProperties, at: at.child('additionalProperties') });
  }
  for (const [name, property] of schema.properties) {
    children.push({ kind: 'property', name, schema: property, at: at.child('properties').key(name) });
  }
  if (items) children.push({ kind: 'item', name: '', schema: items, at: at.child('items') });
  return children;
}

/** A place of the schema. */
interface Visit {
  readonly schema: StructuralSchema;
  /**
   * Its type, if it is one of a schema with rules and expressions can see it from there. In messages about rules of its own it goes by
   * another name, as a place where everything begins.
   */
  readonly declared: DeclaredType | undefined;
  readonly at: FieldPath;
  /** How often it can occur in an object; undefined where there is no bound. */
  readonly cardinality: number | undefined;
  /** The outermost place around it whose parts have no previous value that is known to be theirs. */
  readonly uncorrelatable: FieldPath | undefined;
  readonly resourceRoot: boolean;
}

class CompilationWalk {
  readonly errors: FieldError[] = [];
  readonly #options: RuleValidationOptions;
  readonly #faulty: ReadonlySet<string>;
  readonly #costs: { readonly at: FieldPath; readonly cost: number }[] = [];

  constructor(options: RuleValidationOptions, faulty: ReadonlySet<string>) {
    this.#options = options;
    this.#faulty = faulty;
  }

  visit(place: Visit): void {
    for (const child of childrenOf(place.schema, place.at)) this.visit(this.#below(place, child));
    if (place.schema.rules.length === 0 || this.#isFaulty(place.at)) return;
    const declared =
      place.resourceRoot && place.declared
        ? place.declared
        : declaredTypeOf(place.schema, {
            resourceRoot: place.resourceRoot || place.schema.embeddedResource,
          });
    if (!declared) {
      const words = 'unable to convert structural schema to CEL declarations';
      const fault = `internal error: failed to construct type information for x-kubernetes-validations rules: ${words}`;
      this.errors.push(internal(rulesAt(place.at), fault));
      return;
    }
    const compiled = compileRules(place.schema, declared, this.#options.ageOf);
    for (const [index, rule] of compiled.entries()) this.#judge(rule, rulesAt(place.at).index(index), place);
  }

  /** Whether an error of the schema is here or deeper. */
  #isFaulty(at: FieldPath): boolean {
    const prefix = at.toString();
    for (const field of this.#faulty) if (field.startsWith(prefix)) return true;
    return false;
  }

  #below(place: Visit, { kind, name, schema, at }: Child): Visit {
    const most = place.cardinality === undefined ? undefined : mostElements(place.schema);
    const spelling = kind === 'property' ? escapeIdentifier(name) : undefined;
    const fields = place.declared?.fields;
    const declared = kind === 'property' ? spelling && fields?.get(spelling) : place.declared?.element;
    return {
      schema,
      at,
      declared: declared || undefined,
      cardinality: most === undefined ? undefined : product(place.cardinality!, most),
      uncorrelatable: place.uncorrelatable ?? (correlates(place.schema, kind) ? undefined : place.at),
      resourceRoot: false,
    };
  }

  #judge(compiled: CompiledRule, at: FieldPath, place: Visit): void {
    const { rule } = compiled;
    const cost = product(compiled.maxCost, place.cardinality ?? compiled.maxCardinality);
    this.#judgeCost('estimated rule cost', cost, at.child('rule'));
    if (compiled.error !== undefined) this.errors.push(invalid(at.child('rule'), shown(rule), compiled.error));
    if (compiled.messageError !== undefined) {
      this.errors.push(invalid(at.child('messageExpression'), shown(rule), compiled.messageError));
    } else if (compiled.message) {
      this.#judgeCost('estimated messageExpression cost', compiled.messageMaxCost, at.child('messageExpression'));
    }
    if (!compiled.usesOldSelf) {
      if (rule.optionalOldSelf === undefined) return;
      const words = 'may not be set if oldSelf is not used in rule';
      this.errors.push(invalid(at.child('optionalOldSelf'), rule.optionalOldSelf, words));
    } else if (place.uncorrelatable) {
      const words = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`;
      this.errors.push(invalid(at.child('rule'), rule.rule, words));
    }
  }

  #judgeCost(what: string, cost: number, at: FieldPath): void {
    if (cost > expressionCostLimit && !this.#options.ignoreExpressionCost) {
      this.errors.push(forbidden(at, budgetMessage(what, cost, expressionCostLimit)));
    }
    this.#costs.push({ at, cost });
  }

  /** The budget of the schema as a whole. */
  totalFaults(at: FieldPath): FieldError[] {
    const total = this.#costs.reduce((sum, { cost }) => Math.min(sum + cost, unbounded), 0);
    if (total <= schemaCostLimit) return [];
    const culprits = this.#costs.filter(({ cost }) => cost >= schemaCostLimit / 100).sort((a, b) => b.cost - a.cost);
    const contributed = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    return [
      ...culprits.slice(0, namedCulprits).map((culprit) => forbidden(culprit.at, contributed)),
      forbidden(at, budgetMessage(what, total, schemaCostLimit)),
    ];
  }
}

/** Parts of other than `granular` and `atomic` maps, and elements of other than `map` lists, cannot be told from one another. */
function correlates({ mapType, listType }: StructuralSchema, kind: Child['kind']): boolean {
  if (kind === 'item') return listType === 'map';
  return kind === 'value' || mapType === undefined || mapType === 'granular' || mapType === 'atomic';
}

/** How many of its parts of one kind a value can have; undefined where nothing bounds them. */
function mostElements({ type, additionalProperties, value }: StructuralSchema): number | undefined {
  const bound = (most: number | undefined) => (most === undefined ? undefined : Math.max(most, 0));
  if (type === 'array') return bound(value.maxItems);
  return type === 'object' && additionalProperties !== undefined ? bound(value.maxProperties) : 1;
}

const product = (cost: number, count: number) => Math.min(cost * count, unbounded);

function budgetMessage(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const digits = factor < 1.5 ? factor.toFixed(6) : factor.toFixed(1);
  const times = factor > 100 ? 'more than 100x' : `${digits}x`;
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return `${what} exceeds budget by factor of ${times} (${advice})`;
}

/** The rule as messages show it, with the names that upstream's own type has for its parts. */
function shown({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf }: ValidationRule): unknown {
  return {
    Rule: rule,
    Message: message ?? '',
    MessageExpression: messageExpression ?? '',
    Reason: reason ?? null,
    FieldPath: fieldPath ?? '',
    OptionalOldSelf: optionalOldSelf ?? null,
  };
}

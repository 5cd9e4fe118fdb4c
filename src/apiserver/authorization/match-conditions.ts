/**
 * Conditions in CEL under which a webhook is asked at all. One that is false spares the call; one that fails leaves it to the webhook's
 * failure policy what becomes of the request.
 */
import type { SubjectAccessReviewSpec } from '../../api/gen/authorization-v1.ts';
import {
  type CelType,
  type Environment,
  isCelError,
  listOf,
  mapOf,
  objectType,
  type Program,
  stringType,
} from '../../apimachinery/cel/index.ts';
import { baseEnvironment } from '../../apimachinery/cel/library/environment.ts';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  required,
  tooMany,
} from '../../apimachinery/field-error.ts';
import { aggregate } from '../../apimachinery/go-text.ts';

export interface MatchCondition {
  readonly expression?: string | undefined;
}

interface Condition {
  readonly expression: string;
  readonly program: Program;
}

export type MatchResult = { readonly matches: boolean } | { readonly error: string };

const mostConditions = 64;

export class MatchConditions {
  readonly #conditions: readonly Condition[];

  constructor(conditions: readonly Condition[]) {
    this.#conditions = conditions;
  }

  evaluate(spec: SubjectAccessReviewSpec): MatchResult {
    const request = shown(spec);
    const errors: string[] = [];
    for (const { expression, program } of this.#conditions) {
      const { value } = program.evaluate({ request });
      if (isCelError(value))
        errors.push(`cel evaluation error: expression '${expression}' resulted in error: ${value.message}`);
      else if (value !== true) return { matches: false };
    }
    return errors.length > 0 ? { error: aggregate(errors) } : { matches: true };
  }
}

/** Ready to be asked, or what is wrong with them. `at` is the place of the list. */
export function compileMatchConditions(
  conditions: readonly MatchCondition[],
  at: FieldPath,
): { readonly conditions: MatchConditions | undefined; readonly errors: readonly FieldError[] } {
  if (conditions.length > mostConditions)
    return { conditions: undefined, errors: [tooMany(at, conditions.length, mostConditions)] };
  const errors: FieldError[] = [];
  const compiled: Condition[] = [];
  const seen = new Set<string>();
  const environment = conditions.length > 0 ? conditionEnvironment() : undefined;
  conditions.forEach(({ expression = '' }, i) => {
    const place = at.index(i).child('expression');
    if (expression.trim() === '') errors.push(required(place));
    else if (seen.has(expression)) errors.push(duplicate(place, expression));
    else {
      seen.add(expression);
      const result = compile(environment!, expression);
      if (typeof result === 'string') errors.push(invalid(place, expression, result));
      else compiled.push({ expression, program: result });
    }
  });
  return { conditions: compiled.length > 0 ? new MatchConditions(compiled) : undefined, errors };
}

function compile(environment: Environment, expression: string): Program | string {
  const compiled = environment.compile(expression);
  if (!compiled.program)
    return `${compiled.failsAlways ? 'program instantiation' : 'compilation'} failed: ${compiled.text}`;
  const { resultType } = compiled.program;
  return resultType.kind === 'bool' ? compiled.program : `must evaluate to bool but got ${resultType}`;
}

function conditionEnvironment(): Environment {
  const texts = listOf(stringType);
  const requirement = fixedObject('kubernetes.SelectorRequirement', {
    key: stringType,
    operator: stringType,
    values: texts,
  });
  const selector = (name: string) => fixedObject(name, { rawSelector: stringType, requirements: listOf(requirement) });
  const named = (...names: string[]) => Object.fromEntries(names.map((name) => [name, stringType]));
  const request = fixedObject('kubernetes.SubjectAccessReviewSpec', {
    resourceAttributes: fixedObject('kubernetes.ResourceAttributes', {
      ...named('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'),
      fieldSelector: selector('kubernetes.FieldSelectorAttributes'),
      labelSelector: selector('kubernetes.LabelSelectorAttributes'),
    }),
    nonResourceAttributes: fixedObject('kubernetes.NonResourceAttributes', named('path', 'verb')),
    user: stringType,
    groups: texts,
    extra: mapOf(stringType, texts),
    uid: stringType,
  });
  return baseEnvironment('stored').extend({ variables: { request } });
}

function fixedObject(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return objectType(name, {
    field: (selected) => {
      const type = Object.hasOwn(fields, selected) ? fields[selected] : undefined;
      return type && { type };
    },
  });
}

/** Every text is there for conditions to look at, an empty one too. */
function shown({
  resourceAttributes,
  nonResourceAttributes,
  user = '',
  groups = [],
  extra = {},
  uid = '',
}: SubjectAccessReviewSpec) {
  const empty = { namespace: '', verb: '', group: '', version: '', resource: '', subresource: '', name: '' };
  return {
    user,
    groups,
    uid,
    extra,
    ...(resourceAttributes ? { resourceAttributes: { ...empty, ...resourceAttributes } } : {}),
    ...(nonResourceAttributes ? { nonResourceAttributes: { path: '', verb: '', ...nonResourceAttributes } } : {}),
  };
}

/**
 * A MutatingAdmissionPolicy's expressions, and what they make of one object: apply configurations merged into it, JSON patches
 * applied to it.
 */
import {
  applyResult,
  type CompiledExpression,
  conditionResult,
  jsonPatchResult,
  PolicyCompiler,
} from '../../../api/admissionregistration/expressions/compile.ts';
import type { MutatingAdmissionPolicy, Mutation } from '../../../api/gen/admissionregistration-v1.ts';
import { CelError, CelList, CelMap, type CelResult, type CelValue } from '../../../apimachinery/cel/index.ts';
import { jsonOf } from '../../../apimachinery/cel/kubernetes/json-value.ts';
import { typeNameFaults } from '../../../apimachinery/cel/kubernetes/mutation-types.ts';
import { configurationProblem } from '../../../apimachinery/managed-fields/configuration.ts';
import { mergeConfiguration } from '../../../apimachinery/managed-fields/merge.ts';
import type { Shape } from '../../../apimachinery/managed-fields/shape.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { applyJsonPatch, FailedTestError } from '../../../apimachinery/patch/json-patch.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import type { Bindings } from '../expressions/bindings.ts';
import { conditionsHold } from '../expressions/conditions.ts';
import { conditionsBudget, Evaluation, type EvaluationOptions, policyBudget } from '../expressions/evaluation.ts';

type Context = Pick<EvaluationOptions, 'ledger' | 'authorizer'>;
type JsonObject = Readonly<Record<string, unknown>>;

export interface Patcher {
  readonly kind: 'ApplyConfiguration' | 'JSONPatch';
  readonly expression: CompiledExpression;
}

export class MutatingEvaluator {
  /** In their order. */
  readonly patchers: readonly Patcher[];
  readonly #compiler = new PolicyCompiler();
  readonly #failurePolicy: string;
  readonly #conditions: readonly CompiledExpression[];

  constructor({ spec }: MutatingAdmissionPolicy) {
    const { variables = [], matchConditions = [], mutations = [] } = spec;
    const scope = { params: spec.paramKind !== undefined, authorizer: true };
    const compiler = this.#compiler;
    for (const { name, expression } of variables) compiler.addVariable(name, expression, scope);
    this.#failurePolicy = spec.failurePolicy ?? 'Fail';
    this.#conditions = matchConditions.map(({ expression }) => compiler.compile(expression, scope, conditionResult));
    this.patchers = mutations.flatMap((mutation) => this.#patcher(mutation, scope.params));
  }

  /** Throws an `Error` where a condition fails and that is not to be ignored. */
  concerns(bindings: Bindings, context: Context): Promise<boolean> {
    const evaluation = this.#evaluation(bindings, context, conditionsBudget);
    return conditionsHold(this.#conditions, evaluation, this.#failurePolicy);
  }

  /** The object as the mutation leaves it. Throws an `Error`. */
  async patch(
    { kind, expression }: Patcher,
    object: KubeObject,
    { bindings, context, shape }: { readonly bindings: Bindings; readonly context: Context; readonly shape: Shape },
  ): Promise<object> {
    if (expression.problem !== undefined) throw new Error(expression.problem);
    const { value, problem } = await this.#evaluation(bindings, context, policyBudget).evaluate(expression);
    if (problem !== undefined) throw new Error(problem);
    return kind === 'JSONPatch' ? jsonPatched(object, value) : applied(object, value, shape);
  }

  #evaluation(bindings: Bindings, context: Context, budget: number): Evaluation {
    return new Evaluation(bindings, { ...context, variables: this.#compiler.variables, budget });
  }

  #patcher({ patchType, applyConfiguration, jsonPatch }: Mutation, params: boolean): Patcher[] {
    const kind = patchType === 'JSONPatch' ? 'JSONPatch' : 'ApplyConfiguration';
    const text = (kind === 'JSONPatch' ? jsonPatch : applyConfiguration)?.expression;
    if (text === undefined) return [];
    const results = kind === 'JSONPatch' ? jsonPatchResult : applyResult;
    const scope = { params, authorizer: true, patches: true };
    return [{ kind, expression: this.#compiler.compile(text, scope, results) }];
  }
}

function applied(object: KubeObject, value: CelValue, shape: Shape): object {
  checkTypeNames(value);
  const { apiVersion, kind } = object;
  const patch = { ...(writtenOut(value) as JsonObject), apiVersion, kind };
  const refused = (why: string) => new Error(`error applying patch: ${why}`);
  const problem = configurationProblem(shape, patch);
  if (problem !== undefined) throw refused(`failed to convert patch object to typed object: ${problem}`);
  const atomics = atomicPaths(shape, patch);
  if (atomics.length > 0) {
    throw refused(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`);
  }
  return mergeConfiguration(shape, object, patch) as object;
}

/** What can only be set as a whole: its author rarely means to take away all else that it holds. */
function atomicPaths(shape: Shape, value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) {
    if (shape.form !== 'list') return [];
    const own = shape.kind === 'atomic' ? [path] : [];
    return [...own, ...value.flatMap((item, index) => atomicPaths(shape.items, item, `${path}[${index}]`))];
  }
  if (typeof value !== 'object' || value === null || (shape.form !== 'struct' && shape.form !== 'map')) return [];
  const own = shape.atomic ? [path] : [];
  const below = Object.entries(value).flatMap(([key, field]) => {
    const shapeOfField = shape.form === 'map' ? shape.values : shape.byName.get(key)?.shape;
    return shapeOfField ? atomicPaths(shapeOfField, field, `${path}.${key}`) : [];
  });
  return [...own, ...below];
}

function jsonPatched(object: KubeObject, value: CelValue): object {
  if (!(value instanceof CelList)) {
    throw new Error('type mismatch: JSONPatchType.expression should evaluate to array');
  }
  const operations = Array.from({ length: value.size }, (_, index) => operationOf(value.at(index) as CelValue));
  try {
    return applyJsonPatch(object, operations);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    // A test that fails means that there is nothing to do.
    if (cause instanceof FailedTestError) return object;
    throw new Error(`JSON Patch: ${messageOf(cause)}`, { cause: error });
  }
}

function operationOf(operation: CelValue): object {
  if (!(operation instanceof CelMap)) {
    throw new Error('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
  }
  const field = (name: string) => operation.get(name);
  const [op, path, from, value] = [field('op'), field('path'), field('from'), field('value')];
  if (value !== undefined && value instanceof CelMap && value.type.kind === 'object')
    checkTypeNames(value, [value.type.name]);
  return {
    op: op ?? '',
    path: path ?? '',
    ...(from ? { from } : {}),
    ...(value === undefined ? {} : { value: writtenOut(value) }),
  };
}

/** An object that was written out under another field than its type says is a slip of the pen. Throws an `Error`. */
function checkTypeNames(value: CelResult, path?: readonly string[]): void {
  const faults = typeNameFaults(value, path);
  if (faults.length > 0) throw new Error(`type mismatch: ${faults.join('\n')}`);
}

/** Throws an `Error` for what no JSON can say. */
function writtenOut(value: CelResult): unknown {
  const json = jsonOf(value);
  if (json instanceof CelError) {
    throw new Error(`JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${json.message}`);
  }
  return json.json;
}

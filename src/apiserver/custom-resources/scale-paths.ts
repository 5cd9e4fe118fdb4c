/**
 * Where a custom object keeps its replicas: the three paths of `subresources.scale`, plain field names joined by dots. Reading is strict as
 * upstream's: a number that is none is an error, not a zero.
 */
import type { CustomResourceSubresourceScale } from '../../api/gen/apiextensions-v1.ts';
import { type FieldError, invalid, path } from '../../apimachinery/field-error.ts';
import { goType, goValue } from '../../apimachinery/go-text.ts';
import { setOwn } from '../../apimachinery/json-text.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';

type Fields = Record<string, unknown>;

const largestReplicas = 2 ** 31 - 1;

/** Of spec and status. */
export function validateScaleFields(scale: CustomResourceSubresourceScale, object: KubeObject): FieldError[] {
  return [...validateReplicas(scale.specReplicasPath, object), ...validateScaleStatus(scale, object)];
}

export function validateScaleStatus(scale: CustomResourceSubresourceScale, object: KubeObject): FieldError[] {
  const errors = validateReplicas(scale.statusReplicasPath, object);
  const { labelSelectorPath } = scale;
  if (!labelSelectorPath) return errors;
  try {
    textAt(object, labelSelectorPath);
  } catch (error) {
    errors.push(invalid(path(labelSelectorPath), '', (error as Error).message));
  }
  return errors;
}

function validateReplicas(replicasPath: string, object: KubeObject): FieldError[] {
  const at = path(replicasPath);
  try {
    const replicas = integerAt(object, replicasPath) ?? 0;
    if (replicas < 0) return [invalid(at, replicas, 'should be a non-negative integer')];
    if (replicas <= largestReplicas) return [];
    return [invalid(at, replicas, `should be less than or equal to ${largestReplicas}`)];
  } catch (error) {
    return [invalid(at, 0, (error as Error).message)];
  }
}

/** Undefined when there is nothing. Throws an `Error` in upstream's words for what is no integer. */
export function integerAt(object: KubeObject, jsonPath: string): number | undefined {
  const value = valueAt(object, jsonPath);
  if (typeof value === 'bigint') return Number(value);
  if (value === undefined || Number.isInteger(value)) return value as number | undefined;
  throw accessorError(jsonPath, value, 'int64');
}

export function textAt(object: KubeObject, jsonPath: string): string | undefined {
  const value = valueAt(object, jsonPath);
  if (value === undefined || typeof value === 'string') return value;
  throw accessorError(jsonPath, value, 'string');
}

/** Makes the objects on the way. Throws an `Error` when something else stands there. */
export function setAt(object: Fields, jsonPath: string, value: unknown): void {
  const steps = stepsOf(jsonPath);
  let parent = object;
  for (const step of steps.slice(0, -1)) {
    const next = Object.hasOwn(parent, step) ? parent[step] : undefined;
    if (next === undefined) setOwn(parent, step, {});
    else if (!isMap(next)) {
      throw new Error(`value cannot be set because ${jsonPath} is not a map[string]interface{}`);
    }
    parent = parent[step] as Fields;
  }
  setOwn(parent, steps.at(-1)!, value);
}

export function stepsOf(jsonPath: string): string[] {
  return jsonPath.replace(/^\./, '').split('.');
}

function valueAt(object: KubeObject, jsonPath: string): unknown {
  let value: unknown = object;
  for (const step of stepsOf(jsonPath)) {
    if (value === undefined || value === null) return undefined;
    if (!isMap(value)) throw accessorError(jsonPath, value, 'map[string]interface{}');
    value = Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `.spec.replicas accessor error: a is of the type string, expected int64`. */
function accessorError(jsonPath: string, value: unknown, expected: string): Error {
  const shown = `.${stepsOf(jsonPath).join('.')}`;
  return new Error(`${shown} accessor error: ${goValue(value)} is of the type ${goType(value)}, expected ${expected}`);
}

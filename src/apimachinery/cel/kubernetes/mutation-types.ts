/**
 * What expressions of a MutatingAdmissionPolicy write out: `JSONPatch{op: "add", path: "/spec/x", value: 1}`, and apply
 * configurations such as `Object{spec: Object.spec{replicas: 3}}`, whose type names repeat the path that they stand at.
 */
import {
  CelList,
  CelMap,
  type CelResult,
  type CelType,
  dynType,
  type EnvironmentOptions,
  isCelError,
  objectType,
  stringType,
} from '../index.ts';
import { jsonPatchKeys } from '../library/json-patch.ts';

const patchFields: ReadonlyMap<string, { readonly type: CelType }> = new Map([
  ['op', { type: stringType }],
  ['path', { type: stringType }],
  ['from', { type: stringType }],
  ['value', { type: dynType }],
]);

export const jsonPatchType: CelType = objectType('JSONPatch', { field: (name) => patchFields.get(name) });

const rootName = 'Object';

/** Any part of an object: its fields are whatever is written. */
function applyType(name: string): CelType | undefined {
  if (name !== rootName && !name.startsWith(`${rootName}.`)) return undefined;
  return objectType(name, { field: () => ({ type: dynType }) });
}

export const applyConfigurationType: CelType = applyType(rootName)!;

/** To extend an environment with: `baseEnvironment('stored').extend(mutationOptions)`. */
export const mutationOptions: EnvironmentOptions = {
  libraries: [jsonPatchKeys],
  objectType: (name) => (name === jsonPatchType.name ? jsonPatchType : applyType(name)),
};

/** What is wrong with the names of types in an apply configuration: each must be the path to it. */
export function typeNameFaults(value: CelResult, path: readonly string[] = [rootName]): string[] {
  if (isCelError(value)) return [];
  if (value instanceof CelList) {
    return Array.from({ length: value.size }, (_, index) => typeNameFaults(value.at(index), path)).flat();
  }
  if (!(value instanceof CelMap)) return [];
  const isObject = applyType(value.type.name) !== undefined;
  const expected = path.join('.');
  const faults: string[] = [];
  if (isObject && value.type.name !== expected) {
    faults.push(
      `unexpected type name "${value.type.name}", expected "${expected}", which matches field name path from root Object type`,
    );
  }
  for (const key of value.keys()) {
    const entry = value.get(key);
    if (entry !== undefined) faults.push(...typeNameFaults(entry, isObject ? [...path, String(key)] : path));
  }
  return faults;
}

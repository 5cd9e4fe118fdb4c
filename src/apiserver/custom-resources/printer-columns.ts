/** `additionalPrinterColumns`: what `kubectl get` shows of a custom resource. A column whose path finds nothing is empty. */

import { ageColumn, nameColumn } from '../../api/columns.ts';
import type { CustomResourceColumnDefinition } from '../../api/gen/apiextensions-v1.ts';
import { age } from '../../api/human-duration.ts';
import type { Column } from '../../api/kind.ts';
import { JsonPath, JsonPathError, jsonPathText } from '../../apimachinery/json-path.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { parseTime } from '../../apimachinery/time.ts';

const ageDefinition: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  description: ageColumn.description,
  jsonPath: '.metadata.creationTimestamp',
};

/** The name, and the age where the definition has no columns. A path that cannot be read ends the columns, as upstream. */
export function printerColumns(definitions: readonly CustomResourceColumnDefinition[] = []): Column<KubeObject>[] {
  const columns: Column<KubeObject>[] = [nameColumn];
  for (const definition of definitions.length > 0 ? definitions : [ageDefinition]) {
    const found = parsed(definition.jsonPath);
    if (!found) break;
    const { name, type, format, priority, jsonPath } = definition;
    columns.push({
      name,
      type: type as Column<KubeObject>['type'],
      ...(format ? { format } : {}),
      description: definition.description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
      ...(priority ? { priority } : {}),
      cell: (object, nowMs) => cellOf(type, found, object, nowMs),
    });
  }
  return columns;
}

function parsed(jsonPath: string): JsonPath | undefined {
  try {
    return new JsonPath(jsonPath);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function cellOf(type: string, jsonPath: JsonPath, object: KubeObject, nowMs: number): unknown {
  const value = firstFound(jsonPath, object);
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      if (typeof value === 'bigint') return value;
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'string':
      return jsonPathText(value);
    case 'date':
      return typeof value === 'string' ? shownAge(value, nowMs) : null;
    default:
      return null;
  }
}

/** Undefined where the path finds nothing or does not fit the object. */
function firstFound(jsonPath: JsonPath, object: KubeObject): unknown {
  try {
    return jsonPath.find(object)[0];
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function shownAge(time: string, nowMs: number): string {
  return parseTime(time) === undefined ? '<invalid>' : age(time, nowMs);
}

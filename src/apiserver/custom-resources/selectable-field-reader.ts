/** `selectableFields`: the values that field selectors compare. Their paths are plain fields that lead to a scalar. */
import type { SelectableField } from '../../api/gen/apiextensions-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { stepsOf } from './scale-paths.ts';

export function selectableFieldReader(
  fields: readonly SelectableField[],
): (object: KubeObject) => Readonly<Record<string, string>> {
  const readers = fields.map(({ jsonPath }) => ({ name: jsonPath.replace(/^\./, ''), steps: stepsOf(jsonPath) }));
  return (object) =>
    Object.fromEntries(
      readers.map(({ name, steps }) => {
        let value: unknown = object;
        for (const step of steps) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[step];
        return [name, value === undefined || value === null ? '' : String(value)];
      }),
    );
}

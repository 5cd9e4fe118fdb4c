/**
 * What field selectors of each kind may ask for. The facts' table names the fields and where their values stand; a kind whose value
 * is no plain path gives it in `KindBehaviour.selectableFields`. Selectors are written in the served version's names and compared
 * in the hub's.
 */

import type { KindBehaviour } from '../../api/kind.ts';
import { FieldMatcher } from '../../apimachinery/fields.ts';
import { quote } from '../../apimachinery/go-text.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { SelectorRow } from '../../apimachinery/schema.ts';
import { badRequest } from '../../apimachinery/status.ts';
import type { ServedResource, StoredKind } from '../served-resource.ts';

const metadataFields: readonly string[] = ['metadata.name', 'metadata.namespace'];

/** Compiles the table's rows to a function that gives all selectable values of an object of the hub version. */
export function fieldReader(
  row: SelectorRow | undefined,
  namespaced: boolean,
  behaviour: KindBehaviour,
): (object: KubeObject) => Readonly<Record<string, string>> {
  const values = (row?.values as Record<string, string> | undefined) ?? {};
  const readers = Object.entries(values)
    .filter(([label]) => !metadataFields.includes(label))
    .map(([label, source]) => [label, readerOf(source)] as const);
  return (object) => {
    const fields: Record<string, string> = { 'metadata.name': object.metadata.name ?? '' };
    if (namespaced) fields['metadata.namespace'] = object.metadata.namespace ?? '';
    for (const [label, read] of readers) fields[label] = read(object);
    return behaviour.selectableFields ? Object.assign(fields, behaviour.selectableFields(object)) : fields;
  };
}

/** The selector in the hub's names. Throws 400 for a field that the served version does not offer. */
export function hubSelector(resource: ServedResource, selector: FieldMatcher): FieldMatcher {
  if (selector.empty) return selector;
  const row = resource.selectors;
  const { version } = resource.row;
  const accepted = (row?.accept as Record<string, string[]> | undefined)?.[version] ?? metadataFields;
  const aliases = (row?.alias as Record<string, Record<string, string>> | undefined)?.[version] ?? {};
  return new FieldMatcher(
    selector.requirements.map((requirement) => {
      const { field } = requirement;
      if (!accepted.includes(field) && !Object.hasOwn(aliases, field)) throw badRequest(refusal(resource, field));
      return { ...requirement, field: aliases[field] ?? field };
    }),
  );
}

/** The one field by which watchers of this kind are looked up; undefined for most. */
export function triggerField(kind: StoredKind): string | undefined {
  return (kind.selectors?.trigger as string[] | undefined)?.[0];
}

function refusal({ row, selectors, apiVersion }: ServedResource, field: string): string {
  const text = selectors?.error as string | undefined;
  if (!text) return `${quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
  return text
    .replace('{label}', field)
    .replace('{group}/{version}', apiVersion)
    .replace('{group}', row.group)
    .replace('{version}', row.version);
}

/** The sources in the table have few forms: a path, a path read as a boolean or as a number, the first of two paths. */
function readerOf(source: string): (object: KubeObject) => string {
  const paths = (source.match(/\.[A-Za-z]+(?:\[0\])?(?:\.[A-Za-z]+)*/g) ?? []).map(stepsOf);
  const first = paths[0] ?? [];
  if (source.startsWith('"true"|"false"')) return (object) => (lookUp(object, first) === true ? 'true' : 'false');
  if (source.startsWith('decimal(')) return (object) => String(lookUp(object, first) ?? 0);
  const candidates = source.startsWith('orEmpty(') ? paths : [first];
  return (object) => {
    for (const path of candidates) {
      const value = lookUp(object, path);
      if (value !== undefined && value !== null && value !== '') return String(value);
    }
    return '';
  };
}

/** `.status.podIPs[0].ip` is `status`, `podIPs`, `0`, `ip`. */
function stepsOf(path: string): string[] {
  return path.slice(1).replaceAll('[0]', '.0').split('.');
}

function lookUp(object: unknown, steps: readonly string[]): unknown {
  let value = object;
  for (const step of steps) value = (value as Record<string, unknown> | undefined | null)?.[step];
  return value;
}

/** Histories, differences and Tables as text. */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { columns, size } from '../tables.ts';
import { type FieldChange, fieldChanges, managerText, ownersOf, writerOf, writersOf } from './field-changes.ts';
import type { ObjectHistory, PastObject, StoreHistory } from './past.ts';

const shownFields = 8;
const shownCharacters = 60;

/** A line for each change, and one below it for each field. */
export function historyText({ items, earlierForgotten, skipped }: ObjectHistory, { allFields = false } = {}): string {
  const missing = skipped > 0 ? `${skipped} older changes are left out: --limit shows more.` : '';
  const forgotten = earlierForgotten ? 'Changes before these are no longer remembered.' : '';
  const withUsers = items.some(({ users }) => users !== undefined);
  const heads = columns([
    ['REVISION', 'TIME', ...(withUsers ? ['USER'] : []), 'BY', 'CHANGE'],
    ...items.map((item, index) => {
      const { writers, fields } = changeOf(items[index - 1], item);
      const by = item.type === 'DELETED' ? '-' : writers.map(managerText).join(', ') || '-';
      const users = withUsers ? [item.users?.join(' or ') || '-'] : [];
      return [item.revision, timeOf(item), ...users, by, whatHappened(item, fields)];
    }),
  ]).split('\n');
  const lines = items.flatMap((item, index) => {
    const { fields } = changeOf(items[index - 1], item);
    const shown = allFields ? fields : fields.slice(0, shownFields);
    const more = fields.length - shown.length;
    return [
      heads[index + 1]!,
      ...shown.map((field) => `    ${changeText(field)}`),
      ...(more > 0 ? [`    and ${more} more: --all-fields shows them`] : []),
    ];
  });
  return [heads[0], ...lines, forgotten, missing].filter(Boolean).join('\n');
}

export function diffText(
  before: KubeObject | undefined,
  after: KubeObject | undefined,
  heads: readonly [string, string],
): string {
  const head = [`--- ${heads[0]}`, `+++ ${heads[1]}`];
  if (!before || !after) {
    const text = before ? 'It was deleted.' : after ? 'It was created.' : 'It did not exist at either.';
    return [...head, text].join('\n');
  }
  const fields = fieldChanges(before, after);
  if (fields.length === 0) return [...head, 'No field differs.'].join('\n');
  const writers = writersOf(before, after);
  const lines = fields.map((field) => {
    const writer = writerOf(writers, field);
    return `  ${changeText(field)}${writer ? `  # ${managerText(writer)} ${writer.time ?? ''}` : ''}`;
  });
  return [...head, ...lines].join('\n');
}

export function keptText({ revision, oldestRevision, oldestTime, changes, bytes, storeBytes }: StoreHistory): string {
  const since = oldestTime === undefined ? '' : ` (${oldestTime})`;
  const cost =
    changes === undefined ? '' : `, ${changes.toLocaleString('en-US')} changes that take ${size(bytes ?? 0)}`;
  return `From revision ${oldestRevision}${since} to ${revision}${cost}; the whole store takes ${size(storeBytes)}.`;
}

interface ServerTable {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  /** Null where there is none. */
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object?: KubeObject }[] | null;
}

/** As `kubectl get` prints it; `withNamespace`: a column for it. */
export function tableText(table: unknown, { withNamespace }: { readonly withNamespace: boolean }): string {
  const { columnDefinitions, rows } = table as ServerTable;
  if (!rows || rows.length === 0) return 'No resources found.';
  const shown = columnDefinitions.flatMap(({ priority }, index) => (priority === 0 ? [index] : []));
  const head = shown.map((index) => columnDefinitions[index]!.name.toUpperCase());
  return columns([
    withNamespace ? ['NAMESPACE', ...head] : head,
    ...rows.map(({ cells, object }) => {
      const texts = shown.map((index) => String(cells[index] ?? '<none>'));
      return withNamespace ? [object?.metadata.namespace ?? '', ...texts] : texts;
    }),
  ]);
}

function changeOf(before: PastObject | undefined, { type, object }: PastObject) {
  const known = before && before.type !== 'DELETED' ? before.object : undefined;
  const fields = type === 'MODIFIED' && known ? fieldChanges(known, object) : [];
  const writers = writersOf(known, object);
  return { writers: writers.length > 0 ? writers : ownersOf(object, fields), fields };
}

function whatHappened({ type }: PastObject, fields: readonly FieldChange[]): string {
  if (type === 'ADDED') return 'created';
  if (type === 'DELETED') return 'deleted';
  return fields.length === 1 ? '1 field' : `${fields.length} fields`;
}

function timeOf({ time, object }: PastObject): string {
  if (time !== undefined) return time.replace(/\.\d+Z$/, 'Z');
  // The store does not know; what the writers said is to the second too.
  const times = (object.metadata.managedFields ?? []).map((entry) => entry.time ?? '');
  return times.sort().at(-1) || '-';
}

function changeText({ path, before, after }: FieldChange): string {
  if (before === undefined) return `${path}: ${valueText(after)} added`;
  if (after === undefined) return `${path}: ${valueText(before)} removed`;
  return `${path}: ${valueText(before)} -> ${valueText(after)}`;
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters - 1)}…` : text;
}

/** What a list or a watch is about: a part of a resource, by place and by selectors. */
import type { FieldMatcher } from '../../apimachinery/fields.ts';
import type { LabelMatcher } from '../../apimachinery/labels.ts';
import type { CacheEntry } from './cache-entry.ts';

/** Which objects are meant. Field names are the hub version's. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly labels: LabelMatcher;
  readonly fields: FieldMatcher;
}

/** Labels and fields; namespace and name are the index's matter. */
export function matchesSelectors({ labels, fields }: Selection, entry: CacheEntry): boolean {
  if (!labels.empty && !labels.matches(entry.labels)) return false;
  return fields.empty || fields.matches(entry.fields);
}

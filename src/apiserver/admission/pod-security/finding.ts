/** What a check of the Pod Security Standards found, and the small pieces of upstream's sentences. */

export interface Finding {
  readonly reason: string;
  readonly detail: string;
}

/** `"a", "b"` */
export function quoted(items: readonly string[]): string {
  return items.map((item) => `"${item}"`).join(', ');
}

/** `container "a"`, `containers "a", "b"` */
export function containersText(names: readonly string[]): string {
  return `${names.length === 1 ? 'container' : 'containers'} ${quoted(names)}`;
}

export function andJoin(parts: readonly string[]): string {
  return parts.join(' and ');
}

export function sortedSet(items: readonly string[]): readonly string[] {
  return [...new Set(items)].sort();
}

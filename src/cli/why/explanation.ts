/**
 * What `coracle why` tells: an object, its state in a few words, and what holds it up; where that is another object, that object's
 * explanation in turn. Data first: the text is made from it.
 */

export interface Subject {
  /** `pod`, `persistentvolumeclaim`: in the singular, as users type it. */
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface Reason {
  /** A sentence. */
  readonly text: string;
  /** Where it was read: a condition, an event, a component's own account. */
  readonly source: string;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Objects that it is about: explained too. */
  readonly because?: readonly Subject[] | undefined;
}

export interface Finding {
  /** `is Pending`, `is well`. */
  readonly state: string;
  /** Nothing is held up. */
  readonly well: boolean;
  readonly reasons: readonly Reason[];
}

export interface Explanation extends Finding {
  readonly subject: Subject;
  readonly because: readonly Explanation[];
}

export function subjectText({ kind, namespace, name }: Subject): string {
  return `${kind}/${name}${namespace ? ` in ${namespace}` : ''}`;
}

/**
 *     pod/web-0 in default is Pending
 *       - the scheduler: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found (for 2m)
 *       persistentvolumeclaim/data-web-0 in default is Pending
 *         - no StorageClass is called "fast"
 */
export function explanationText(explanation: Explanation, nowMs: number): string {
  return linesOf(explanation, nowMs, '').join('\n');
}

function linesOf({ subject, state, reasons, because }: Explanation, nowMs: number, indent: string): string[] {
  return [
    `${indent}${subjectText(subject)} ${state}`,
    ...reasons.map((reason) => `${indent}  - ${reasonText(reason, nowMs)}`),
    ...because.flatMap((further) => linesOf(further, nowMs, `${indent}  `)),
  ];
}

function reasonText({ text, source, since, until }: Reason, nowMs: number): string {
  const times = [
    since ? `for ${passed(nowMs - Date.parse(since))}` : undefined,
    until && Date.parse(until) > nowMs ? `until in ${passed(Date.parse(until) - nowMs)}` : undefined,
  ].filter((part) => part !== undefined);
  return `${text} [${[source, ...times].join(', ')}]`;
}

function passed(spanMs: number): string {
  const seconds = Math.max(0, Math.round(spanMs / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return `${Math.floor(seconds / 3600)}h`;
}

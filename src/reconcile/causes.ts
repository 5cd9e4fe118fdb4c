/**
 * Why something is not happening, as data: each reporter (a controller, the scheduler) keeps here what holds an object up, for as long as
 * it does. Conditions and Events of the API tell users the same where upstream has them; what upstream keeps to itself (a rate, a
 * backoff, a Pod that must be Ready first) stands only here. `coracle why` reads both.
 *
 *     causes.replace('statefulset-controller', { kind: 'StatefulSet', namespace: 'd', name: 'web' }, [
 *       { reason: 'WaitingForPod', message: 'Pod web-0 must be Ready first', waitsFor: [{ kind: 'Pod', namespace: 'd', name: 'web-0' }] },
 *     ]);
 *     causes.replace('statefulset-controller', { kind: 'StatefulSet', namespace: 'd', name: 'web' }, []);  // nothing any more
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { formatTime } from '../apimachinery/time.ts';
import type { Clock } from '../base/clock.ts';

export interface CauseSubject {
  /** Of the API; absent for the core group. */
  readonly group?: string | undefined;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface CauseNote {
  /** In CamelCase, for programs. */
  readonly reason: string;
  /** A sentence, for people. */
  readonly message: string;
  /** When it is looked at again, or ends by itself. */
  readonly untilMs?: number | undefined;
  /** What must change first. */
  readonly waitsFor?: readonly CauseSubject[] | undefined;
}

export interface Cause {
  readonly about: CauseSubject;
  /** Who says so. */
  readonly by: string;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since: string;
  readonly until?: string | undefined;
  readonly waitsFor?: readonly CauseSubject[] | undefined;
}

export interface CauseList {
  readonly kind: 'CauseList';
  readonly items: readonly Cause[];
}

/** Where servers of components show their ledger. */
export const causesPath = '/debug/causes';

/** Beyond this many the oldest are forgotten: the ledger explains, and must not become what needs explaining. */
const mostSubjects = 20_000;

export class CauseLedger {
  readonly #clock: Clock;
  /** By reporter and object. */
  readonly #causes = new Map<string, readonly Cause[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What the reporter has to say about the object from now on, in place of what it said before. */
  replace(by: string, about: CauseSubject, notes: readonly CauseNote[]): void {
    const key = `${by} ${about.group ?? ''}/${about.kind} ${about.namespace ?? ''}/${about.name}`;
    const before = this.#causes.get(key);
    if (notes.length === 0) {
      if (before) this.#causes.delete(key);
      return;
    }
    const now = formatTime(this.#clock.now());
    const causes = notes.map(({ untilMs, ...note }): Cause => {
      const since = before?.find(({ reason }) => reason === note.reason)?.since ?? now;
      return { about, by, ...note, since, ...(untilMs === undefined ? {} : { until: formatTime(untilMs) }) };
    });
    this.#causes.set(key, causes);
    const [oldest] = this.#causes.keys();
    if (this.#causes.size > mostSubjects && oldest !== undefined) this.#causes.delete(oldest);
  }

  all(): readonly Cause[] {
    return [...this.#causes.values()].flat();
  }

  /** As pages show it. */
  toList(): CauseList {
    return { kind: 'CauseList', items: this.all() };
  }
}

/** What is named so in a key, `namespace/name` or `name`. */
export function subjectOfKey(type: { readonly group: string; readonly kind: string }, key: string): CauseSubject {
  const slash = key.indexOf('/');
  const namespace = slash < 0 ? undefined : key.slice(0, slash);
  return subjectOf(type, { metadata: { namespace, name: key.slice(slash + 1) } });
}

/** A subject for an object of this type. */
export function subjectOf(
  type: { readonly group: string; readonly kind: string },
  { metadata: { namespace, name = '' } }: KubeObject,
): CauseSubject {
  return { ...(type.group ? { group: type.group } : {}), kind: type.kind, ...(namespace ? { namespace } : {}), name };
}

/**
 * Parts of an object that an update leaves as they stand: spec, while labels or a status change. The new object has the stored object's own,
 * frozen, in place of a copy, and whoever compares the two, freezes, validates, shares or encodes passes over what is the very same. A patch does not
 * touch such parts; a client that sends the whole object sends their very bytes (`watch-cache/member-bytes.ts`), or, in this process, the very values.
 *
 * The code of kinds changes objects in place. Where it would change a standing part the engine refuses (modules are strict), and the step
 * is run again on a copy: so a step handed to `inPlace` must give the same when it is run a second time on what it left behind, as
 * defaults and the strategies of kinds do.
 */
import type { KindBehaviour } from '../../api/kind.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';

type Fields = Record<string, unknown>;

/** Puts a copy in the place of every standing part, for whoever may change it. */
export function copyStandingParts(object: Draft<KubeObject>): void {
  const fields = object as Fields;
  for (const name in fields) if (isStanding(fields[name])) fields[name] = draft(fields[name]);
}

/** Those members of `standing`, metadata apart, that `value` has as they are: nobody can have changed them. Undefined for none. */
export function untouchedParts(value: object, standing: KubeObject): Fields | undefined {
  let parts: Fields | undefined;
  for (const name of Object.keys(standing)) {
    const part = (standing as unknown as Fields)[name];
    if (name === 'metadata' || part !== (value as Fields)[name] || !isStanding(part)) continue;
    parts ??= {};
    parts[name] = part;
  }
  return parts;
}

/** The same names without values, to be laid over who has them. */
export function withoutValues(parts: Fields): Fields {
  return Object.fromEntries(Object.keys(parts).map((name) => [name, undefined]));
}

/** Runs what changes an object in place, on a copy of its parts where it must. */
export function inPlace(object: Draft<KubeObject>, step: () => void): void {
  if (!hasStandingParts(object)) return step();
  const before = { ...object };
  try {
    step();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    restore(object, before);
    copyStandingParts(object);
    step();
  }
}

/**
 * Fills in what is unset. `complete` remembers standing parts in which nothing was, for kinds whose defaults take each member by itself: what
 * an update leaves alone is not looked through again.
 */
export function fillDefaults(
  object: Draft<KubeObject>,
  { behaviour, complete }: { readonly behaviour: KindBehaviour; readonly complete?: WeakSet<object> | undefined },
): void {
  const { defaults, defaultsByMember } = behaviour;
  if (!defaults) return;
  const fields = object as Fields;
  const names = Object.keys(object).filter((name) => name !== 'metadata' && typeof fields[name] === 'object');
  if (defaultsByMember && complete && fields.spec && names.every((name) => complete.has(fields[name] as object)))
    return;
  const before = { ...fields };
  inPlace(object, () => defaults(object));
  if (!defaultsByMember || !complete) return;
  for (const name of names)
    if (isStanding(before[name]) && fields[name] === before[name]) complete.add(before[name] as object);
}

/** The parts it had: the step may have moved some into others. */
function restore(object: Draft<KubeObject>, before: Draft<KubeObject>): void {
  const fields = object as Fields;
  for (const name of Object.keys(fields)) if (!Object.hasOwn(before, name)) delete fields[name];
  Object.assign(fields, before);
}

function hasStandingParts(object: Draft<KubeObject>): boolean {
  return Object.values(object).some(isStanding);
}

function isStanding(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.isFrozen(value);
}

/**
 * Joins the OpenAPI 2.0 documents of several servers into one. Of each other server's document only the paths of its group version count, and
 * what they refer to. A definition that is the same in both stands once; of two with one name the newcomer gets another name:
 *
 *     own: definitions { Meta: A }     other: paths use Meta: B     joined: definitions { Meta: A, Meta_v2: B }
 */
import type { Json } from './schemas.ts';

export interface RemoteOpenApi {
  /** Documents of version 2, each cut down to its group version by `ownPart`; those of higher priority first. */
  readonly v2: readonly Json[];
  /** By name of the document, e.g. `apis/metrics.k8s.io/v1`: where its server says that its version 3 is. */
  readonly v3: Readonly<Record<string, string>>;
}

const sections = ['definitions', 'parameters', 'responses'] as const;
type Section = (typeof sections)[number];

/** Deeper than any schema; a stranger's document must not exhaust the stack. */
const deepest = 500;

/** What of a document stands below a path prefix, with what that refers to. Throws for what is no such document. */
export function ownPart(document: unknown, prefix: string): Json {
  const whole = objectOf(document);
  const paths = Object.fromEntries(Object.entries(objectOf(whole.paths)).filter(([path]) => path.startsWith(prefix)));
  const used = new Map<Section, Map<string, unknown>>(sections.map((section) => [section, new Map()]));
  const open: unknown[] = [paths];
  while (open.length > 0) {
    eachReference(open.pop(), ({ section, name }) => {
      const known = used.get(section)!;
      const found = objectOf(whole[section] ?? {})[name];
      if (known.has(name) || found === undefined) return;
      known.set(name, found);
      open.push(found);
    });
  }
  return {
    paths,
    ...Object.fromEntries([...used].map(([section, entries]) => [section, Object.fromEntries(entries)])),
  };
}

/** `own` with the others' paths and definitions; a path that is there stays as it is. */
export function joinedDocuments(own: Json, others: readonly Json[]): Json {
  const paths = { ...objectOf(own.paths) };
  const named = new Map<Section, Map<string, unknown>>(
    sections.map((section) => [section, new Map(Object.entries(objectOf(own[section] ?? {})))]),
  );
  for (const other of others) {
    const names = freeNames(other, named);
    const rename = (reference: Reference) => names.get(`${reference.section}/${reference.name}`) ?? reference.name;
    for (const section of sections) {
      for (const [name, value] of Object.entries(objectOf(other[section] ?? {}))) {
        named.get(section)!.set(rename({ section, name }), withNames(value, rename));
      }
    }
    for (const [path, item] of Object.entries(objectOf(other.paths))) paths[path] ??= withNames(item, rename);
  }
  const joined = [...named].filter(([section, entries]) => own[section] !== undefined || entries.size > 0);
  return { ...own, paths, ...Object.fromEntries(joined.map(([section, entries]) => [section, sorted(entries)])) };
}

/** New names for what has the name of something else. */
function freeNames(other: Json, named: ReadonlyMap<Section, ReadonlyMap<string, unknown>>): Map<string, string> {
  const names = new Map<string, string>();
  for (const section of sections) {
    const taken = named.get(section)!;
    const its = objectOf(other[section] ?? {});
    for (const [name, value] of Object.entries(its)) {
      let free = name;
      for (let i = 2; taken.has(free) && !isSame(taken.get(free), value); i++) free = `${name}_v${i}`;
      if (free !== name) names.set(`${section}/${name}`, free);
    }
  }
  return names;
}

interface Reference {
  readonly section: Section;
  readonly name: string;
}

function referenceOf(text: unknown): Reference | undefined {
  const [, section = '', name = ''] = /^#\/(definitions|parameters|responses)\/(.+)$/.exec(String(text)) ?? [];
  return name === '' ? undefined : { section: section as Section, name };
}

function eachReference(value: unknown, tell: (reference: Reference) => void, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > deepest) throw new TypeError('an OpenAPI document is nested too deeply');
  for (const [key, child] of Object.entries(value)) {
    const reference = key === '$ref' ? referenceOf(child) : undefined;
    if (reference) tell(reference);
    else eachReference(child, tell, depth + 1);
  }
}

function withNames(value: unknown, rename: (reference: Reference) => string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((child) => withNames(child, rename));
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => {
      const reference = key === '$ref' ? referenceOf(child) : undefined;
      return [key, reference ? `#/${reference.section}/${rename(reference)}` : withNames(child, rename)];
    }),
  );
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function sorted(entries: ReadonlyMap<string, unknown>): Json {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function objectOf(value: unknown): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('an OpenAPI document has not the form of one');
  }
  return value as Json;
}

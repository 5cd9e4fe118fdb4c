/**
 * `coracle why KIND/NAME`: follows what holds an object up from object to object, and tells the chain. What is true of any object
 * (finalizers, warnings, what components say themselves) is added here to what the kind's explainer knows.
 */
import { builtinResources } from '../../api/schema.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import type { Client } from '../../client/client.ts';
import { explainAny, explainers, finalizersOf } from './explainers.ts';
import type { Explanation, Finding, Reason, Subject } from './explanation.ts';
import { Facts } from './facts.ts';

/** Longer chains would tell the reader nothing more. */
const deepest = 4;

export interface WhyOptions {
  readonly nowMs: number;
  /** Of namespaced objects; default `default`. */
  readonly namespace?: string | undefined;
}

/** What `KIND/NAME` or `KIND NAME` means; throws for a kind that is not known. */
export function subjectFrom(
  words: readonly string[],
  { namespace = 'default' }: Pick<WhyOptions, 'namespace'>,
): Subject {
  const [kind = '', name = ''] = words.length === 1 ? (words[0] ?? '').split('/', 2) : words;
  if (kind === '' || name === '') throw new Error('name an object as KIND/NAME, e.g. pod/web-0');
  const type = typeOf(kind);
  return { kind: type.kind.toLowerCase(), name, ...(type.namespaced ? { namespace } : {}) };
}

/** By kind, plural, singular or short name, whatever its case; the first in the order of discovery. */
function typeOf(word: string): ResourceType<KubeObject> {
  const wanted = word.toLowerCase();
  const row = builtinResources().find(
    ({ kind, resource, singular, shortNames, external }) =>
      [kind.toLowerCase(), resource, singular, ...shortNames].includes(wanted) && !external,
  );
  if (!row) throw new Error(`the server doesn't have a resource type "${word}"`);
  const { group, version, resource, kind, singular, namespaced, shortNames, categories, verbs } = row;
  return { group, version, resource, kind, singular, namespaced, shortNames, categories, verbs, subresources: [] };
}

/** Throws when the object itself does not exist. */
export async function explain(client: Client, subject: Subject, options: WhyOptions): Promise<Explanation> {
  const explained = await follow(subject, { facts: new Facts(client, options.nowMs), seen: new Set(), depth: 0 });
  if (explained) return explained;
  throw new Error(`${subject.kind} "${subject.name}" not found`);
}

interface Walk {
  readonly facts: Facts;
  /** Nothing is told twice, and no circle without end. */
  readonly seen: Set<string>;
  readonly depth: number;
}

async function follow(subject: Subject, { facts, seen, depth }: Walk): Promise<Explanation | undefined> {
  const { kind, namespace, name } = subject;
  seen.add(keyOf(subject));
  const type = typeOf(kind);
  const object = await facts.get(type, { namespace, name });
  if (!object) return undefined;
  const finding = await (explainers[kind] ?? explainAny)(object as never, facts);
  const reasons = await completed(finding, { object, type, facts });
  const because: Explanation[] = [];
  for (const next of depth < deepest ? reasons.flatMap((reason) => reason.because ?? []) : []) {
    if (seen.has(keyOf(next))) continue;
    const further = await follow(next, { facts, seen, depth: depth + 1 });
    if (further) because.push(further);
  }
  const well = finding.well && reasons.length === 0;
  return { subject, state: finding.state, well, reasons, because };
}

async function completed(
  finding: Finding,
  {
    object,
    type,
    facts,
  }: { readonly object: KubeObject; readonly type: ResourceType<KubeObject>; readonly facts: Facts },
): Promise<readonly Reason[]> {
  const { namespace, name = '' } = object.metadata;
  const own = await facts.causes(type.kind, { namespace, name });
  // Warnings of the past say nothing about what is well now.
  const warnings = finding.well ? [] : await facts.warnings(object);
  const finalizers = object.metadata.deletionTimestamp ? finalizersOf(object) : [];
  const all = [...finding.reasons, ...finalizers, ...own, ...warnings];
  return all.filter((reason, index) => all.findIndex(({ text }) => text === reason.text) === index);
}

function keyOf({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace ?? ''}/${name}`;
}

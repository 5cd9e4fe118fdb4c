/**
 * `coracle why KIND/NAME`: follows what holds an object up from object to object, and tells the chain. What is true of any object
 * (finalizers, warnings, what components say themselves) is added here to what the kind's explainer knows.
 */
import { nodes } from '../../api/gen/core-v1.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import type { Client } from '../../client/client.ts';
import type { Cause } from '../../reconcile/causes.ts';
import { explainAny, explainers, finalizersOf } from './explainers.ts';
import type { Explanation, Finding, Reason, Subject } from './explanation.ts';
import { Facts } from './facts.ts';

/** Longer chains would tell the reader nothing more. */
const deepest = 4;

export interface WhyOptions {
  readonly nowMs: number;
  /** What components said that run in processes of their own. */
  readonly causes?: readonly Cause[] | undefined;
}

/** What `KIND/NAME` or `KIND NAME` means; rejects for a kind that the server does not have. */
export async function subjectFrom(
  client: Client,
  words: readonly string[],
  { namespace = 'default' }: { readonly namespace?: string | undefined },
): Promise<Subject> {
  const [kind = '', name = ''] = words.length === 1 ? (words[0] ?? '').split('/', 2) : words;
  if (kind === '' || name === '') throw new Error('name an object as KIND/NAME, e.g. pod/web-0');
  const type = await new Facts(client, 0).type(kind);
  if (!type) throw new Error(`the server doesn't have a resource type "${kind}"`);
  return { kind: type.kind.toLowerCase(), name, ...(type.namespaced ? { namespace } : {}) };
}

/** Throws when the object itself does not exist. */
export async function explain(client: Client, subject: Subject, options: WhyOptions): Promise<Explanation> {
  const facts = new Facts(client, options.nowMs, options.causes);
  const explained = await follow(subject, { facts, seen: new Set(), depth: 0 });
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
  const type = await facts.type(kind);
  const object = type && (await facts.get(type, { namespace, name }));
  if (!type || !object) return undefined;
  const explainer = explainers[kind];
  const finding = await (explainer ?? explainAny)(object as never, facts);
  const reasons = await completed(finding, { object, type, facts });
  const because: Explanation[] = [];
  for (const next of depth < deepest ? reasons.flatMap((reason) => reason.because ?? []) : []) {
    if (seen.has(keyOf(next))) continue;
    const further = await follow(next, { facts, seen, depth: depth + 1 });
    if (further) because.push(further);
  }
  const well = finding.well && reasons.length === 0;
  // Of a kind that nobody knows, what components say is all there is.
  const state = finding.well && !well && !explainer ? 'is held up' : finding.state;
  return { subject, state, well, reasons, because };
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
  const own = await facts.causes(type.kind, { namespace, name }, await readyNodeOf(type.kind, object, facts));
  // Warnings of the past say nothing about what is well now.
  const warnings = finding.well ? [] : await facts.warnings(object);
  const finalizers = object.metadata.deletionTimestamp ? finalizersOf(object) : [];
  const all = [...finding.reasons, ...finalizers, ...own, ...warnings];
  return all.filter((reason, index) => all.findIndex(({ text }) => text === reason.text) === index);
}

/** A kubelet is asked about its node and what is on it, as long as it answers at all. */
async function readyNodeOf(kind: string, object: KubeObject, facts: Facts): Promise<string | undefined> {
  const { spec } = object as { readonly spec?: { readonly nodeName?: string } };
  const name = kind === 'Node' ? object.metadata.name : kind === 'Pod' ? spec?.nodeName : undefined;
  const node = name ? await facts.get(nodes, { name }) : undefined;
  return isConditionTrue(node?.status?.conditions, 'Ready') ? name : undefined;
}

function keyOf({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace ?? ''}/${name}`;
}

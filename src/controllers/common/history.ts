/**
 * A workload's past templates as ControllerRevisions: what DaemonSets and StatefulSets roll back to (`kubectl rollout undo`) and
 * tell old Pods from new ones by. The plan is pure; `currentRevision` carries it out.
 */
import { type ControllerRevision, controllerRevisions } from '../../api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/gen/core-v1.ts';
import { builtinCodec } from '../../api/schema.ts';
import { sortedKeys } from '../../apimachinery/go-text.ts';
import { controllerReference, isControlledBy, type KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isAlreadyExists, isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { templateHash } from './template-hash.ts';
import { equalOnWire } from './wire-equality.ts';

export const revisionHashLabel = 'controller-revision-hash';

export interface History {
  /** The revision of the present template, if it was recorded; the newest of several. */
  readonly current: ControllerRevision | undefined;
  /** All others, oldest first. */
  readonly old: readonly ControllerRevision[];
  /** The number that the present template's revision must have. */
  readonly revision: number;
}

export function planHistory(revisions: readonly ControllerRevision[], template: PodTemplateSpec): History {
  const sorted = [...revisions].sort(byRevision);
  const data = patchOf(template);
  const current = sorted.findLast((revision) => isRecorded(revision, data));
  const old = sorted.filter((revision) => revision !== current);
  const newest = old.at(-1)?.revision ?? 0;
  return { current, old, revision: newest + 1 };
}

/**
 * The patch that makes an object's template this one: the form in which `kubectl rollout undo` applies it. Upstream knows the revision of a
 * template by these very bytes, so keys are in its order, and structs are there that a client would see (`resources: {}` of a container).
 */
export function patchOf(template: PodTemplateSpec): unknown {
  const shown: object = JSON.parse(builtinCodec().encodeAs(template, 'core/v1.PodTemplateSpec'));
  return sortedKeys({ spec: { template: { ...shown, $patch: 'replace' } } });
}

/** Whether the revision recorded what `data` does, in whichever form. */
function isRecorded(revision: ControllerRevision, data: unknown): boolean {
  if (equalOnWire(revision.data, data)) return true;
  const recorded = templateOf(revision);
  return recorded !== undefined && equalOnWire(patchOf(recorded), data);
}

/** The template that a revision recorded. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec | undefined {
  const { template } =
    (data as { readonly spec?: { readonly template?: PodTemplateSpec & { $patch?: string } } })?.spec ?? {};
  if (!template) return undefined;
  const { $patch: _, ...rest } = template;
  return rest;
}

function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  return (
    a.revision - b.revision ||
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
    (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '')
  );
}

export interface RevisionOwner<O extends KubeObject> {
  readonly object: O;
  readonly type: ResourceType<O>;
  readonly template: PodTemplateSpec;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Under which the revision carries its template's hash. */
  readonly hashLabel: string;
  readonly collisionCount: number | undefined;
}

export interface CurrentRevision {
  readonly revision: ControllerRevision;
  readonly collisionCount: number;
}

/** Finds, makes or renumbers the revision of the present template. A name taken by another template raises the collision count. */
export async function currentRevision<O extends KubeObject>(
  client: Client,
  owner: RevisionOwner<O>,
  history: History,
): Promise<CurrentRevision> {
  const collisionCount = owner.collisionCount ?? 0;
  const { current, revision } = history;
  if (current) {
    if (current.revision >= revision) return { revision: current, collisionCount };
    return { revision: await client.update(controllerRevisions, { ...current, revision }), collisionCount };
  }
  for (let collisions = collisionCount; ; collisions++) {
    const wanted = describe(owner, revision, collisions);
    try {
      return { revision: await client.create(controllerRevisions, wanted), collisionCount: collisions };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const { namespace, name = '' } = wanted.metadata;
      const present = await client.get(controllerRevisions, { namespace, name });
      if (isControlledBy(present, owner.object) && isRecorded(present, wanted.data)) {
        return { revision: present, collisionCount: collisions };
      }
    }
  }
}

function describe<O extends KubeObject>(
  owner: RevisionOwner<O>,
  revision: number,
  collisions: number,
): ControllerRevision {
  const { metadata } = owner.object;
  const hash = templateHash(owner.template, collisions);
  return {
    metadata: {
      name: `${(metadata.name ?? '').slice(0, 223)}-${hash}`,
      namespace: metadata.namespace,
      labels: { ...owner.labels, [owner.hashLabel]: hash },
      annotations: metadata.annotations,
      ownerReferences: [controllerReference(owner.object, owner.type)],
    },
    data: patchOf(owner.template),
    revision,
  };
}

/** Removes revisions beyond `limit` that no Pod has any more, oldest first. */
export async function truncateHistory(
  client: Client,
  old: readonly ControllerRevision[],
  limit: number | undefined,
  inUse: (revision: ControllerRevision) => boolean,
): Promise<void> {
  const unused = old.filter((revision) => !inUse(revision));
  for (const { metadata } of unused.slice(0, Math.max(0, unused.length - (limit ?? 10)))) {
    try {
      await client.delete(controllerRevisions, { namespace: metadata.namespace, name: metadata.name ?? '' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/**
 * Who belongs to whom: a controller takes in objects that its selector matches and nobody controls, and lets go of those it
 * controls that no longer match. The decision is pure; carrying it out asks the server first whether the owner still exists as we
 * know it, for a dying owner must not take in orphans that its successor wants.
 */
import type { LabelMatcher } from '../../apimachinery/labels.ts';
import { controllerOf, controllerReference, type KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isInvalid, isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import type { Informer } from '../../reconcile/informer.ts';

export interface Claims<T> {
  /** Controlled by the owner and matching. */
  readonly owned: readonly T[];
  /** Matching and without controller. */
  readonly adopt: readonly T[];
  /** Controlled by the owner and no longer matching. */
  readonly release: readonly T[];
}

export function planClaims<T extends KubeObject>(
  owner: KubeObject,
  selector: LabelMatcher,
  candidates: readonly T[],
): Claims<T> {
  const owned: T[] = [];
  const adopt: T[] = [];
  const release: T[] = [];
  const ownerLeaves = owner.metadata.deletionTimestamp !== undefined;
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    const fits = selector.matches(candidate.metadata.labels);
    if (controller) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (fits) owned.push(candidate);
      else if (!ownerLeaves) release.push(candidate);
      continue;
    }
    const leaves = candidate.metadata.deletionTimestamp !== undefined;
    if (fits && !ownerLeaves && !leaves && candidate.metadata.namespace === owner.metadata.namespace)
      adopt.push(candidate);
  }
  return { owned, adopt, release };
}

/** Carries out the claims; returns what is the owner's afterwards. */
export async function claim<O extends KubeObject, T extends KubeObject>(
  client: Client,
  owner: { readonly object: O; readonly type: ResourceType<O> },
  owned: { readonly type: ResourceType<T>; readonly claims: Claims<T> },
): Promise<readonly T[]> {
  const { claims, type } = owned;
  const kept = [...claims.owned];
  if (claims.adopt.length > 0) await requireLive(client, owner.object, owner.type);
  for (const object of claims.adopt) {
    const body = {
      metadata: { uid: object.metadata.uid, ownerReferences: [controllerReference(owner.object, owner.type)] },
    };
    const adopted = await patchOwner(client, type, object, body);
    if (adopted) kept.push(adopted);
  }
  for (const object of claims.release) {
    const reference = { $patch: 'delete', uid: owner.object.metadata.uid };
    await patchOwner(
      client,
      type,
      object,
      { metadata: { uid: object.metadata.uid, ownerReferences: [reference] } },
      isInvalid,
    );
  }
  return kept;
}

/** Gone objects are none to adopt or release. `tolerated` failures mean that somebody else already did it. */
async function patchOwner<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  object: T,
  body: unknown,
  tolerated: (error: unknown) => boolean = () => false,
): Promise<T | undefined> {
  const { namespace, name = '' } = object.metadata;
  try {
    return await client.patch(type, { namespace, name }, { type: 'strategic', body });
  } catch (error) {
    if (isNotFound(error) || tolerated(error)) return undefined;
    throw error;
  }
}

async function requireLive<O extends KubeObject>(client: Client, owner: O, type: ResourceType<O>): Promise<void> {
  const { namespace, name = '', uid } = owner.metadata;
  const live = await client.get(type, { namespace, name });
  if (live.metadata.uid !== uid) {
    throw new Error(`original ${type.kind} ${namespace}/${name} is gone: got uid ${live.metadata.uid}, wanted ${uid}`);
  }
  if (live.metadata.deletionTimestamp !== undefined) {
    throw new Error(`${namespace}/${name} has just been deleted at ${live.metadata.deletionTimestamp}`);
  }
}

const byController = 'controllers/controller-uid';
const orphans = 'controllers/orphans';

/** Adds the indexes that `candidatesFor` reads. */
export function indexOwnership<T extends KubeObject>(informer: Informer<T>): void {
  informer.addIndex(byController, (object) => {
    const uid = controllerOf(object)?.uid;
    return uid === undefined ? [] : [uid];
  });
  informer.addIndex(orphans, (object) => (controllerOf(object) ? [] : [object.metadata.namespace ?? '']));
}

/** Objects that the owner controls, whatever their labels. */
export function controlledBy<T extends KubeObject>(informer: Informer<T>, owner: KubeObject): readonly T[] {
  return informer.byIndex(byController, owner.metadata.uid ?? '');
}

/** Objects of the namespace that nobody controls. */
function orphansIn<T extends KubeObject>(informer: Informer<T>, namespace: string | undefined): readonly T[] {
  return informer.byIndex(orphans, namespace ?? '');
}

/** All that `planClaims` must look at: the owner's own and the orphans of its namespace. */
export function candidatesFor<T extends KubeObject>(informer: Informer<T>, owner: KubeObject): readonly T[] {
  return [...controlledBy(informer, owner), ...orphansIn(informer, owner.metadata.namespace)];
}

/** The controller of `object` as the informer of its kind knows it: same name and same uid, or undefined. */
export function resolveController<O extends KubeObject>(owners: Informer<O>, object: KubeObject): O | undefined {
  const reference = controllerOf(object);
  if (!reference || reference.kind !== owners.type.kind) return undefined;
  const { namespace } = object.metadata;
  const owner = owners.get(namespace ? `${namespace}/${reference.name}` : reference.name);
  return owner?.metadata.uid === reference.uid ? owner : undefined;
}

/**
 * Update: read, change, compare-and-set, again when somebody was faster. PUT, PATCH and the subresources differ only in how the new
 * object comes about. An update that changes nothing writes nothing; one that takes the last finalizer from an object that is
 * being deleted removes it.
 */
import { invalid as invalidField, path } from '../../apimachinery/field-error.ts';
import { parseUint64 } from '../../apimachinery/go-number.ts';
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import { equalBut } from '../../apimachinery/patch/merge-patch.ts';
import type { GroupVersionKind } from '../../apimachinery/resource.ts';
import { conflict, invalid, messageOf, notFound, statusError } from '../../apimachinery/status.ts';
import { shareEqualParts } from '../../base/deep-freeze.ts';
import type { ApiResponse } from '../request.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import { checkIdentity, decodeResource } from './body.ts';
import { createObject, replyToWrite, type Written } from './create.ts';
import { copyObject, sameOwners, shortenedIfTooLarge, type Track, trackUpdate } from './managed-fields.ts';
import { settleNamespace } from './object-metadata.ts';
import { admissionAttributes, keyOf, namespaceErrors, type Operation, strategyContext } from './operation.ts';
import { isFinished, removeEntry } from './removal.ts';
import { copyStandingParts, fillDefaults } from './standing-parts.ts';
import { prepareForUpdate, validateUpdate } from './strategy.ts';
import { parseWriteOptions, type WriteOptions } from './write-options.ts';

/** The new object (hub version, a draft of its own) made from what stands there. */
export type MakeUpdate = (current: CacheEntry) => Promise<Draft<KubeObject>> | Draft<KubeObject>;

export interface UpdateOutcome {
  readonly written: Written;
  readonly created: boolean;
}

export async function update(operation: Operation): Promise<ApiResponse> {
  const { request, kind, subresource, storage } = operation;
  const options = parseWriteOptions(request.query, 'UpdateOptions');
  const object = await decodeResource(operation, { options, standing: storage.cache.get(keyOf(operation)) });
  await operation.turnForOthers();
  checkIdentity(operation, object);
  const mayCreate = subresource === '' && kind.behaviour.allowCreateOnUpdate === true;
  // The draft is used up by the first attempt; only a second one needs another copy.
  let fresh: Draft<KubeObject> | undefined = object;
  const { resourceVersion } = object.metadata;
  const spare = resourceVersion ? undefined : copyObject(object as KubeObject);
  const { written, created } = await updateObject(operation, options, {
    create: mayCreate
      ? () => {
          copyStandingParts(object);
          return object;
        }
      : undefined,
    make() {
      const next = fresh ?? copyObject(spare ?? (object as KubeObject));
      fresh = undefined;
      // Whatever admission made of it in the first attempt: with another a second would overwrite what came between.
      if (resourceVersion) next.metadata.resourceVersion = resourceVersion;
      return next;
    },
  });
  return replyToWrite(operation, written, created ? 201 : 200);
}

export interface UpdateSteps {
  readonly make: MakeUpdate;
  /** What to create when there is nothing yet; absent where an update may not create. */
  readonly create?: (() => Draft<KubeObject>) | undefined;
  /** Gives up after so many lost races; without it goes on for as long as the request lives. */
  readonly attempts?: number;
  /** Before an object is created. Throws to refuse. */
  readonly beforeCreate?: () => Promise<void>;
  /** Settles who owns what in the new object; default: an update by the client's field manager. */
  readonly track?: Track;
  /** The new object has its owners. */
  readonly owned?: boolean | undefined;
  /** What admission sees in the object's place; default: the object itself. */
  readonly admitted?: AdmittedPart | undefined;
}

/** A part of an object under a kind of its own, as a Scale is of a workload. */
export interface AdmittedPart {
  readonly kind: GroupVersionKind;
  readonly subresource: string;
  of(object: KubeObject): Draft<KubeObject>;
  /** Brings what admission made of the part into the object. */
  into(part: KubeObject, object: Draft<KubeObject>): void;
}

export async function updateObject(
  operation: Operation,
  options: WriteOptions,
  steps: UpdateSteps,
): Promise<UpdateOutcome> {
  const { storage, info, kind, request } = operation;
  const key = keyOf(operation);
  const track = steps.track ?? trackUpdate(operation, options);
  let current = await storage.read(key);
  for (let attempt = 1; ; attempt++) {
    // Asking makes a signal, which costs more than it could spare the first attempt.
    if (attempt > 1) request.signal.throwIfAborted();
    if (!current) {
      if (!steps.create) throw notFound(operation.resource.row, info.name);
      const object = steps.create();
      await steps.beforeCreate?.();
      if (object.metadata.uid) throw otherUid(operation, object.metadata.uid, '');
      delete object.metadata.resourceVersion;
      const { owned = false } = steps;
      return { written: await createObject(operation, object, options, { owned }), created: true };
    }
    const { admitted } = steps;
    const outcome = await attemptUpdate(operation, options, {
      current,
      next: await steps.make(current),
      track,
      admitted,
      owned: steps.owned,
    });
    if ('written' in outcome) return { written: outcome.written, created: false };
    if (attempt === steps.attempts) throw conflict(kind.hub, info.name);
    current = outcome.current;
  }
}

/** The client means an object that is no longer there, whatever stands under its name now. */
function otherUid(operation: Operation, wanted: string, standing: string): Error {
  const what = `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${standing}`;
  const where = `StorageError: invalid object, Code: 4, Key: ${keyOf(operation)}, ResourceVersion: 0`;
  return conflict(operation.resource.row, operation.info.name, `${where}, AdditionalErrorMsg: ${what}`);
}

/** Throws 409 and 422 for what the client demanded of the present state. */
function checkExpectations(operation: Operation, next: Draft<KubeObject>, current: CacheEntry): void {
  const { kind, info, resource } = operation;
  const { uid } = next.metadata;
  const standing = current.object().metadata.uid ?? '';
  // An update is meant for the object it names; a patch is meant for whatever stands there, whose uid it cannot change.
  if (uid && uid !== standing && info.verb !== 'patch') throw otherUid(operation, uid, standing);
  if (!checkVersion(operation, next, current) && kind.behaviour.allowUnconditionalUpdate === false) {
    const error = invalidField(path('metadata', 'resourceVersion'), 0, 'must be specified for an update');
    throw invalid({ group: resource.row.group, kind: resource.row.resource }, info.name, [error]);
  }
}

/** Whether the new object names a version; throws 409 if that is another than the one that stands. */
function checkVersion({ info, resource }: Operation, next: Draft<KubeObject>, current: CacheEntry): boolean {
  const version = versionOf(next.metadata.resourceVersion);
  if (version > 0 && version !== current.revision) throw conflict(resource.row, info.name);
  return version > 0;
}

/** 0 for none. What is no number upstream has no code for, and answers 500. */
function versionOf(resourceVersion: string | undefined): number {
  if (!resourceVersion) return 0;
  try {
    return parseUint64(resourceVersion);
  } catch (error) {
    throw statusError({ code: 500, reason: '', message: messageOf(error) });
  }
}

interface Candidate extends Pick<UpdateSteps, 'admitted' | 'owned'> {
  readonly current: CacheEntry;
  readonly next: Draft<KubeObject>;
  readonly track: Track;
}

type Attempt = { readonly written: Written } | { readonly current: CacheEntry | undefined };

async function attemptUpdate(
  operation: Operation,
  options: WriteOptions,
  { current, next, track, admitted, owned }: Candidate,
): Promise<Attempt> {
  const { kind, info, environment, subresource, storage } = operation;
  const previous = current.object();
  checkExpectations(operation, next, current);
  await operation.turnForOthers();
  track(next, previous);
  await operation.turnForOthers();
  const attributes = () => updateAttributes(operation, options, { next, previous, admitted });
  const mutating = attributes();
  if (mutating) {
    await environment.admission().admit(mutating);
    if (!admitted) checkVersion(operation, next, current);
    admitted?.into(mutating.object as KubeObject, next);
    fillDefaults(next, { behaviour: kind.behaviour, complete: environment.completeParts });
  }
  const hooks = subresource === '' ? environment.hooksOf(kind) : {};
  if (hooks.beginUpdate) copyStandingParts(next);
  const finish = await hooks.beginUpdate?.(next, previous, { dryRun: options.dryRun });
  let kept = false;
  try {
    settleNamespace(next.metadata, kind, info.namespace);
    const context = { ...strategyContext(operation), subresource };
    prepareForUpdate(kind, next, previous, context);
    // Nobody changes the new object after this, and whoever compares the two from here on passes over what they share.
    shareEqualParts(next, previous);
    const demand = kind.behaviour.subresources?.[subresource]?.namespaceDemand?.(next, previous);
    validateUpdate(kind, next, previous, {
      ...context,
      isPreviousValid: current.isTrusted,
      namespaceErrors: demand ? await namespaceErrors(operation, demand) : [],
    });
    const validating = admitted ? attributes() : mutating;
    if (validating) await environment.admission().validate(validating);
    await operation.turnForOthers();
    if (isFinished(kind, next, previous)) {
      const removed = await removeEntry(operation, current, { dryRun: options.dryRun });
      if (!removed.ok) return { current: removed.current };
      kept = true;
      return {
        written: { object: { ...next, metadata: { ...next.metadata, resourceVersion: String(removed.revision) } } },
      };
    }
    if (isUnchanged(next, current) && !(await operation.storage.isStale(current)))
      return { written: { entry: current } };
    if (options.dryRun) {
      const resourceVersion = String(current.revision);
      return { written: { object: { ...next, metadata: { ...next.metadata, resourceVersion } } } };
    }
    const replace = (object: KubeObject) => storage.replace(current, object);
    const result = await (owned ? replace(next as KubeObject) : shortenedIfTooLarge(next as KubeObject, replace));
    if (!result.ok) return { current: result.current };
    kept = true;
    return { written: { entry: result.entry } };
  } finally {
    await finish?.(kept && !options.dryRun);
  }
}

function updateAttributes(
  operation: Operation,
  { dryRun, raw }: WriteOptions,
  { next, previous, admitted }: Pick<Candidate, 'next' | 'admitted'> & { readonly previous: KubeObject },
) {
  const { name } = operation.info;
  const admission = { operation: 'UPDATE', name, dryRun, options: raw } as const;
  if (!admitted) return admissionAttributes(operation, { ...admission, object: next, oldObject: previous });
  const { kind, subresource } = admitted;
  const parts = { object: admitted.of(next as KubeObject), oldObject: admitted.of(previous) as KubeObject };
  return admissionAttributes({ ...operation, subresource }, { ...admission, ...parts, kind });
}

/** Whether the new object says nothing that is not there already; when its owners last wrote is not a thing to say. */
function isUnchanged(next: Draft<KubeObject>, current: CacheEntry): boolean {
  const object = current.object();
  return (
    equalBut(storedApart, next.metadata, object.metadata) &&
    equalBut(apart, next, object) &&
    sameOwners(next as KubeObject, object)
  );
}

const apart: ReadonlySet<string> = new Set(['metadata']);
const storedApart: ReadonlySet<string> = new Set(['resourceVersion', 'managedFields']);

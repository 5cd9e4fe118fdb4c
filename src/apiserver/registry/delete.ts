/**
 * Deletion in its three forms: at once; with a grace period, in which the object stays and says when it will go; and held up by
 * finalizers, which keep it until their owners take them away. What is decided depends only on the object as it stands and the
 * options, and is written with compare-and-set, so that it is decided anew when somebody was faster.
 */

import type { DeleteOptions } from '../../apimachinery/gen/meta-v1.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { conflict, notFound } from '../../apimachinery/status.ts';
import { formatTime, parseTime } from '../../apimachinery/time.ts';
import { replyWithObject } from '../encoding/replies.ts';
import type { ApiResponse } from '../request.ts';
import type { StoredKind } from '../served-resource.ts';
import { withRevision } from '../watch-cache/cache-entry.ts';
import { replyToWrite, type Written } from './create.ts';
import { foregroundFinalizer, orphanFinalizer } from './object-metadata.ts';
import { admissionAttributes, keyOf, type Operation } from './operation.ts';
import { isFinished, namespaceFinalizers, removeEntry } from './removal.ts';
import { parseDeleteOptions } from './write-options.ts';

/** Resources whose deletion answers with the object that went; all others answer with a Status. */
const answersWithObject: ReadonlySet<string> = new Set([
  'pods',
  'services',
  'serviceaccounts',
  'persistentvolumeclaims',
  'persistentvolumes',
  'podtemplates',
  'resourcequotas',
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'storageclasses.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
]);

export async function deleteOne(operation: Operation): Promise<ApiResponse> {
  const options = await parseDeleteOptions(operation.request);
  const outcome = await deleteObject(operation, keyOf(operation), options);
  if (!outcome.gone || answersWithObject.has(operation.kind.name)) return replyToWrite(operation, outcome.written, 200);
  return replyWithObject(operation.reply, deletedStatus(operation, outcome.last), { warnings: operation.warnings });
}

export interface DeleteOutcome {
  /** False while a grace period or finalizers keep the object. */
  readonly gone: boolean;
  readonly written: Written;
  readonly last: KubeObject;
}

/** Throws 404, 409 for preconditions, and whatever admission refuses with. */
export async function deleteObject(operation: Operation, key: string, options: DeleteOptions): Promise<DeleteOutcome> {
  const { storage, kind, environment, request } = operation;
  const dryRun = (options.dryRun?.length ?? 0) > 0;
  let current = await storage.read(key);
  for (let attempt = 1; ; attempt++) {
    if (attempt > 1) request.signal.throwIfAborted();
    const name = key.slice(key.lastIndexOf('/') + 1);
    if (!current) throw notFound(operation.resource.row, name);
    const object = current.object();
    checkPreconditions(kind, object, options);
    await admitDeletion(operation, object, options, dryRun);
    const step = nextStep(kind, object, options, environment.clock.now());
    if (step === 'nothing') return { gone: false, written: { entry: current }, last: object };
    if (step === 'remove') {
      const removal = await removeEntry(operation, current, { dryRun });
      if (removal.ok) return { gone: true, written: { object: withRevision(object, removal.revision) }, last: object };
      current = removal.current;
      continue;
    }
    if (dryRun) return { gone: false, written: { object: withRevision(step, current.revision) }, last: step };
    const result = await storage.replace(current, step);
    if (result.ok) return { gone: false, written: { entry: result.entry }, last: result.entry.object() };
    current = result.current;
  }
}

async function admitDeletion(operation: Operation, object: KubeObject, options: DeleteOptions, dryRun: boolean) {
  // Whoever deletes a collection names no object.
  const name = operation.info.verb === 'deletecollection' ? '' : (object.metadata.name ?? '');
  const admission = { operation: 'DELETE', object: undefined, oldObject: object, name, dryRun, options } as const;
  const attributes = admissionAttributes(operation, admission);
  if (!attributes) return;
  await operation.environment.admission().admit(attributes);
  await operation.environment.admission().validate(attributes);
}

/** Throws 409 in upstream's words. */
export function checkPreconditions(kind: StoredKind, { metadata }: KubeObject, { preconditions }: DeleteOptions): void {
  // Upstream puts the kind where the resource belongs.
  const subject = { group: kind.hub.group, resource: kind.hub.kind };
  const { uid, resourceVersion } = preconditions ?? {};
  if (uid !== undefined && uid !== metadata.uid) {
    const what = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ''})`;
    throw conflict(subject, metadata.name ?? '', `${what}. The object might have been deleted and then recreated`);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const record = metadata.resourceVersion ?? '';
    const what = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${record})`;
    throw conflict(subject, metadata.name ?? '', `${what}. The object might have been modified`);
  }
}

/** What a deletion does to the object now: remove it, change it to the given state, or nothing since it is under way already. */
function nextStep(
  kind: StoredKind,
  object: KubeObject,
  options: DeleteOptions,
  nowMs: number,
): 'remove' | 'nothing' | KubeObject {
  const next = draft(object) as Draft<KubeObject>;
  if (kind.behaviour.beginDeletion && !object.metadata.deletionTimestamp) {
    next.metadata.deletionTimestamp = formatTime(nowMs);
    kind.behaviour.beginDeletion(next, formatTime(nowMs));
    return next;
  }
  const finalizersChanged = setCollectorFinalizers(kind, next, options);
  if (kind.name === 'namespaces') return namespaceStep(next, object, nowMs);
  const grace = gracefulStep(kind, next, options, nowMs);
  if (grace === 'pending') return 'nothing';
  const held = (next.metadata.finalizers?.length ?? 0) > 0;
  if (grace === 'none') {
    if (!held) return 'remove';
    markAsDeleting(next, nowMs);
    return finalizersChanged || isChanged(next, object) ? next : 'nothing';
  }
  return held || (next.metadata.deletionGracePeriodSeconds ?? 0) > 0 ? next : 'remove';
}

function isChanged({ metadata }: KubeObject, previous: KubeObject): boolean {
  return (
    metadata.deletionTimestamp !== previous.metadata.deletionTimestamp ||
    metadata.deletionGracePeriodSeconds !== previous.metadata.deletionGracePeriodSeconds
  );
}

/** `none`: no grace, go on at once; `pending`: one is running and stays; `set`: one was begun or shortened. */
function gracefulStep(
  kind: StoredKind,
  next: Draft<KubeObject>,
  options: DeleteOptions,
  nowMs: number,
): 'none' | 'pending' | 'set' {
  const { behaviour } = kind;
  if (!behaviour.gracePeriodSeconds) return 'none';
  const { metadata } = next;
  const requested = options.gracePeriodSeconds === undefined ? undefined : atLeastOne(options.gracePeriodSeconds);
  if (metadata.deletionTimestamp) return shortenGrace(metadata, requested, nowMs);
  const seconds = behaviour.gracePeriodSeconds(next, requested);
  if (seconds === undefined) return 'none';
  metadata.deletionTimestamp = formatTime(nowMs + seconds * 1000);
  metadata.deletionGracePeriodSeconds = seconds;
  raiseGeneration(metadata);
  return 'set';
}

/** Of two periods only the shorter counts, and time that has passed has passed. */
function shortenGrace(metadata: Draft<KubeObject['metadata']>, requested: number | undefined, nowMs: number) {
  const running = atLeastOne(metadata.deletionGracePeriodSeconds ?? 0);
  if (running === 0) return 'none';
  if (requested === undefined || requested >= running) return 'pending';
  const beganMs = (parseTime(metadata.deletionTimestamp!) ?? nowMs) - running * 1000;
  const endMs = beganMs + requested * 1000;
  const passed = endMs < nowMs;
  metadata.deletionTimestamp = formatTime(passed ? nowMs : endMs);
  metadata.deletionGracePeriodSeconds = passed && requested !== 0 ? 1 : requested;
  return 'set';
}

/** Below zero means one second. */
function atLeastOne(seconds: number): number {
  return seconds < 0 ? 1 : seconds;
}

function markAsDeleting({ metadata }: Draft<KubeObject>, nowMs: number): void {
  if (!metadata.deletionTimestamp) raiseGeneration(metadata);
  const end = metadata.deletionTimestamp ? parseTime(metadata.deletionTimestamp) : undefined;
  if (end === undefined || end > nowMs) metadata.deletionTimestamp = formatTime(nowMs);
  metadata.deletionGracePeriodSeconds = 0;
}

function raiseGeneration(metadata: Draft<KubeObject['metadata']>): void {
  if ((metadata.generation ?? 0) > 0) metadata.generation = metadata.generation! + 1;
}

/** A namespace is emptied by its controller first, which then takes the finalizer from its spec. */
function namespaceStep(next: Draft<KubeObject>, object: KubeObject, nowMs: number): 'remove' | 'nothing' | KubeObject {
  if (isFinished({ name: 'namespaces' }, next, object)) return 'remove';
  const namespace = next as Draft<KubeObject> & { status?: { phase?: string } };
  if (!object.metadata.deletionTimestamp) {
    raiseGeneration(next.metadata);
    next.metadata.deletionTimestamp = formatTime(nowMs);
    namespace.status = { ...namespace.status, phase: 'Terminating' };
    return next;
  }
  if (namespaceFinalizers(object).length > 0) return 'nothing';
  return (next.metadata.finalizers?.length ?? 0) === (object.metadata.finalizers?.length ?? 0) ? 'nothing' : next;
}

/** Sets or takes away `orphan` and `foregroundDeletion` as the options ask; tells whether that changed anything. */
function setCollectorFinalizers(kind: StoredKind, { metadata }: Draft<KubeObject>, options: DeleteOptions): boolean {
  // Events own nothing, and upstream's registry knows no collector's finalizers for them.
  if (kind.name === 'events') return false;
  const before = metadata.finalizers ?? [];
  const policy = propagation(kind, before, options);
  const after = before.filter((finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  if (policy === 'Orphan') after.push(orphanFinalizer);
  if (policy === 'Foreground') after.push(foregroundFinalizer);
  const same = after.length === before.length && after.every((finalizer) => before.includes(finalizer));
  if (same) return false;
  if (after.length > 0) metadata.finalizers = after;
  else delete metadata.finalizers;
  return true;
}

function propagation(kind: StoredKind, finalizers: readonly string[], options: DeleteOptions): string {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? 'Orphan' : 'Background';
  if (options.propagationPolicy !== undefined) return options.propagationPolicy;
  const standing = finalizers.find((finalizer) => finalizer === orphanFinalizer || finalizer === foregroundFinalizer);
  if (standing) return standing === orphanFinalizer ? 'Orphan' : 'Foreground';
  return kind.behaviour.defaultPropagation === 'orphan' ? 'Orphan' : 'Background';
}

function deletedStatus({ resource }: Operation, { metadata }: KubeObject): KubeObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: metadata.name ?? '',
      ...(resource.row.group === '' ? {} : { group: resource.row.group }),
      kind: resource.row.resource,
      uid: metadata.uid ?? '',
    },
  } as KubeObject;
}

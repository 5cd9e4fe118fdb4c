/**
 * Creation: decode, mutating admission, system fields and name, hooks, strategy, validation, validating admission, one write that
 * succeeds only if the key is free. A generated name that is taken is tried again with another.
 */
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { alreadyExists, forbidden, generateNameConflict, StatusError, statusError } from '../../apimachinery/status.ts';
import { replyWithEntry, replyWithObject } from '../encoding/replies.ts';
import type { ApiResponse } from '../request.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { StandingObject } from '../watch-cache/member-bytes.ts';
import { decodeResource } from './body.ts';
import { shortenedIfTooLarge, trackCreation } from './managed-fields.ts';
import { fillSystemFields, generateName, settleNamespace, wipeSystemFields } from './object-metadata.ts';
import { admissionAttributes, namespaceErrors, type Operation, strategyContext } from './operation.ts';
import { besideSpec, prepareForCreate, validateNew } from './strategy.ts';
import { parseWriteOptions, type WriteOptions } from './write-options.ts';

const nameAttempts = 8;

export async function create(operation: Operation): Promise<ApiResponse> {
  const options = parseWriteOptions(operation.request.query, 'CreateOptions');
  const object = await decodeResource(operation, { options });
  await operation.turnForOthers();
  const created = await createObject(operation, object, options);
  return replyToWrite(operation, created, 201);
}

/** What a write left behind: an entry of the cache, or (dry run) an object that is nowhere. */
export type Written = { readonly entry: CacheEntry } | { readonly object: KubeObject };

export function replyToWrite(operation: Operation, written: Written, status: number): ApiResponse {
  const { reply, resource, warnings } = operation;
  if ('entry' in written) return replyWithEntry(reply, written.entry, { status, warnings });
  const { object: hub } = written;
  const served = resource.conversion ? resource.conversion.fromHub(hub) : hub;
  return replyWithObject(reply, served, { status, warnings, hub });
}

/** `object` is in the hub version; it is used up. `owned`: its owners are known already. */
export async function createObject(
  operation: Operation,
  object: Draft<KubeObject>,
  options: WriteOptions,
  { owned = false }: { readonly owned?: boolean } = {},
): Promise<Written> {
  const { kind, info, environment } = operation;
  const { metadata } = object;
  if (operation.resource.custom?.terminating) {
    const reason = 'create not allowed while custom resource definition is terminating';
    throw forbidden(operation.resource.row, metadata.name ?? '', reason);
  }
  wipeSystemFields(metadata);
  settleNamespace(metadata, kind, info.namespace);
  if (!owned) trackCreation(operation, object, options);
  await operation.turnForOthers();
  const admission = {
    operation: 'CREATE',
    object,
    oldObject: undefined,
    dryRun: options.dryRun,
    options: options.raw,
  } as const;
  const attributes = admissionAttributes(operation, { ...admission, name: metadata.name ?? '' });
  if (attributes) {
    await environment.admission().admit(attributes);
    // A webhook may have changed anything. The client was authorised for this namespace and no other.
    settleNamespace(object.metadata, kind, info.namespace);
    kind.behaviour.defaults?.(object);
  }
  if (metadata.name || !metadata.generateName) return attemptCreate(operation, object, options, { owned });
  for (let attempt = 1; ; attempt++) {
    const named = attempt < nameAttempts ? draft(object) : object;
    named.metadata.name = generateName(metadata.generateName, environment.random);
    try {
      return await attemptCreate(operation, named as Draft<KubeObject>, options, { owned, generated: true });
    } catch (error) {
      if (!(error instanceof NameTaken)) throw error;
      if (attempt === nameAttempts) throw generateNameConflict(kind.hub, named.metadata.name, 1);
    }
  }
}

/** Throws for an object that claims to have been stored before; what is no version claims nothing. */
function refuseVersion({ resourceVersion = '' }: KubeObject['metadata']): void {
  if (!/^\d+$/.test(resourceVersion) || Number(resourceVersion) === 0) return;
  throw statusError({ code: 500, reason: '', message: 'resourceVersion should not be set on objects to be created' });
}

/** The key was not free. */
class NameTaken extends Error {
  override readonly name = 'NameTaken';
}

async function attemptCreate(
  operation: Operation,
  object: Draft<KubeObject>,
  options: WriteOptions,
  { owned, generated = false }: { readonly owned: boolean; readonly generated?: boolean },
): Promise<Written> {
  const { kind, environment } = operation;
  fillSystemFields(object.metadata, environment.nowText(), environment.random);
  const finish = await environment.hooksOf(kind).beginCreate?.(object, { dryRun: options.dryRun });
  let kept = false;
  try {
    const context = strategyContext(operation);
    prepareForCreate(kind, object, context);
    const demand = kind.behaviour.namespaceDemand?.(object);
    const known = environment.specs.share(kind, object);
    const warned = validateNew(kind, object, {
      ...context,
      known,
      namespaceErrors: demand ? await namespaceErrors(operation, demand) : [],
    });
    const name = object.metadata.name!;
    const admission = {
      operation: 'CREATE',
      object,
      oldObject: undefined,
      dryRun: options.dryRun,
      options: options.raw,
    } as const;
    const attributes = admissionAttributes(operation, { ...admission, name });
    if (attributes) await environment.admission().validate(attributes);
    await operation.turnForOthers();
    const write = (stored: KubeObject) =>
      store(operation, stored, { dryRun: options.dryRun, standing: known?.standing });
    const written = await (owned ? write(object) : shortenedIfTooLarge(object, write));
    if (written) {
      kept = true;
      if ('entry' in written && !known)
        environment.specs.keep(kind, object, {
          beside: besideSpec(kind.behaviour, object),
          warned,
          standing: written.entry.standing(),
        });
      return written;
    }
    throw generated ? new NameTaken() : await takenError(operation, object);
  } finally {
    await finish?.(kept && !options.dryRun);
  }
}

/** Who holds the name may be on its way out. */
async function takenError({ kind, storage }: Operation, { metadata }: KubeObject): Promise<Error> {
  const name = metadata.name!;
  const error = alreadyExists(kind.hub, name);
  const holder = await storage.read(storage.key(metadata.namespace ?? '', name)).catch(() => undefined);
  if (!holder?.object().metadata.deletionTimestamp) return error;
  return new StatusError({ ...error.status, message: `object is being deleted: ${error.message}` });
}

async function store(
  { storage }: Operation,
  object: KubeObject,
  { dryRun, standing }: { readonly dryRun: boolean; readonly standing: StandingObject | undefined },
): Promise<Written | undefined> {
  const key = storage.key(object.metadata.namespace ?? '', object.metadata.name!);
  if (dryRun) return (await storage.read(key)) ? undefined : { object };
  refuseVersion(object.metadata);
  const result = await storage.create(key, object, standing);
  return result.ok ? { entry: result.entry } : undefined;
}

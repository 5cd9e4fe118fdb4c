/**
 * Server-side apply: `PATCH` with `application/apply-patch+yaml`. The body is what a manager wants an object to say, no more; it is merged into
 * what stands there, or created. What it says unknown or wrong, and what others own, is refused.
 */

import { countKeys } from '../../apimachinery/decode.ts';
import { jsonText, parseJson } from '../../apimachinery/exact-json.ts';
import { maxJsonDepth, scanJson } from '../../apimachinery/json-text.ts';
import type { JsonObject } from '../../apimachinery/managed-fields/comparison.ts';
import { configurationProblem } from '../../apimachinery/managed-fields/configuration.ts';
import { conflictError } from '../../apimachinery/managed-fields/conflict.ts';
import { difference, type FieldSet, pathsOf } from '../../apimachinery/managed-fields/field-set.ts';
import {
  followedAnnotations,
  lastAppliedFields,
  lastAppliedManager,
} from '../../apimachinery/managed-fields/last-applied.ts';
import { holdsNothing, type Managers, storedManagers } from '../../apimachinery/managed-fields/managers.ts';
import {
  type ApplyOutcome,
  applyOwnership,
  beforeFirstApply,
  type Conflict,
  type OwnedKind,
  updateOwnership,
} from '../../apimachinery/managed-fields/ownership.ts';
import type { Shape } from '../../apimachinery/managed-fields/shape.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { isObject } from '../../apimachinery/patch/merge-patch.ts';
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from '../../apimachinery/resource.ts';
import { badRequest, messageOf, statusError } from '../../apimachinery/status.ts';
import { forbiddenError } from '../authorization/forbidden.ts';
import { type YamlConverter, yamlConverter } from '../encoding/yaml-thread.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import { checkIdentity, toHub } from './body.ts';
import { replyToWrite } from './create.ts';
import { ownedKind, servedForm, setOwners, writerOf } from './managed-fields.ts';
import { settleNamespace } from './object-metadata.ts';
import type { Operation } from './operation.ts';
import { untouchedParts, withoutValues } from './standing-parts.ts';
import { type AdmittedPart, type UpdateOutcome, updateObject } from './update.ts';
import { bodyLimitBytes, parseWriteOptions, type WriteOptions } from './write-options.ts';

const raceAttempts = 6;

export async function serverSideApply(operation: Operation): Promise<ApiResponse> {
  const options = parseWriteOptions(operation.request.query, 'ApplyOptions');
  const read = await readConfiguration(operation.request, options);
  const target = { row: operation.resource.row, shape: ownedKind(operation).shape };
  const config = checkedConfiguration(read.config, target);
  const { audit } = operation.request;
  if (audit?.tellsRequest) audit.requestPatch(jsonText(config));
  operation.warnings.push(...read.warnings);
  const { written, created } = await applyObject(operation, config, options);
  return replyToWrite(operation, written, created ? 201 : 200);
}

/**
 * Applies a configuration in the operation's own version. `strategies`: the subresource by whose rules the object is updated, where that is
 * not the one that owns the fields (`scale` is an update of the whole).
 */
export async function applyObject(
  operation: Operation,
  config: JsonObject,
  options: WriteOptions,
  {
    strategies = operation.subresource,
    admitted,
  }: { readonly strategies?: string; readonly admitted?: AdmittedPart } = {},
): Promise<UpdateOutcome> {
  const outcomeOn = (live: KubeObject | undefined) => applied(operation, live, { config, options });
  return updateObject({ ...operation, subresource: strategies }, options, {
    attempts: raceAttempts,
    make: (current: CacheEntry) => outcomeOn(current.object()),
    create: operation.subresource === '' ? () => outcomeOn(undefined) : undefined,
    beforeCreate: () => authorizeCreation(operation),
    admitted,
    // The new object comes with its owners.
    track: () => {},
    owned: true,
  });
}

export interface Configuration {
  readonly config: unknown;
  readonly warnings: readonly string[];
}

/** Throws 400, 413. */
export async function readConfiguration(request: ApiRequest, options: WriteOptions): Promise<Configuration> {
  const { body } = request;
  if (body.kind === 'value') return { config: draft(body.value), warnings: [] };
  const text = body.kind === 'bytes' ? (await body.read(bodyLimitBytes)).toString('utf8') : '';
  const plain = plainJson(text);
  if (plain) return { config: plain, warnings: [] };
  const { value, strictErrors } = parseYaml(text, await yamlConverter(request, text));
  const [repeated] = strictErrors;
  if (repeated === undefined || options.fieldValidation === 'Ignore') return { config: value, warnings: [] };
  if (options.fieldValidation === 'Strict') {
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${repeated}`);
  }
  // A line for each key, after one that says what they are.
  const [, ...lines] = repeated.split('\n');
  return { config: value, warnings: lines.map((line) => line.trim()) };
}

/** What most clients send is JSON, which is read much faster than YAML. Undefined for all that is not an object of unique keys. */
function plainJson(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    const { depth, keys } = scanJson(text);
    return isObject(value) && depth <= maxJsonDepth && keys === countKeys(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function parseYaml(
  text: string,
  convert: YamlConverter,
): { readonly value: unknown; readonly strictErrors: readonly string[] } {
  try {
    const { json, strictErrors } = convert(text);
    return { value: parseJson(json) ?? {}, strictErrors };
  } catch (error) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${messageOf(error)}`);
  }
}

/** Throws 400 for a configuration of something else, 500 (as upstream) for one that does not fit the kind. */
export function checkedConfiguration(
  config: unknown,
  { row, shape }: { readonly row: GroupVersionKind; readonly shape: Shape },
): JsonObject {
  if (!isObject(config)) {
    const what = Array.isArray(config) ? 'array' : typeof config === 'boolean' ? 'bool' : typeof config;
    const problem = `json: cannot unmarshal ${what} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${problem}`);
  }
  const { apiVersion, kind } = config;
  if (typeof apiVersion !== 'string' || apiVersion === '' || apiVersion !== apiVersionOf(row) || kind !== row.kind) {
    throw badRequest(`invalid object type: ${kindText(apiVersion, kind)}`);
  }
  const metadata = isObject(config.metadata) ? config.metadata : {};
  if (metadata.managedFields !== undefined && metadata.managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const problem = configurationProblem(shape, config);
  if (problem === undefined) return config;
  const what = `${String(metadata.namespace ?? '')}/${String(metadata.name ?? '')}; ${kindText(apiVersion, kind)}`;
  throw statusError({ code: 500, reason: '', message: `failed to create typed patch object (${what}): ${problem}` });
}

/** `apps/v1, Kind=Deployment`; `/v1, Kind=Pod`. */
function kindText(apiVersion: unknown, kind: unknown): string {
  const { group, version } = parseApiVersion(String(apiVersion ?? ''));
  return `${group}/${version}, Kind=${String(kind ?? '')}`;
}

interface Applying {
  readonly config: JsonObject;
  readonly options: WriteOptions;
}

/** What stands there afterwards, in the hub version, with its owners. Throws 409. */
function applied(operation: Operation, standing: KubeObject | undefined, request: Applying): Draft<KubeObject> {
  const { resource } = operation;
  const { config, options } = request;
  const kind = ownedKind(operation);
  const live = standing ? withoutOwners(servedForm(resource, standing)) : {};
  const outcome = outcomeOf(operation, kind, {
    ...request,
    live,
    managers: managersOf(operation, standing, kind, live),
  });
  let object = outcome.object ?? live;
  const manager = writerOf(operation, options.fieldManager, 'Apply').manager;
  const annotations = manager === lastAppliedManager ? followedAnnotations(object, config) : undefined;
  if (annotations) object = { ...object, metadata: { ...(object.metadata as JsonObject), annotations } };
  const next = typed(operation, object, standing);
  if (standing === undefined) settleNamespace(next.metadata, operation.kind, operation.info.namespace);
  checkIdentity(operation, next);
  const wanted = (config.metadata as JsonObject | undefined)?.resourceVersion;
  if (typeof wanted === 'string' && wanted !== '') next.metadata.resourceVersion = wanted;
  setOwners(operation, next, outcome.managers);
  return next;
}

/** What the configuration left as it stood is not read again. */
function typed(operation: Operation, object: JsonObject, standing: KubeObject | undefined): Draft<KubeObject> {
  const { codec, conversion } = operation.resource;
  const untouched = standing && codec.type && !conversion ? untouchedParts(object, standing) : undefined;
  const given = untouched ? { ...object, ...withoutValues(untouched) } : object;
  const { object: decoded } = codec.decodeValue(given, { fieldValidation: 'Ignore' });
  const next = decoded as unknown as Draft<KubeObject>;
  next.metadata ??= {};
  if (untouched) Object.assign(next, untouched);
  return toHub(operation, next);
}

/** Owners as they are; of an object that nobody has tracked, one who has everything. */
function managersOf(
  operation: Operation,
  standing: KubeObject | undefined,
  kind: OwnedKind,
  live: JsonObject,
): Managers {
  const managers = storedManagers(standing?.metadata.managedFields);
  if (managers.size > 0 || !standing) return managers;
  const writer = { ...writerOf(operation, beforeFirstApply, 'Update') };
  return updateOwnership({ kind, live: {}, next: live, managers, writer, now: operation.environment.nowText() });
}

interface Merging extends Applying {
  readonly live: JsonObject;
  readonly managers: Managers;
}

function outcomeOf(operation: Operation, kind: OwnedKind, { config, options, live, managers }: Merging) {
  const writer = writerOf(operation, options.fieldManager, 'Apply');
  const now = operation.environment.nowText();
  const run = (force: boolean): ApplyOutcome => applyOwnership({ kind, live, config, managers, writer, now, force });
  const outcome = run(options.force);
  if (!('conflicts' in outcome)) return outcome;
  const remaining =
    writer.manager === lastAppliedManager ? unvouched(kind, live, outcome.conflicts) : outcome.conflicts;
  if (remaining.length > 0) throw conflictError(remaining);
  return run(true) as Exclude<ApplyOutcome, { readonly conflicts: unknown }>;
}

/** Conflicts about fields for which kubectl's annotation does not vouch. */
function unvouched(kind: OwnedKind, live: JsonObject, conflicts: readonly Conflict[]): readonly Conflict[] {
  const allowed = lastAppliedFields(kind.shape, live);
  if (allowed === undefined) return conflicts;
  return conflicts.flatMap(({ manager, fields }) => {
    const left: FieldSet | undefined = difference(fields, allowed);
    return holdsNothing(left) || pathsOf(left).length === 0 ? [] : [{ manager, fields: left! }];
  });
}

function withoutOwners(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = object.metadata as JsonObject;
  return { ...object, metadata };
}

/** Whoever may patch may not yet create. Throws 403. */
async function authorizeCreation({ environment, user, info }: Operation): Promise<void> {
  const attributes = { user, info: { ...info, verb: 'create' } };
  const { decision, reason } = await environment.authorizer().authorize(attributes);
  if (decision !== 'allow') throw forbiddenError(attributes, reason);
}

/**
 * `scale`: how many replicas there are and should be, in one form for all workloads. A Scale is never stored; reading makes one from
 * the workload, writing sets one number in it. Where a kind keeps its numbers is its own matter: a `Scalable` knows.
 */

import { ageColumn, integer, nameColumn } from '../../api/columns.ts';
import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import type { Column } from '../../api/kind.ts';
import { invalid as invalidField, path } from '../../apimachinery/field-error.ts';
import { type LabelSelector, labelMatcherOf, labelMatcherOfSet } from '../../apimachinery/labels.ts';
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import type { GroupVersionKind } from '../../apimachinery/resource.ts';
import { badRequest, invalid, notFound } from '../../apimachinery/status.ts';
import { replyWithObject } from '../encoding/replies.ts';
import { tableCodec } from '../encoding/resource-codec.ts';
import { applyObject, checkedConfiguration, readConfiguration } from '../registry/apply.ts';
import { checkIdentity, decodeBody } from '../registry/body.ts';
import type { Written } from '../registry/create.ts';
import type { OperationHandler } from '../registry/dispatch.ts';
import { copyObject, trackUpdate } from '../registry/managed-fields.ts';
import { keyOf, type Operation } from '../registry/operation.ts';
import { checkPatchType, readPatch } from '../registry/patch-body.ts';
import { type AdmittedPart, updateObject } from '../registry/update.ts';
import { applyPatchType, parseWriteOptions, type WriteOptions } from '../registry/write-options.ts';
import type { ApiResponse } from '../request.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { Scalable } from './scalable.ts';

const scaleKind: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
const raceAttempts = 6;

export interface ScaleVerbs {
  readonly get: OperationHandler;
  readonly update: OperationHandler;
  readonly patch: OperationHandler;
}

export function scaleVerbs(scalable: Scalable): ScaleVerbs {
  return {
    get: (operation) => getScale(operation, scalable),
    update: (operation) => updateScale(operation, scalable),
    patch: (operation) => patchScale(operation, scalable),
  };
}

/** Of custom resources: each version says where its objects keep their numbers. */
export const customScaleVerbs: ScaleVerbs = {
  get: (operation) => getScale(operation, scalableOf(operation)),
  update: (operation) => updateScale(operation, scalableOf(operation)),
  patch: (operation) => patchScale(operation, scalableOf(operation)),
};

function scalableOf({ resource }: Operation): Scalable {
  return resource.custom!.scalable!;
}

interface Workload extends KubeObject {
  readonly spec: {
    readonly replicas?: number | undefined;
    readonly selector?: LabelSelector | Readonly<Record<string, string>>;
  };
  readonly status?: { readonly replicas?: number | undefined };
}

async function getScale(operation: Operation, scalable: Scalable): Promise<ApiResponse> {
  const entry = await operation.storage.read(keyOf(operation));
  if (!entry) throw notFound(operation.resource.row, operation.info.name);
  const object = entry.object();
  if (scalable.unset && scalable.read(object).replicas === undefined) throw scalable.unset.read();
  return replyWithScale(operation, scaleOf(scalable, object));
}

async function updateScale(operation: Operation, scalable: Scalable): Promise<ApiResponse> {
  const options = parseWriteOptions(operation.request.query, 'UpdateOptions');
  const body = await decodeBody(operation.request, scaleKind, { options, warnings: operation.warnings });
  checkIdentity(operation, body);
  return writeScale(operation, scalable, { options, make: () => body as Draft<Scale> });
}

async function patchScale(operation: Operation, scalable: Scalable): Promise<ApiResponse> {
  if (checkPatchType(operation.request, operation.resource.codec) === applyPatchType)
    return applyScale(operation, scalable);
  const options = parseWriteOptions(operation.request.query, 'PatchOptions');
  const { fieldValidation } = options;
  const apply = await readPatch(operation.request, { codec: tableCodec(scaleKind), fieldValidation });
  const make = (current: CacheEntry) => {
    const object = current.object();
    const before = scaleOf(scalable, object) as unknown as Readonly<Record<string, unknown>>;
    const scale = apply(before).object as unknown as Draft<Scale>;
    const isOpen = scalable.unset && scalable.read(object).replicas === undefined;
    if (isOpen && scale.spec.replicas === unsetReplicas) throw scalable.unset!.update();
    return scale;
  };
  return writeScale(operation, scalable, { options, make });
}

/** To the workload it is an apply of its replicas alone, by a manager of this subresource. */
async function applyScale(operation: Operation, scalable: Scalable): Promise<ApiResponse> {
  const { request, warnings, resource, info } = operation;
  const options = parseWriteOptions(request.query, 'ApplyOptions');
  const read = await readConfiguration(request, options);
  const { shape } = tableCodec(scaleKind);
  const scale = checkedConfiguration(read.config, { row: scaleKind, shape }) as Partial<Scale>;
  warnings.push(...read.warnings);
  const { resourceVersion } = scale.metadata ?? {};
  const config = {
    apiVersion: resource.apiVersion,
    kind: resource.row.kind,
    metadata: { name: scale.metadata?.name ?? info.name, ...(resourceVersion ? { resourceVersion } : {}) },
  };
  const replicas = scale.spec?.replicas ?? 0;
  validateScale({ metadata: config.metadata, spec: { replicas } });
  scalable.write(config, replicas);
  const { written } = await applyObject(operation, config, options, {
    strategies: '',
    admitted: admittedScale(operation, scalable),
  });
  return replyWithScale(operation, scaleOf(scalable, writtenObject(written)));
}

async function writeScale(
  operation: Operation,
  scalable: Scalable,
  { options, make }: { readonly options: WriteOptions; readonly make: (current: CacheEntry) => Draft<Scale> },
): Promise<ApiResponse> {
  // To the workload it is an update like any other: its generation counts, its validation applies.
  const whole: Operation = { ...operation, subresource: '' };
  const { written } = await updateObject(whole, options, {
    attempts: raceAttempts,
    track: trackUpdate(operation, options),
    admitted: admittedScale(operation, scalable),
    make(current) {
      const scale = make(current);
      checkIdentity(operation, scale as Draft<KubeObject>);
      const next = copyObject(current.object());
      if (operation.resource.custom) {
        // It demands a version of every update, and is itself asked whether its replicas are right.
        next.metadata.resourceVersion = scale.metadata.resourceVersion || String(current.revision);
      } else {
        validateScale(scale);
        next.metadata.resourceVersion = scale.metadata.resourceVersion;
      }
      if (scale.metadata.uid) next.metadata.uid = scale.metadata.uid;
      scalable.write(next, scale.spec.replicas ?? 0);
      return next;
    },
  });
  return replyWithScale(operation, scaleOf(scalable, writtenObject(written)));
}

function columnsOf(
  about: Readonly<Record<'desired' | 'available', string>>,
  { name, since }: { readonly name: Column<KubeObject>; readonly since: Column<KubeObject> },
) {
  return [
    name,
    integer<Scale>('Desired', ({ spec }) => spec?.replicas ?? 0, { description: about.desired }),
    integer<Scale>('Available', ({ status }) => status?.replicas ?? 0, { description: about.available }),
    since,
  ] as readonly Column<KubeObject>[];
}

const builtInColumns = columnsOf(
  {
    desired: 'replicas is the desired number of instances for the scaled object.',
    available: 'replicas is the actual number of observed instances of the scaled object.',
  },
  { name: { ...nameColumn, format: '' }, since: ageColumn },
);
const customColumns = columnsOf(
  { desired: 'Number of desired replicas', available: 'Number of actual replicas' },
  { name: nameColumn, since: { ...ageColumn, type: 'date' } },
);

function replyWithScale({ reply, resource, warnings }: Operation, scale: Scale): ApiResponse {
  const object = scale as KubeObject;
  return replyWithObject({ ...reply, columns: resource.custom ? customColumns : builtInColumns }, object, {
    hub: object,
    warnings,
  });
}

/** Admission is asked about the Scale, as the client sent it. */
function admittedScale(operation: Operation, scalable: Scalable): AdmittedPart {
  return {
    kind: scaleKind,
    subresource: operation.subresource,
    of: (object) => scaleOf(scalable, object) as Draft<Scale> as Draft<KubeObject>,
    into(scale, object) {
      scalable.write(object, (scale as Scale).spec.replicas ?? 0);
    },
  };
}

function writtenObject(written: Written): KubeObject {
  return 'entry' in written ? written.entry.object() : written.object;
}

function validateScale({ metadata, spec }: Scale): void {
  const replicas = spec.replicas ?? 0;
  if (replicas >= 0) return;
  const error = invalidField(path('spec', 'replicas'), replicas, 'must be greater than or equal to 0');
  throw invalid(scaleKind, metadata.name ?? '', [error]);
}

/** As upstream marks replicas that an object does not say: no patch writes this by accident. */
const unsetReplicas = -(2 ** 31);

function scaleOf(scalable: Scalable, object: KubeObject): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { replicas = scalable.unset ? unsetReplicas : 0, statusReplicas, selector } = scalable.read(object);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas },
    status: { replicas: statusReplicas, ...(selector === '' ? {} : { selector }) },
  };
}

/** Of the workloads of the tables. */
export function workloadScale(resource: string): Scalable {
  return {
    read(object) {
      const { spec, status } = object as Workload;
      return {
        replicas: spec.replicas,
        statusReplicas: status?.replicas ?? 0,
        selector: selectorText(resource, spec.selector),
      };
    },
    write(object, replicas) {
      const workload = object as Draft<Workload>;
      workload.spec = { ...workload.spec, replicas };
    },
  };
}

/** A ReplicationController's selector is a plain set of labels. */
function selectorText(resource: string, selector: Workload['spec']['selector']): string {
  if (!selector) return '';
  try {
    const matcher =
      resource === 'replicationcontrollers'
        ? labelMatcherOfSet(selector as Readonly<Record<string, string>>)
        : labelMatcherOf(selector as LabelSelector);
    return matcher.toString();
  } catch (error) {
    throw badRequest((error as Error).message);
  }
}

/**
 * `scale`: how many replicas there are and should be, in one form for all workloads. A Scale is never stored; reading makes one from
 * the workload, writing sets one number in it.
 */

import type { Scale } from '../../api/gen/autoscaling-v1.ts';
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
import { copyObject, trackUpdate } from '../registry/managed-fields.ts';
import { keyOf, type Operation } from '../registry/operation.ts';
import { checkPatchType, readPatch } from '../registry/patch-body.ts';
import { type AdmittedPart, updateObject } from '../registry/update.ts';
import { applyPatchType, parseWriteOptions, type WriteOptions } from '../registry/write-options.ts';
import type { ApiResponse } from '../request.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';

const scaleKind: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
const raceAttempts = 6;

interface Workload extends KubeObject {
  readonly spec: {
    readonly replicas?: number | undefined;
    readonly selector?: LabelSelector | Readonly<Record<string, string>>;
  };
  readonly status?: { readonly replicas?: number | undefined };
}

export async function getScale(operation: Operation): Promise<ApiResponse> {
  const entry = await operation.storage.read(keyOf(operation));
  if (!entry) throw notFound(operation.resource.row, operation.info.name);
  return replyWithObject(operation.reply, scaleOf(operation, entry.object()) as KubeObject);
}

export async function updateScale(operation: Operation): Promise<ApiResponse> {
  const options = parseWriteOptions(operation.request.query, 'UpdateOptions');
  const body = await decodeBody(operation.request, scaleKind, { options, warnings: operation.warnings });
  return writeScale(operation, options, () => body as Draft<Scale>);
}

export async function patchScale(operation: Operation): Promise<ApiResponse> {
  if (checkPatchType(operation.request, operation.resource.codec) === applyPatchType) return applyScale(operation);
  const options = parseWriteOptions(operation.request.query, 'PatchOptions');
  const { fieldValidation } = options;
  const apply = await readPatch(operation.request, { codec: tableCodec(scaleKind), fieldValidation });
  return writeScale(operation, options, (current) => {
    const before = scaleOf(operation, current.object()) as unknown as Readonly<Record<string, unknown>>;
    return apply(before).object as unknown as Draft<Scale>;
  });
}

/** To the workload it is an apply of its replicas alone, by a manager of this subresource. */
async function applyScale(operation: Operation): Promise<ApiResponse> {
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
    spec: { replicas: scale.spec?.replicas ?? 0 },
  };
  validateScale({ metadata: config.metadata, spec: config.spec });
  const { written } = await applyObject(operation, config, options, {
    strategies: '',
    admitted: admittedScale(operation),
  });
  return replyWithObject(operation.reply, scaleOf(operation, writtenObject(written)) as KubeObject, { warnings });
}

async function writeScale(
  operation: Operation,
  options: WriteOptions,
  make: (current: CacheEntry) => Draft<Scale>,
): Promise<ApiResponse> {
  // To the workload it is an update like any other: its generation counts, its validation applies.
  const whole: Operation = { ...operation, subresource: '' };
  const { written } = await updateObject(whole, options, {
    attempts: raceAttempts,
    track: trackUpdate(operation, options),
    admitted: admittedScale(operation),
    make(current) {
      const scale = make(current);
      checkIdentity(operation, scale as Draft<KubeObject>);
      validateScale(scale);
      const next = copyObject(current.object()) as Draft<Workload>;
      next.metadata.resourceVersion = scale.metadata.resourceVersion;
      if (scale.metadata.uid) next.metadata.uid = scale.metadata.uid;
      next.spec.replicas = scale.spec.replicas ?? 0;
      return next as Draft<KubeObject>;
    },
  });
  return replyWithObject(operation.reply, scaleOf(operation, writtenObject(written)) as KubeObject, {
    warnings: operation.warnings,
  });
}

/** Admission is asked about the Scale, as the client sent it. */
function admittedScale(operation: Operation): AdmittedPart {
  return {
    kind: scaleKind,
    subresource: operation.subresource,
    of: (object) => scaleOf(operation, object) as Draft<Scale> as Draft<KubeObject>,
    into(scale, object) {
      (object as Draft<Workload>).spec.replicas = (scale as Scale).spec.replicas ?? 0;
    },
  };
}

export function writtenObject(written: Written): KubeObject {
  return 'entry' in written ? written.entry.object() : written.object;
}

function validateScale({ metadata, spec }: Scale): void {
  const replicas = spec.replicas ?? 0;
  if (replicas >= 0) return;
  const error = invalidField(path('spec', 'replicas'), replicas, 'must be greater than or equal to 0');
  throw invalid(scaleKind, metadata.name ?? '', [error]);
}

function scaleOf({ resource }: Operation, object: KubeObject): Scale {
  const { metadata, spec, status } = object as Workload;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const selector = selectorText(resource.row.resource, spec.selector);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec.replicas ?? 0 },
    status: { replicas: status?.replicas ?? 0, ...(selector === '' ? {} : { selector }) },
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

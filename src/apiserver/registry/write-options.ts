/** Query parameters and bodies that say how a write is meant: dry run, field manager, field validation, preconditions. */

import { decodeUntyped } from '../../apimachinery/codec.ts';
import {
  type FieldError,
  forbidden,
  invalid as invalidValue,
  notSupported,
  path,
  required,
  tooLong,
} from '../../apimachinery/field-error.ts';
import type { DeleteOptions } from '../../apimachinery/gen/meta-v1.ts';
import { badRequest, invalid, messageOf } from '../../apimachinery/status.ts';
import { builtinCodec } from '../encoding/json.ts';
import { inputFormat } from '../encoding/media-types.ts';
import { openEnvelope, readMessage } from '../encoding/protobuf-input.ts';
import type { ApiRequest } from '../request.ts';
import { isTrue } from '../request-info.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Of an apply: take fields from other managers. */
  readonly force: boolean;
  /** As admission plugins see them. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** Bodies beyond this are refused, as upstream. */
export const bodyLimitBytes = 3 * 1024 * 1024;

const longestFieldManager = 128;

/** Throws 422 with what is wrong. */
export function parseWriteOptions(
  query: URLSearchParams,
  as: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'ApplyOptions',
): WriteOptions {
  const applies = as === 'ApplyOptions';
  const kind = applies ? 'PatchOptions' : as;
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') ?? '';
  const force = query.get('force');
  const errors: FieldError[] = [];
  if (applies && fieldManager === '') errors.push(required(path('fieldManager'), 'is required for apply patch'));
  if (!applies && kind === 'PatchOptions' && force !== null)
    errors.push(forbidden(path('force'), 'may not be specified for non-apply patch'));
  if (Buffer.byteLength(fieldManager) > longestFieldManager)
    errors.push(tooLong(path('fieldManager'), longestFieldManager));
  else if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(fieldManager)) {
    errors.push(invalidValue(path('fieldManager'), fieldManager, 'should only contain printable characters'));
  }
  errors.push(...dryRunErrors(dryRun));
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(fieldValidation)) {
    errors.push(notSupported(path('fieldValidation'), fieldValidation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: (fieldValidation || 'Warn') as FieldValidation,
    force: applies && force !== null && isTrue(force),
    raw: {
      kind,
      apiVersion: 'meta.k8s.io/v1',
      ...(dryRun.length > 0 ? { dryRun } : {}),
      ...(applies && force !== null ? { force: isTrue(force) } : {}),
      ...(fieldManager ? { fieldManager } : {}),
      ...(fieldValidation ? { fieldValidation } : {}),
    },
  };
}

/** From the body where there is one, else from the query. Throws 400 or 422. */
export async function parseDeleteOptions(request: ApiRequest): Promise<DeleteOptions> {
  const options = (await bodyOptions(request)) ?? queryOptions(request.query);
  const errors = deleteOptionErrors(options);
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  return options;
}

async function bodyOptions(request: ApiRequest): Promise<DeleteOptions | undefined> {
  const { body } = request;
  if (body.kind === 'none') return undefined;
  if (body.kind === 'value') return body.value === undefined ? undefined : readOptions(body.value as object);
  const format = inputFormat(request.headers['content-type']);
  const bytes = await body.read(bodyLimitBytes);
  if (bytes.length === 0) return undefined;
  if (format === 'protobuf') return readOptions(readProtobufOptions(bytes));
  return readOptions(decodeUntyped(bytes, { kind: 'DeleteOptions', format }).object);
}

function readProtobufOptions(bytes: Buffer): object {
  try {
    const { kind, raw } = openEnvelope(bytes);
    return { kind, ...(readMessage(builtinCodec().registry, 'meta/v1.DeleteOptions', raw) as object) };
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

function readOptions(value: object): DeleteOptions {
  const { kind, ...options } = value as { readonly kind?: string; readonly [field: string]: unknown };
  if (kind !== undefined && kind !== '' && kind !== 'DeleteOptions') {
    throw badRequest('decoded object cannot be converted to DeleteOptions');
  }
  try {
    return builtinCodec().copyByTable(options, 'meta/v1.DeleteOptions') as unknown as DeleteOptions;
  } catch (error) {
    throw badRequest(`DeleteOptions in version "v1" cannot be handled as a DeleteOptions: ${messageOf(error)}`);
  }
}

function queryOptions(query: URLSearchParams): DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  const orphan = query.get('orphanDependents');
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  if (grace !== null && !/^-?\d+$/.test(grace)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
  }
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(dryRun.length > 0 ? { dryRun } : {}),
  };
}

const propagationPolicies = ['Background', 'Foreground', 'Orphan'];

function deleteOptionErrors({ propagationPolicy, orphanDependents, dryRun = [] }: DeleteOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    const detail = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalidValue(path('propagationPolicy'), propagationPolicy, detail));
  }
  if (propagationPolicy !== undefined && !propagationPolicies.includes(propagationPolicy)) {
    errors.push(notSupported(path('propagationPolicy'), propagationPolicy, [...propagationPolicies, 'nil']));
  }
  return [...errors, ...dryRunErrors(dryRun)];
}

function dryRunErrors(values: readonly string[]): FieldError[] {
  if (values.every((value) => value === 'All')) return [];
  return [notSupported(path('dryRun'), values, ['All'])];
}

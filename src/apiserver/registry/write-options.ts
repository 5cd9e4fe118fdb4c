/** Query parameters and bodies that say how a write is meant: dry run, field manager, field validation, preconditions. */

import { decodeUntyped, type FieldValidation } from '../../apimachinery/codec.ts';
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid as invalidValue,
  notSupported,
  path,
  required,
  tooLong,
} from '../../apimachinery/field-error.ts';
import type { DeleteOptions } from '../../apimachinery/gen/meta-v1.ts';
import { parseInt64 } from '../../apimachinery/go-number.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { openEnvelope } from '../../apimachinery/protobuf/envelope.ts';
import { badRequest, invalid, messageOf, StatusError } from '../../apimachinery/status.ts';
import { builtinCodec } from '../encoding/json.ts';
import { inputFormat } from '../encoding/media-types.ts';
import { yamlConverter } from '../encoding/yaml-thread.ts';
import type { ApiRequest } from '../request.ts';
import { isTrue } from '../request-info.ts';

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

/** Of server-side apply. */
export const applyPatchType = 'application/apply-patch+yaml';

const longestFieldManager = 128;

/** Throws 422 with what is wrong. */
export function parseWriteOptions(
  query: URLSearchParams,
  as: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'ApplyOptions',
): WriteOptions {
  const applies = as === 'ApplyOptions';
  const kind = applies ? 'PatchOptions' : as;
  const dryRun = query.getAll('dryRun');
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') ?? '';
  const force = query.get('force');
  const errors: FieldError[] = [];
  if (applies && fieldManager === '') errors.push(required(path('fieldManager'), 'is required for apply patch'));
  if (!applies && kind === 'PatchOptions' && force !== null)
    errors.push(forbidden(path('force'), 'may not be specified for non-apply patch'));
  errors.push(...fieldManagerErrors(fieldManager), ...dryRunErrors(dryRun));
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

/** What is wrong with the name of a field manager. */
export function fieldManagerErrors(manager: string, at: FieldPath = path('fieldManager')): FieldError[] {
  const errors: FieldError[] = [];
  // Most are plain ASCII, and tables of Unicode take long to load.
  if (/^[ -~]*$/.test(manager) && manager.length <= longestFieldManager) return errors;
  if (Buffer.byteLength(manager) > longestFieldManager) errors.push(tooLong(at, longestFieldManager));
  let position = 0;
  for (const character of manager) {
    if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
      errors.push(invalidValue(at, manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}

/** From the body where there is one, else from the query. Throws 400 or 422. */
export async function parseDeleteOptions(request: ApiRequest): Promise<DeleteOptions> {
  const sent = await bodyOptions(request);
  if (sent) request.audit?.requestObject({ kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/__internal', ...sent });
  const options = sent ?? queryOptions(request.query);
  const errors = deleteOptionErrors(options);
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  return options;
}

async function bodyOptions(request: ApiRequest): Promise<DeleteOptions | undefined> {
  const { body } = request;
  if (body.kind === 'none') return undefined;
  if (body.kind === 'value') return body.value === undefined ? undefined : readOptions(body.value as object);
  const bytes = await body.read(bodyLimitBytes);
  if (bytes.length === 0) return undefined;
  const format = inputFormat(request.headers['content-type']);
  if (format === 'protobuf') return readOptions(readProtobufOptions(bytes));
  const yaml = format === 'yaml' ? await yamlConverter(request, bytes.toString('utf8')) : undefined;
  try {
    return readOptions(decodeUntyped(bytes, { kind: 'DeleteOptions', format, yaml }).object);
  } catch (error) {
    // Upstream says what is wrong with options without naming what they should have been.
    throw error instanceof StatusError && error.cause instanceof Error ? badRequest(error.cause.message) : error;
  }
}

/** Where upstream's registry of these kinds stands, as its messages name it. */
const schemeName = 'pkg/apis/meta/internalversion/scheme/register.go:27';

function readProtobufOptions(bytes: Buffer): object {
  try {
    const { kind, message } = openEnvelope(bytes);
    return { kind, ...builtinCodec().decodeMessage(message, 'meta/v1.DeleteOptions') };
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

function readOptions(value: object): DeleteOptions {
  const { kind, ...options } = value as { readonly kind?: string; readonly [field: string]: unknown };
  if (kind !== undefined && kind !== '' && kind !== 'DeleteOptions') {
    const version = String(options.apiVersion || 'v1');
    throw badRequest(
      `no kind ${quote(kind)} is registered for version ${quote(version)} in scheme ${quote(schemeName)}`,
    );
  }
  try {
    return builtinCodec().copyByTable(options, 'meta/v1.DeleteOptions') as unknown as DeleteOptions;
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

function queryOptions(query: URLSearchParams): DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  const orphan = query.get('orphanDependents');
  const uid = query.get('uid');
  const dryRun = query.getAll('dryRun');
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: secondsOf(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(uid === null ? {} : { preconditions: { uid } }),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(dryRun.length > 0 ? { dryRun } : {}),
  };
}

function secondsOf(text: string): number {
  try {
    return parseInt64(text);
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

const propagationPolicies = ['Foreground', 'Background', 'Orphan'];

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

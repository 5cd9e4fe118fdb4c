/**
 * Conversion between versions of a custom resource by a webhook: objects go out in a ConversionReview and come back in the version that was
 * asked for. What comes back is a stranger's word: kind, name, namespace and uid must be what they were, all other metadata is put back, and
 * only labels and annotations may differ. Failures are told in upstream's words.
 */

import { validateAnnotations } from '../../../api/metadata-validation.ts';
import { errorsText, path } from '../../../apimachinery/field-error.ts';
import { goType, quote } from '../../../apimachinery/go-text.ts';
import { validateLabels } from '../../../apimachinery/labels.ts';
import { draft, type KubeObject } from '../../../apimachinery/meta.ts';
import { isObject } from '../../../apimachinery/patch/merge-patch.ts';
import { type GroupVersionKind, parseApiVersion } from '../../../apimachinery/resource.ts';
import { messageOf, statusError } from '../../../apimachinery/status.ts';
import type { Random } from '../../../base/random.ts';
import type { Webhook } from '../../webhook-client/webhook-clients.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface WebhookConversionOptions {
  readonly webhook: () => Webhook;
  /** `conversionReviewVersions`: the first that is known is spoken. */
  readonly reviewVersions: readonly string[];
  readonly random: Random;
}

/** The objects in the wanted version, in order; those that have it already are not asked about. Throws `StatusError` 500. */
export type Convert = (objects: readonly KubeObject[], apiVersion: string) => Promise<KubeObject[]>;

export function webhookConversion(options: WebhookConversionOptions): Convert {
  return async (objects, apiVersion) => {
    const foreign = objects.filter((object) => object.apiVersion !== apiVersion);
    if (foreign.length === 0) return [...objects];
    const converted = await review(options, foreign, apiVersion);
    const next = converted.values();
    return objects.map((object) => (object.apiVersion === apiVersion ? object : next.next().value!));
  };
}

async function review(
  { webhook, reviewVersions, random }: WebhookConversionOptions,
  objects: readonly KubeObject[],
  apiVersion: string,
): Promise<KubeObject[]> {
  const subject = kindText(objects[0]!);
  const fail = (problem: string) => failure(`conversion webhook for ${subject} ${problem}`);
  const version = reviewVersions.find((known) => known === 'v1' || known === 'v1beta1');
  if (version === undefined) throw failure('no supported conversion review versions');
  const uid = random.uuid();
  const request = { uid, desiredAPIVersion: apiVersion, objects };
  let reply: Fields;
  try {
    reply = await webhook().post({ kind: 'ConversionReview', apiVersion: `apiextensions.k8s.io/${version}`, request });
  } catch (error) {
    throw fail(`failed: ${messageOf(error)}`);
  }
  const found = convertedObjects(reply, { uid, version });
  if (typeof found === 'string') throw fail(`failed: ${found}`);
  if (found.length !== objects.length) throw fail(`returned ${found.length} objects, expected ${objects.length}`);
  return objects.map((original, index) => {
    const single = objects.length === 1;
    const where = single ? 'object' : `converted object at index ${index}`;
    const problem = versionProblem(original, found[index], apiVersion);
    if (problem !== undefined) {
      throw fail(`returned invalid ${single ? 'object at index 0' : where}: ${problem}`);
    }
    const object = found[index] as KubeObject;
    const changed = identityProblem(original, object);
    if (changed !== undefined) throw fail(`returned invalid ${where}: ${changed}`);
    const metadata = restoredMetadata(original, object);
    if (typeof metadata === 'string') {
      throw fail(`returned invalid metadata${single ? '' : ` in object at index ${index}`}: ${metadata}`);
    }
    return { ...object, metadata };
  });
}

/** What the webhook made, or why it made nothing. */
function convertedObjects(
  reply: Fields,
  { uid, version }: { readonly uid: string; readonly version: string },
): readonly unknown[] | string {
  const expected = { group: 'apiextensions.k8s.io', version, kind: 'ConversionReview' };
  const { group, version: given } = parseApiVersion(String(reply.apiVersion ?? ''));
  const got = { group, version: given, kind: String(reply.kind ?? '') };
  if (version === 'v1' && gvkText(got) !== gvkText(expected)) {
    return `expected webhook response of ${gvkText(expected)}, got ${gvkText(got)}`;
  }
  const { response } = reply;
  if (!isObject(response)) return 'no response provided';
  if (version === 'v1' && response.uid !== uid) {
    return `expected response.uid=${quote(uid)}, got ${quote(String(response.uid ?? ''))}`;
  }
  const result = isObject(response.result) ? response.result : {};
  if (result.status !== 'Success') {
    return String(result.message || `response.result.status was '${String(result.status ?? '')}', not 'Success'`);
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
}

function versionProblem(original: KubeObject, converted: unknown, apiVersion: string): string | undefined {
  const { apiVersion: got = '', kind = '' } = (isObject(converted) ? converted : {}) as Partial<KubeObject>;
  if (got !== apiVersion) return `invalid groupVersion (expected ${apiVersion}, received ${got})`;
  if (kind !== original.kind) return `invalid kind (expected ${original.kind}, received ${kind})`;
  return undefined;
}

function identityProblem(original: KubeObject, { metadata }: KubeObject): string | undefined {
  for (const [field, word] of Object.entries({ name: 'name', namespace: 'namespace', uid: 'UID' })) {
    const before = String((original.metadata as Fields)[field] ?? '');
    const after = String((metadata as Fields | undefined)?.[field] ?? '');
    if (before !== after) return `must have the same ${word}: ${before} != ${after}`;
  }
  return undefined;
}

/** The original's metadata with the labels and annotations of the converted object; a text says what is wrong with those. */
function restoredMetadata(original: KubeObject, converted: KubeObject): KubeObject['metadata'] | string {
  const given = converted.metadata as unknown;
  if (given === undefined) return 'missing metadata in converted object';
  if (!isObject(given)) return `invalid metadata of type ${goType(given)} in converted object`;
  const {
    labels: _labels,
    annotations: _annotations,
    ...metadata
  } = draft(original.metadata) as Record<string, unknown>;
  for (const field of ['labels', 'annotations'] as const) {
    const value = given[field];
    if (value === undefined || value === null) continue;
    if (!isObject(value)) return `invalid metadata.${field} of type ${goType(value)} in converted object`;
    for (const [key, text] of Object.entries(value)) {
      if (typeof text === 'string') continue;
      return `metadata.${field}[${key}] must be a string, but is ${goType(text)} in converted object`;
    }
    const texts = value as Readonly<Record<string, string>>;
    const errors =
      field === 'labels'
        ? validateLabels(texts, path('metadata', 'labels'))
        : validateAnnotations(path('metadata', 'annotation'), texts);
    if (errors.length > 0) return errorsText(errors);
    metadata[field] = texts;
  }
  return metadata as KubeObject['metadata'];
}

function kindText({ apiVersion = '', kind = '' }: KubeObject): string {
  return gvkText({ ...parseApiVersion(apiVersion), kind });
}

function gvkText({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}, Kind=${kind}`;
}

/** Upstream has no code for it, and answers 500. */
function failure(message: string): Error {
  return statusError({ code: 500, reason: '', message });
}

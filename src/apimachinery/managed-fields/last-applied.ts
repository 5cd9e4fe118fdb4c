/**
 * Coming from client-side apply: kubectl wrote what it applied into an annotation. The manager `kubectl` may take over, without a conflict,
 * fields that still are as that annotation says, and the annotation follows what it applies from then on. Other managers neither
 * get the one nor the other.
 */
import { goJson, sortedKeys } from '../go-text.ts';
import { isObject } from '../patch/merge-patch.ts';
import { compareObjects, type JsonObject } from './comparison.ts';
import { configurationErrors, fieldsOf } from './configuration.ts';
import { difference, type FieldSet } from './field-set.ts';
import type { Shape } from './shape.ts';

const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';
/** The one manager to whom this applies. */
export const lastAppliedManager = 'kubectl';

/** Beyond this many bytes an object's annotations are refused, so the annotation is rather dropped. */
const annotationsLimitBytes = 256 * 1024;

/** Fields that the annotation of the live object vouches for; undefined when there is none that can be used. */
export function lastAppliedFields(shape: Shape, live: JsonObject): FieldSet | undefined {
  const text = annotationsOf(live)[lastAppliedAnnotation];
  if (typeof text !== 'string' || text === '') return undefined;
  const applied = parse(text);
  if (!isObject(applied) || applied.apiVersion !== live.apiVersion) return undefined;
  if (configurationErrors(shape, applied).length > 0) return undefined;
  const { set, removed } = compareObjects(shape, applied, live);
  return difference(difference(fieldsOf(shape, applied), set), removed);
}

/** The annotations of an object after an apply of `config`; undefined when there is nothing to follow. */
export function followedAnnotations(object: JsonObject, config: JsonObject): JsonObject | undefined {
  const annotations = annotationsOf(object);
  const present = annotations[lastAppliedAnnotation];
  if (typeof present !== 'string' || present === '') return undefined;
  const { [lastAppliedAnnotation]: _present, ...others } = annotations;
  const next = { ...others, [lastAppliedAnnotation]: lastAppliedText(config) };
  let bytes = 0;
  for (const [key, value] of Object.entries(next)) bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  return bytes > annotationsLimitBytes ? others : next;
}

function lastAppliedText(config: JsonObject): string {
  const metadata = isObject(config.metadata) ? config.metadata : {};
  const { [lastAppliedAnnotation]: _own, ...annotations } = annotationsOf(config);
  const cleaned = isObject(metadata.annotations) ? { ...config, metadata: { ...metadata, annotations } } : config;
  return `${goJson(sortedKeys(cleaned))}\n`;
}

function annotationsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  return isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Objects out of a list need not say what kind they are; Events about them must. */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { apiVersionOf, type ResourceType } from '../../apimachinery/resource.ts';

/** The object with its apiVersion and kind, as an event recorder wants it. */
export function withKind<T extends KubeObject>(type: ResourceType<T>, object: T): T {
  if (object.kind && object.apiVersion) return object;
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

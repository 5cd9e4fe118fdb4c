/** Of several classes marked as the default, the newest is taken, and of equally new ones the first by name. */
import type { KubeObject } from '../apimachinery/meta.ts';

/** By which a StorageClass says that it is the default. */
export const defaultStorageClassAnnotations = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

export function newestDefault<T extends KubeObject>(
  classes: readonly T[],
  annotations: readonly string[],
): T | undefined {
  return classes
    .filter(({ metadata }) => annotations.some((annotation) => metadata.annotations?.[annotation] === 'true'))
    .sort((a, b) => compare(created(b), created(a)) || compare(a.metadata.name ?? '', b.metadata.name ?? ''))[0];
}

function created(object: KubeObject): string {
  return object.metadata.creationTimestamp ?? '';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The class of a volume or a claim: in its field, or in the annotation that came before the field. */
import type { ObjectMeta } from '../../../apimachinery/meta.ts';

const annotation = 'volume.beta.kubernetes.io/storage-class';

interface Classified {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly storageClassName?: string | undefined };
}

/** Undefined when neither says anything, which is not the same as the empty class. */
export function storageClassName({ metadata, spec }: Classified): string | undefined {
  return metadata.annotations?.[annotation] ?? spec.storageClassName;
}

export function storageClassText(object: Classified): string {
  return storageClassName(object) ?? '';
}

/**
 * The object of a request in the versions in which webhooks and policies want to see it. The registry works on the version that is stored;
 * what comes back is decoded, converted and defaulted like a request's body, and takes the object's place.
 */
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { apiVersionOf, type GroupVersionKind } from '../../apimachinery/resource.ts';
import { internalError, messageOf } from '../../apimachinery/status.ts';
import { type ResourceCodec, tableCodec } from '../encoding/resource-codec.ts';
import { toHub } from '../registry/body.ts';
import type { ServedResource } from '../served-resource.ts';
import type { AdmissionAttributes } from './admission.ts';

export class ObjectVersions {
  readonly #attributes: AdmissionAttributes;

  constructor(attributes: AdmissionAttributes) {
    this.#attributes = attributes;
  }

  /** As it is now. Not to be changed. */
  object(kind: GroupVersionKind): KubeObject | undefined {
    return this.#converted(this.#attributes.object as KubeObject | undefined, kind);
  }

  oldObject(kind: GroupVersionKind): KubeObject | undefined {
    return this.#converted(this.#attributes.oldObject, kind);
  }

  /** Puts `value`, in the version of `kind`, in the place of the object; tells whether that changed anything. Throws 500 for what it is not. */
  replace(kind: GroupVersionKind, value: object): boolean {
    const { object } = this.#attributes;
    if (!object) throw new TypeError('there is no object to replace');
    const served = this.#servedAs(kind);
    const next = decode(served?.codec ?? tableCodec(kind), value);
    const stored = served ? toHub({ resource: served }, next) : next;
    const before = { ...object };
    replaceContents(object, stored);
    return !jsonEqual(before, stored);
  }

  #converted(object: KubeObject | undefined, kind: GroupVersionKind): KubeObject | undefined {
    const conversion = this.#servedAs(kind)?.conversion;
    return object && conversion ? conversion.fromHub(object) : object;
  }

  #servedAs(kind: GroupVersionKind): ServedResource | undefined {
    const { served } = this.#attributes;
    return served?.stored?.versions.get(apiVersionOf(kind)) ?? served;
  }
}

function decode(codec: ResourceCodec, value: object): Draft<KubeObject> {
  try {
    return codec.decodeValue(value, { fieldValidation: 'Ignore' }).object as unknown as Draft<KubeObject>;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw internalError(messageOf(cause), { cause: error });
  }
}

/** The object is in many hands; it stays the same, with other contents. */
function replaceContents(object: Draft<KubeObject>, contents: Draft<KubeObject>): void {
  const fields = object as Record<string, unknown>;
  for (const field of Object.keys(fields)) delete fields[field];
  Object.assign(fields, contents);
}

/** A copy for whoever wants to compare later. */
export function snapshot(object: Draft<KubeObject> | undefined): KubeObject | undefined {
  return object && (draft(object) as KubeObject);
}

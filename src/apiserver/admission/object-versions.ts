/**
 * The object of a request in the versions in which webhooks and policies want to see it. The registry works on the version that is stored;
 * what comes back is decoded, converted and defaulted like a request's body, and takes the object's place. They see what a client would get:
 * structs that are always there too (`resources: {}` of a container), for patches and expressions rely on them.
 */
import { parseJson } from '../../apimachinery/exact-json.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { apiVersionOf, type GroupVersionKind } from '../../apimachinery/resource.ts';
import { internalError, messageOf } from '../../apimachinery/status.ts';
import { builtinCodec } from '../encoding/json.ts';
import { type ResourceCodec, tableCodec } from '../encoding/resource-codec.ts';
import { toHub } from '../registry/body.ts';
import type { ServedResource } from '../served-resource.ts';
import type { AdmissionAttributes } from './admission.ts';

interface Place {
  readonly kind: GroupVersionKind;
  readonly shown: Map<string, KubeObject | undefined>;
}

export class ObjectVersions {
  readonly #attributes: AdmissionAttributes;
  /** By version: what was shown, while it is as it was. */
  #shown = new Map<string, KubeObject | undefined>();
  readonly #shownOld = new Map<string, KubeObject | undefined>();

  constructor(attributes: AdmissionAttributes) {
    this.#attributes = attributes;
  }

  /** As it is now. Not to be changed. */
  object(kind: GroupVersionKind): KubeObject | undefined {
    const { object } = this.#attributes;
    return this.#remembered(object as KubeObject | undefined, { kind, shown: this.#shown });
  }

  oldObject(kind: GroupVersionKind): KubeObject | undefined {
    return this.#remembered(this.#attributes.oldObject, { kind, shown: this.#shownOld });
  }

  /** Puts `value`, in the version of `kind`, in the place of the object; tells whether that changed anything. Throws 500 for what it is not. */
  replace(kind: GroupVersionKind, value: object): boolean {
    const { object } = this.#attributes;
    if (!object) throw new TypeError('there is no object to replace');
    const served = this.#servedAs(kind);
    const next = decode(served?.codec ?? tableCodec(kind), value);
    const stored = served ? toHub({ resource: served }, next) : next;
    const before = this.object(kind);
    replaceContents(object, stored);
    this.#shown = new Map();
    return !jsonEqual(before, this.object(kind));
  }

  #remembered(object: KubeObject | undefined, { kind, shown }: Place): KubeObject | undefined {
    const version = apiVersionOf(kind);
    if (!shown.has(version)) shown.set(version, this.#converted(object, kind));
    return shown.get(version);
  }

  #converted(object: KubeObject | undefined, kind: GroupVersionKind): KubeObject | undefined {
    const conversion = this.#servedAs(kind)?.conversion;
    return object && asSent(conversion ? conversion.fromHub(object) : object);
  }

  #servedAs(kind: GroupVersionKind): ServedResource | undefined {
    const { served } = this.#attributes;
    return served?.stored?.versions.get(apiVersionOf(kind)) ?? served;
  }
}

/** As a client gets it, where the tables know the kind. */
function asSent(object: KubeObject): KubeObject {
  const codec = builtinCodec();
  const known = codec.registry.typeOf(object.apiVersion ?? '', object.kind ?? '');
  return known ? (parseJson(codec.encodeCanonical(object)) as KubeObject) : object;
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

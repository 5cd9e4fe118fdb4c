/**
 * One object at one revision, in as many forms as have been asked for: the decoded object, its JSON and its protobuf per served version. An
 * entry never changes; a write makes a new one. What is expensive is made on first use and shared by everybody after.
 *
 * Over a store of bytes only the bytes stay. A decoded object is kept for a short while by the pool, since whoever
 * reads an object often writes it next.
 */

import { parseJson } from '../../apimachinery/exact-json.ts';
import type { KnownText } from '../../apimachinery/known-text.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import type { ServedResource, StoredKind } from '../served-resource.ts';
import { type Envelope, envelopeOf, isCanonical, replaceEnvelope, spliceRevision, toStay } from './encoded-object.ts';
import { HeldForAWhile } from './held-for-a-while.ts';
import type { EncodedMember, StandingObject } from './member-bytes.ts';
import type { ObjectForm } from './object-form.ts';

/** What all entries of one resource share. */
export interface EntryContext<V> {
  readonly kind: StoredKind;
  readonly form: ObjectForm<V>;
  readonly envelope: Envelope;
  readonly pool: DecodedPool;
}

/** Entries over a store of bytes whose objects are at hand; they are counted by their bytes. */
export type DecodedPool = HeldForAWhile<Pick<CacheEntry, 'forgetObject'>>;

export function decodedPool(clock: Clock): DecodedPool {
  const bounds = { maxItems: 2048, maxBytes: 16 * 1024 * 1024, keepMs: 60_000 };
  return new HeldForAWhile({ ...bounds, clock, giveUp: (entry) => entry.forgetObject() });
}

export interface StoredVersion<V> {
  readonly key: string;
  readonly value: V;
  readonly revision: number;
  readonly createRevision: number;
}

/** What a write knows of the value that it sends to the store. */
export interface WrittenObject {
  readonly object: KubeObject;
  readonly members?: readonly EncodedMember[] | undefined;
}

export class CacheEntry<V = unknown> {
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  /** Bytes of the value, as long as nobody has asked for more. */
  readonly storedBytes: number;
  readonly #context: EntryContext<V>;
  readonly #trusted: boolean;
  #value: V | undefined;
  #object: KubeObject | undefined;
  #bytes: Buffer | undefined;
  #labels: Readonly<Record<string, string>> | undefined;
  #fields: Readonly<Record<string, string>> | undefined;
  #members: readonly EncodedMember[] | undefined;
  #message: Buffer | undefined;
  #versions: Map<string, VersionForms> | undefined;

  /** `trusted`: the bytes were written by this very release, so they can be served as they are. */
  constructor(context: EntryContext<V>, version: StoredVersion<V>, trusted: boolean) {
    this.#context = context;
    this.#trusted = trusted;
    this.key = version.key;
    this.revision = version.revision;
    this.createRevision = version.createRevision;
    const { form, envelope } = context;
    this.storedBytes = form.bytesOf(version.value);
    if (form.keepsObjects) {
      this.#value = version.value;
      return;
    }
    const bytes = version.value as Uint8Array;
    if (trusted && isCanonical(envelope, bytes)) this.#bytes = spliceRevision(envelope, bytes, version.revision);
    else this.#value = toStay(bytes) as V;
  }

  /** Whether this very release wrote it, in the form in which it would write it today. */
  get isTrusted(): boolean {
    return this.#trusted;
  }

  get namespace(): string {
    const { kind } = this.#context;
    if (!kind.namespaced) return '';
    return this.key.slice(kind.prefix.length, this.key.indexOf('/', kind.prefix.length));
  }

  get name(): string {
    return this.key.slice(this.key.lastIndexOf('/') + 1);
  }

  get labels(): Readonly<Record<string, string>> {
    this.#labels ??= this.object().metadata.labels ?? noLabels;
    return this.#labels;
  }

  /** Values of all fields that selectors may ask for, under the hub version's names. */
  get fields(): Readonly<Record<string, string>> {
    this.#fields ??= this.#context.kind.selectableFields(this.object());
    return this.#fields;
  }

  /** The object in the hub version, with its resourceVersion; frozen. */
  object(): KubeObject {
    if (this.#object) return this.#object;
    const { kind, form, pool } = this.#context;
    const decodes = this.#bytes !== undefined && !form.keepsObjects;
    const stored = decodes ? parsed(kind, this.#bytes!) : this.#stored();
    const object = withRevision(stored, this.revision);
    this.#object = form.keepsObjects && this.#trusted ? Object.freeze(object) : deepFreeze(object);
    if (!form.keepsObjects) pool.hold(this, this.storedBytes);
    return object;
  }

  /** What the store holds, in the form of today; without its revision. */
  #stored(): KubeObject {
    const { kind, form } = this.#context;
    const stored = form.toObject(kind, this.#value as V);
    return form.keepsObjects && !this.#trusted ? kind.codec.current(stored) : stored;
  }

  /** Lends the decoded object of a write, so that nobody has to decode what was just encoded. */
  lend({ object, members }: WrittenObject): void {
    if (this.#object) return;
    this.#object = withRevision(object, this.revision);
    if (this.#bytes) this.#members = members;
    Object.freeze(this.#object);
    if (!this.#context.form.keepsObjects) this.#context.pool.hold(this, this.storedBytes);
  }

  /** The object with its bytes, where it is known which members lie where in them. */
  standing(): StandingObject | undefined {
    if (!this.#object || !this.#members || this.#members.length === 0) return undefined;
    return { object: this.#object, encoded: { bytes: this.bytes(), members: this.#members } };
  }

  /** What a client may send back of the object. */
  knownText(): KnownText | undefined {
    const standing = this.standing();
    return standing && this.#context.form.knownText?.(standing);
  }

  /** Drops the decoded object; it can always be decoded again. */
  forgetObject(): void {
    this.#object = undefined;
    this.#members = undefined;
    for (const version of this.#versions?.values() ?? []) delete version.object;
  }

  /** Whether there is anything that `retire` would drop. */
  get hasForms(): boolean {
    const { keepsObjects } = this.#context.form;
    return this.#message !== undefined || this.#versions !== undefined || (keepsObjects && this.#bytes !== undefined);
  }

  /** Another object stands in its place: drops what only those who read it now ask for, and can be made again. */
  retire(): void {
    this.#message = undefined;
    this.#versions = undefined;
    if (this.#context.form.keepsObjects) this.#bytes = undefined;
  }

  /** Canonical JSON of the hub version, with its resourceVersion. */
  bytes(): Buffer {
    if (this.#bytes) return this.#bytes;
    const { kind, form, envelope } = this.#context;
    this.#bytes = spliceRevision(envelope, kind.codec.encode(this.#stored()), this.revision);
    if (!form.keepsObjects) this.#value = undefined;
    return this.#bytes;
  }

  /** The object in a served version; frozen. */
  objectIn(resource: ServedResource): KubeObject {
    if (!resource.conversion) return this.object();
    const version = this.#version(resource);
    version.object ??= deepFreeze(resource.conversion.fromHub(this.object()));
    return version.object;
  }

  /** Canonical JSON in a served version. */
  bytesIn(resource: ServedResource, envelope: Envelope): Buffer {
    const { conversion } = resource;
    if (!conversion) return this.bytes();
    const version = this.#version(resource);
    version.bytes ??= conversion.identity
      ? replaceEnvelope(this.#context.envelope, envelope, this.bytes())
      : encodeWithRevision(resource, envelope, this.objectIn(resource), this.revision);
    return version.bytes;
  }

  /** The protobuf message in a served version, without its envelope. */
  messageIn(resource: ServedResource): Buffer {
    const { conversion, codec } = resource;
    if (!codec.protobuf) throw new TypeError(`${resource.row.kind} has no protobuf form`);
    if (!conversion) {
      this.#message ??= toStay(codec.protobuf.encode(this.#object ?? this.#parsed()));
      return this.#message;
    }
    const version = this.#version(resource);
    version.message ??= toStay(codec.protobuf.encode(version.object ?? this.objectIn(resource)));
    return version.message;
  }

  /** Canonical bytes need no more than parsing to be written in another form: nothing is checked, kept or frozen. */
  #parsed(): KubeObject {
    return this.#context.form.keepsObjects ? this.object() : (JSON.parse(this.bytes().toString()) as KubeObject);
  }

  #version(resource: ServedResource): VersionForms {
    this.#versions ??= new Map();
    let version = this.#versions.get(resource.apiVersion);
    if (!version) {
      version = {};
      this.#versions.set(resource.apiVersion, version);
    }
    return version;
  }
}

/** An object in a version that is not the hub. */
interface VersionForms {
  object?: KubeObject;
  bytes?: Buffer;
  message?: Buffer;
}

const noLabels: Readonly<Record<string, string>> = Object.freeze({});

/** Canonical bytes of the hub version, which need no more than parsing. */
function parsed({ custom, codec }: StoredKind, bytes: Buffer): KubeObject {
  return custom ? (parseJson(bytes.toString()) as KubeObject) : codec.decodeStored(bytes);
}

export function withRevision(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: Object.freeze({ ...object.metadata, resourceVersion: String(revision) }) };
}

function encodeWithRevision(
  resource: ServedResource,
  envelope: Envelope,
  object: KubeObject,
  revision: number,
): Buffer {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return spliceRevision(envelope, resource.codec.encode({ ...object, metadata }), revision);
}

export function contextOf<V>(kind: StoredKind, form: ObjectForm<V>, pool: DecodedPool): EntryContext<V> {
  return { kind, form, envelope: envelopeOf(kind.hubApiVersion, kind.hub.kind), pool };
}

/**
 * What a watcher receives for an event. One representation per served version, media type and transformation, made once per server, so that
 * watchers of a kind share frames: `CacheEvent` compares representations by identity.
 */
import { jsonText } from '../../apimachinery/exact-json.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import type { WatchFrame } from '../request.ts';
import type { ServedResource } from '../served-resource.ts';
import { type CacheEntry, withRevision } from '../watch-cache/cache-entry.ts';
import type { FrameType, Representation, Wire } from '../watch-cache/cache-event.ts';
import { type Envelope, joinToStay, replaceRevision, toStay } from '../watch-cache/encoded-object.ts';
import { encodeProtobuf, protobufFrame, replaceRevision as replaceMessageRevision, wrapped } from './protobuf.ts';

const typeHead: Readonly<Record<FrameType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};
const frameEnd = Buffer.from('}\n');

/** Whole objects of one served version. */
export function wholeObjects(resource: ServedResource, envelope: Envelope, wire: Wire): Representation {
  const Frame = wire === 'protobuf' ? ProtobufFrame : JsonFrame;
  return {
    frame: (type, entry, revision) => new Frame({ resource, envelope, type, entry, revision }),
    bookmark: (revision, endsState) => plainFrame('BOOKMARK', bookmarkObject(resource, revision, endsState), wire),
    error: (status) => plainFrame('ERROR', status, wire),
  };
}

interface FrameParts {
  readonly resource: ServedResource;
  readonly envelope: Envelope;
  readonly type: FrameType;
  readonly entry: CacheEntry;
  readonly revision: number;
}

abstract class ObjectFrame implements WatchFrame {
  readonly type: FrameType;
  protected readonly parts: FrameParts;
  #encoded: Buffer | undefined;
  #object: KubeObject | undefined;

  constructor(parts: FrameParts) {
    this.type = parts.type;
    this.parts = parts;
  }

  get object(): KubeObject {
    const { entry, resource, revision } = this.parts;
    if (revision === entry.revision) return entry.objectIn(resource);
    this.#object ??= Object.freeze(withRevision(entry.objectIn(resource), revision));
    return this.#object;
  }

  encoded(): Buffer {
    this.#encoded ??= this.encode(this.parts);
    return this.#encoded;
  }

  protected abstract encode(parts: FrameParts): Buffer;
}

class JsonFrame extends ObjectFrame {
  protected override encode({ resource, envelope, type, entry, revision }: FrameParts): Buffer {
    const bytes = entry.bytesIn(resource, envelope);
    const current =
      revision === entry.revision ? bytes : replaceRevision(envelope, bytes, { from: entry.revision, to: revision });
    return joinToStay(typeHead[type], current, frameEnd);
  }
}

class ProtobufFrame extends ObjectFrame {
  protected override encode({ resource, envelope, type, entry, revision }: FrameParts): Buffer {
    const message = entry.messageIn(resource);
    const current = revision === entry.revision ? message : replaceMessageRevision(message, revision);
    return toStay(protobufFrame(type, wrapped(envelope, current)));
  }
}

/** How objects are made into something else, and what becomes of a bookmark's. */
export interface Transformation {
  frame(served: KubeObject, hub: KubeObject): unknown;
  bookmark(object: KubeObject): unknown;
}

/** Objects made into something else; made anew for each event, shared by its watchers. */
export function transformedObjects(
  resource: ServedResource,
  wire: Wire,
  transformation: Transformation,
): Representation {
  return {
    frame(type, entry, revision) {
      const object = entry.objectIn(resource);
      const served = revision === entry.revision ? object : withRevision(object, revision);
      return plainFrame(type, transformation.frame(served, entry.object()), wire);
    },
    bookmark: (revision, endsState) =>
      plainFrame('BOOKMARK', transformation.bookmark(bookmarkObject(resource, revision, endsState)), wire),
    error: (status) => plainFrame('ERROR', status, wire),
  };
}

function bookmarkObject({ row, apiVersion }: ServedResource, revision: number, endsState = false): KubeObject {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const metadata = { resourceVersion: String(revision), ...(endsState ? { annotations } : {}) };
  return { kind: row.kind, apiVersion, metadata };
}

/** A frame of an object that stands in no cache: bookmarks and errors. */
export function plainFrame(type: string, object: unknown, wire: Wire = 'json'): WatchFrame {
  const frozen = deepFreeze(object);
  let encoded: Buffer | undefined;
  return {
    type,
    object: frozen,
    encoded() {
      encoded ??=
        wire === 'protobuf'
          ? protobufFrame(type, encodeProtobuf(frozen as object))
          : Buffer.from(`{"type":"${type}","object":${jsonText(frozen)}}\n`);
      return encoded;
    },
  };
}
